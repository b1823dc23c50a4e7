"""The serving certificate of a running server: names, renewal, TLS versions and cipher suites."""

from __future__ import annotations

import asyncio
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from polykind.server.serving_tls import ServingTls
from polykind.server.settings import Settings, SettingsError
from polykind.server.tls_options import CIPHER_SUITES
from tests.support.live import live
from tests.support.waiting import eventually_async

START = datetime(2026, 1, 1, tzinfo=UTC)


class SettableClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return time.monotonic()


def served(tls: ServingTls) -> x509.Certificate:
    """Return the certificate that a client gets in a handshake."""
    return x509.load_der_x509_certificate(_handshake(tls, _client()).getpeercert(binary_form=True) or b"")


def _client() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _handshake(tls: ServingTls, client_context: ssl.SSLContext) -> ssl.SSLObject:
    """Do a handshake in memory. Return the client's side. Raise SSLError if the handshake fails."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server)
    server = tls.context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    client.do_handshake()
    return client


def names(certificate: x509.Certificate) -> set[str]:
    value = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    addresses = {str(address) for address in value.get_values_for_type(x509.IPAddress)}
    return addresses | set(value.get_values_for_type(x509.DNSName))


async def test_certificate_is_renewed_before_it_expires(tmp_path: Path) -> None:
    clock = SettableClock()
    tls = ServingTls(Settings(data_dir=tmp_path), clock)
    first = served(tls)
    clock.time = first.not_valid_after_utc - timedelta(days=31)
    assert not await tls.renew()
    assert served(tls) == first
    clock.time = first.not_valid_after_utc - timedelta(days=29)
    assert await tls.renew()
    second = served(tls)
    assert second.not_valid_after_utc > first.not_valid_after_utc + timedelta(days=300)
    assert names(second) == names(first)
    assert second.issuer == first.issuer


async def test_new_host_name_gets_a_new_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = ServingTls(Settings(data_dir=tmp_path, bind_address="0.0.0.0"), SettableClock())
    assert not await tls.renew()
    monkeypatch.setattr("socket.gethostname", lambda: "moved.example.com")
    assert await tls.renew()
    assert "moved.example.com" in names(served(tls))


async def test_renewal_runs_while_the_server_runs(tmp_path: Path) -> None:
    clock = SettableClock()
    tls = ServingTls(Settings(data_dir=tmp_path), clock, interval=0.01)
    first, renewed = served(tls), asyncio.Event()
    tls.start(renewed.set)
    try:
        clock.time += timedelta(days=340)
        async with asyncio.timeout(20):
            await renewed.wait()
        assert served(tls) != first
    finally:
        await tls.close()


async def test_failed_renewal_keeps_the_certificate_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, attempts = SettableClock(), asyncio.Event()
    tls = ServingTls(Settings(data_dir=tmp_path), clock, interval=0.01)
    first, loop = served(tls), asyncio.get_running_loop()

    def fail(*_: object, **__: object) -> None:
        loop.call_soon_threadsafe(attempts.set)
        raise OSError("the disk is full")

    monkeypatch.setattr("polykind.pki.serving_certificates.ensure", fail)
    tls.start(lambda: None)
    async with asyncio.timeout(20):
        await attempts.wait()
        await eventually_async(lambda: "the disk is full" in caplog.text)
    await tls.close()
    assert served(tls) == first


def test_mismatched_key_keeps_the_previous_certificate(tmp_path: Path) -> None:
    tls = ServingTls(Settings(data_dir=tmp_path), SettableClock())
    first = served(tls)
    tls.key.write_bytes(tls.key.with_name("ca.key").read_bytes())
    with pytest.raises(OSError, match="KEY_VALUES_MISMATCH"):
        tls.reload()
    assert served(tls) == first


async def test_kubeconfig_and_certificate_have_the_advertised_address(tmp_path: Path) -> None:
    advertised, name = "127.0.0.2", "polykind.example.com"
    async with live(tmp_path, bind_address="0.0.0.0", advertise_address=advertised, tls_san=(name,)) as running:
        url = f"https://{advertised}:{running.server.port}"
        assert running.server.url == url
        assert url in running.server.kubeconfig.read_text()
        context = ssl.create_default_context(cafile=str(tmp_path / "data" / "pki" / "ca.crt"))
        for host in (advertised, name):
            _, writer = await asyncio.open_connection(
                advertised, running.server.port, ssl=context, server_hostname=host
            )
            writer.transport.abort()


def test_minimum_version(tmp_path: Path) -> None:
    old = _client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert _handshake(ServingTls(Settings(data_dir=tmp_path), SettableClock()), old).version() == "TLSv1.2"
    for settings in (
        Settings(data_dir=tmp_path, tls_min_version="VersionTLS13"),
        Settings(data_dir=tmp_path, tls_cipher_suites=("TLS_AES_128_GCM_SHA256",)),
    ):
        tls = ServingTls(settings, SettableClock())
        with pytest.raises(ssl.SSLError):
            _handshake(tls, old)
        assert _handshake(tls, _client()).version() == "TLSv1.3"


def test_cipher_suites(tmp_path: Path) -> None:
    client = _client()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    suites = ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_AES_128_GCM_SHA256")
    tls = ServingTls(Settings(data_dir=tmp_path, tls_cipher_suites=suites), SettableClock())
    assert (_handshake(tls, client).cipher() or ("",))[0] == "ECDHE-ECDSA-CHACHA20-POLY1305"
    client.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    with pytest.raises(ssl.SSLError):
        _handshake(tls, client)


def test_default_cipher_suites_are_those_of_go(tmp_path: Path) -> None:
    tls = ServingTls(Settings(data_dir=tmp_path), SettableClock())
    enabled = [suite["name"] for suite in tls.context.get_ciphers() if suite["protocol"] != "TLSv1.3"]
    ciphers = ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305", "AES128-SHA", "AES256-SHA")
    assert enabled == [f"ECDHE-{key}-{cipher}" for cipher in ciphers for key in ("ECDSA", "RSA")]


def test_openssl_knows_every_cipher_suite() -> None:
    for suite in filter(None, CIPHER_SUITES.values()):
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(suite)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (Settings(tls_min_version="VersionTLS11"), "VersionTLS11 is not supported; use VersionTLS12 or VersionTLS13"),
        (Settings(tls_cipher_suites=("TLS_RSA_WITH_RC4_128_SHA",)), "RC4_128_SHA not supported .*; use TLS_AES_128"),
        (Settings(tls_san=("a b",)), "--tls-san a b is not a host name or an IP address"),
        (
            Settings(tls_san=("a",), tls_cert_file=Path("c"), tls_private_key_file=Path("k")),
            "--tls-san is for generated certificates",
        ),
    ],
)
def test_invalid_settings(settings: Settings, problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        settings.check()
