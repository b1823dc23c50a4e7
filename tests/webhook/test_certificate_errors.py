from __future__ import annotations

import asyncio
import socket
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from polykind.errors import APIError
from tests.conversion.conftest import Make
from tests.conversion.hook import Hook, crontab

_VERIFY = "tls: failed to verify certificate: x509:"


async def tls_error(make: Make, hook: Hook, **config: str) -> str:
    webhook_config = hook.webhook_config(**config)
    with pytest.raises(APIError) as caught:
        await make(webhook_config).convert([crontab()], "example.com/v1")
    url = webhook_config["clientConfig"]["url"]
    start = f'conversion webhook for example.com/v1beta1, Kind=CronTab failed: Post "{url}?timeout=30s": '
    message = caught.value.message
    assert message.startswith(start)
    assert not hook.calls
    return message.removeprefix(start)


async def test_unknown_authority_is_not_trusted(hook: Hook, make: Make) -> None:
    async with Hook() as other:
        expected = await tls_error(make, hook, caBundle=other.bundle)
    assert expected.startswith(f"{_VERIFY} certificate signed by unknown authority; ")


@pytest.mark.parametrize("bundle", ["", "ICAK"])
async def test_system_roots_are_used_without_a_bundle(hook: Hook, make: Make, bundle: str) -> None:
    expected = await tls_error(make, hook, caBundle=bundle)
    assert expected.startswith(f"{_VERIFY} certificate signed by unknown authority; ")


async def test_expired_certificate_is_rejected(make: Make) -> None:
    hook = Hook(authority=trustme.CA())
    hook.not_after = datetime.now(UTC) - timedelta(hours=1)
    async with hook:
        expected = await tls_error(make, hook)
    assert expected.startswith(f"{_VERIFY} certificate has expired or is not yet valid: current time ")
    assert f" is after {hook.not_after:%Y-%m-%dT%H:%M:%SZ}; " in expected


@pytest.mark.parametrize(
    ("names", "host", "expected"),
    [
        (("a.io", "b.io"), "localhost", "certificate is valid for a.io, b.io, not localhost"),
        (("a.io",), "127.0.0.1", "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
        (("10.0.0.1", "10.0.0.2"), "127.0.0.1", "certificate is valid for 10.0.0.1, 10.0.0.2, not 127.0.0.1"),
        (("10.0.0.1",), "localhost", "certificate is not valid for any names, but wanted to match localhost"),
    ],
)
async def test_certificate_for_other_names_is_rejected(
    make: Make, names: tuple[str, ...], host: str, expected: str
) -> None:
    async with Hook(*names) as hook:
        assert (await tls_error(make, hook, url=f"https://{host}:{hook.port}/c")).startswith(f"{_VERIFY} {expected}; ")


async def test_connection_refused_is_reported(hook: Hook, make: Make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    expected = await tls_error(make, hook, url=f"https://127.0.0.1:{port}/c")
    assert expected.startswith(f"dial tcp 127.0.0.1:{port}: connect: connection refused; ")


@pytest.mark.parametrize(
    ("first_bytes", "expected"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "http: server gave HTTP response to HTTPS client; "),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "tls: first record does not look like a TLS handshake; "),
        (b"", "EOF; "),
    ],
)
async def test_server_without_tls_is_reported(hook: Hook, make: Make, first_bytes: bytes, expected: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5000)
        writer.write(first_bytes)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await tls_error(make, hook, url=f"https://127.0.0.1:{port}/c")).startswith(expected)
