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


async def _says(make: Make, hook: Hook, **config: str) -> str:
    stanza = hook.stanza(**config)
    with pytest.raises(APIError) as caught:
        await make(stanza).convert([crontab()], "example.com/v1")
    url = stanza["clientConfig"]["url"]
    start = f'conversion webhook for example.com/v1beta1, Kind=CronTab failed: Post "{url}?timeout=30s": '
    message = caught.value.message
    assert message.startswith(start)
    assert not hook.calls
    return message.removeprefix(start)


async def test_another_authority_is_not_trusted(hook: Hook, make: Make) -> None:
    async with Hook() as other:
        says = await _says(make, hook, caBundle=other.bundle)
    assert says.startswith(f"{_VERIFY} certificate signed by unknown authority; ")


@pytest.mark.parametrize("bundle", ["", "ICAK"])
async def test_without_a_bundle_the_system_s_roots_decide(hook: Hook, make: Make, bundle: str) -> None:
    says = await _says(make, hook, caBundle=bundle)
    assert says.startswith(f"{_VERIFY} certificate signed by unknown authority; ")


async def test_an_expired_certificate_is_refused(make: Make) -> None:
    hook = Hook(authority=trustme.CA())
    hook.not_after = datetime.now(UTC) - timedelta(hours=1)
    async with hook:
        says = await _says(make, hook)
    assert says.startswith(f"{_VERIFY} certificate has expired or is not yet valid: current time ")
    assert f" is after {hook.not_after:%Y-%m-%dT%H:%M:%SZ}; " in says


@pytest.mark.parametrize(
    ("names", "host", "says"),
    [
        (("a.io", "b.io"), "localhost", "certificate is valid for a.io, b.io, not localhost"),
        (("a.io",), "127.0.0.1", "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"),
        (("10.0.0.1", "10.0.0.2"), "127.0.0.1", "certificate is valid for 10.0.0.1, 10.0.0.2, not 127.0.0.1"),
        (("10.0.0.1",), "localhost", "certificate is not valid for any names, but wanted to match localhost"),
    ],
)
async def test_a_certificate_for_other_names_is_refused(
    make: Make, names: tuple[str, ...], host: str, says: str
) -> None:
    async with Hook(*names) as hook:
        assert (await _says(make, hook, url=f"https://{host}:{hook.port}/c")).startswith(f"{_VERIFY} {says}; ")


async def test_nobody_listening_is_told(hook: Hook, make: Make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    says = await _says(make, hook, url=f"https://127.0.0.1:{port}/c")
    assert says.startswith(f"dial tcp 127.0.0.1:{port}: connect: connection refused; ")


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "http: server gave HTTP response to HTTPS client; "),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "tls: first record does not look like a TLS handshake; "),
        (b"", "EOF; "),
    ],
)
async def test_a_server_that_speaks_no_tls_is_told(hook: Hook, make: Make, first: bytes, says: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5000)
        writer.write(first)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await _says(make, hook, url=f"https://127.0.0.1:{port}/c")).startswith(says)
