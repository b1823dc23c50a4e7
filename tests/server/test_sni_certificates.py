"""Certificates by server name: precedence of names, reload, and client certificates, with real TLS connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from polykind.server.settings import SettingsError
from polykind.server.sni_certificates import SniFlagError, parse_sni_flag
from tests.support.certificates import CLIENT, client_context, issue
from tests.support.live import live


def write(folder: Path, common_name: str, alternative: Sequence[str] = ()) -> str:
    """Write a self-signed certificate and its key. Return the value of the flag."""
    extension = (x509.SubjectAlternativeName([x509.DNSName(one) for one in alternative]), False)
    issued = issue(common_name, None, *((extension,) if alternative else ()))
    file = folder / common_name.replace("*", "any")
    key = issued.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.with_name(file.name + ".crt").write_bytes(issued.pem)
    file.with_name(file.name + ".key").write_bytes(key)
    return f"{file}.crt,{file}.key"


def presented(port: int, server_name: str | None, context: ssl.SSLContext | None = None) -> str:
    """Return the common name of the certificate that the server presents to a client that asks for a name."""
    context = context or client_context(Path())
    with (
        socket.create_connection(("127.0.0.1", port)) as raw,
        context.wrap_socket(raw, server_hostname=server_name) as tls,
    ):
        certificate = x509.load_der_x509_certificate(tls.getpeercert(binary_form=True) or b"")
    return str(certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)


async def test_certificate_follows_the_server_name(tmp_path: Path) -> None:
    flags = (
        write(tmp_path, "one", ["api.example.com", "*.teams.example.com"]),
        write(tmp_path, "two", ["api.example.com", "second.example.com"]),
        write(tmp_path, "named", ["inside.example.com"]) + ":second.example.com, *.Wild.example.com,127.0.0.1",
        write(tmp_path, "common.example.com"),
    )
    default = "default"
    cert, key = write(tmp_path, default, ["api.default.example.com"]).split(",")
    settings: dict[str, Any] = {"tls_cert_file": Path(cert), "tls_private_key_file": Path(key)}
    expected = {
        "api.example.com": "one",
        "API.example.com": "one",
        "blue.teams.example.com": "one",
        "a.blue.teams.example.com": default,
        "second.example.com": "named",
        "inside.example.com": "named",
        "x.wild.example.com": default,
        "common.example.com": "common.example.com",
        "api.default.example.com": default,
        "unknown.example.com": default,
        "localhost": default,
        None: "named",
    }
    async with live(tmp_path, tls_sni_cert_key=flags, **settings) as running:
        port = running.server.port
        found = {name: await asyncio.to_thread(presented, port, name) for name in expected}
        assert found == expected
        replaced = write(tmp_path, "other", ["api.example.com"]).split(",")
        for old, new in zip(flags[0].split(","), replaced, strict=True):
            Path(old).write_bytes(Path(new).read_bytes())
        running.server.reload()
        assert await asyncio.to_thread(presented, port, "api.example.com") == "other"
        Path(replaced[0]).write_bytes(b"")
        Path(flags[0].split(",")[0]).write_bytes(b"damaged")
        running.server.reload()
        assert await asyncio.to_thread(presented, port, "api.example.com") == "other"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_clients_with_certificates_can_ask_for_a_name(tmp_path: Path, version: ssl.TLSVersion) -> None:
    root = issue("root", ca=True)
    (tmp_path / "ca.pem").write_bytes(root.pem)
    flag = write(tmp_path, "one", ["api.example.com"])
    async with live(tmp_path, tls_sni_cert_key=(flag,), client_ca_file=tmp_path / "ca.pem") as running:
        context = client_context(tmp_path, issue("bob", root, usages=[CLIENT]), version=version)

        def whoami() -> bytes:
            path = b"/apis/authentication.k8s.io/v1/selfsubjectreviews"
            body = b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
            head = b"POST %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            with (
                socket.create_connection(("127.0.0.1", running.server.port)) as raw,
                context.wrap_socket(raw, server_hostname="api.example.com") as tls,
            ):
                tls.sendall(head % (path, len(body)) + body)
                return b"".join(iter(lambda: tls.recv(65536), b""))

        assert b'"username":"bob"' in await asyncio.to_thread(whoami)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a.crt", "expected comma separated certificate and key file paths"),
        ("a.crt,a.key,more", "expected comma separated certificate and key file paths"),
        ("a.crt,a.key:", "empty names list is not allowed"),
    ],
)
def test_malformed_flag(value: str, problem: str) -> None:
    with pytest.raises(SniFlagError, match=problem):
        parse_sni_flag(value)


async def test_missing_file_is_an_error_at_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="failed to load SNI cert and key"):
        async with live(tmp_path, tls_sni_cert_key=(f"{tmp_path}/a.crt,{tmp_path}/a.key",)):
            pass
