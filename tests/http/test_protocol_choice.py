"""HTTP/1.1 and HTTP/2 on one TLS port: the client chooses. The clients are other people's libraries."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from polykind.http.client_handshake import accept_client_certificates
from polykind.http.listener import HttpServer
from polykind.http.messages import Request
from polykind.http.protocol_choice import HTTP1_PROTOCOLS, HTTP2_PROTOCOLS
from polykind.operations.responses import JoinedParts, Response, Sink, Stream
from polykind.pki import serving_certificates
from tests.support.certificates import client_context, issue, name

PARTS = JoinedParts(b"[", [b"x" * 999] * 3_000, b",", b"]")


async def app(request: Request) -> Response | Stream:
    if request.path == "/list":
        return Response(200, PARTS)
    if request.path == "/stream":

        def start(sink: Sink) -> None:
            for number in range(3):
                sink.send_part(b"%d\n" % number)
            sink.finish()

        return Stream(start, lambda: None)
    text = f"{request.protocol} {request.method} {request.path} {len(request.body)} {len(request.client_chain)}"
    return Response(200, text.encode())


@asynccontextmanager
async def served(folder: Path, protocols: list[str], *, certificates: bool = False) -> AsyncIterator[str]:
    certificate, key, _ = serving_certificates.ensure(folder, ["localhost", "127.0.0.1"], datetime.now(UTC))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.set_alpn_protocols(protocols)
    if certificates:
        accept_client_certificates(tls)
    http = HttpServer(app)
    port = await http.start("127.0.0.1", 0, tls)
    try:
        yield f"https://127.0.0.1:{port}"
    finally:
        await http.stop(grace=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pki")


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.parametrize(
    ("offered", "protocols", "expected"),
    [
        (True, HTTP2_PROTOCOLS, "HTTP/2"),
        (False, HTTP2_PROTOCOLS, "HTTP/1.1"),
        (True, HTTP1_PROTOCOLS, "HTTP/1.1"),
    ],
)
async def test_choice_of_the_client(folder: Path, offered: bool, protocols: list[str], expected: str) -> None:
    async with served(folder, protocols) as url, httpx.AsyncClient(http2=offered, verify=trusting()) as client:
        response = await client.post(f"{url}/a", content=b"abc")
        assert response.http_version == expected
        assert response.text.startswith(f"{expected.replace('HTTP/2', 'HTTP/2.0')} POST /a 3")


async def test_client_without_alpn(folder: Path) -> None:
    async with served(folder, HTTP2_PROTOCOLS) as url:
        context = trusting()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), ssl=context)
        writer.write(b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).endswith(b"HTTP/1.1 GET /a 0 0")
        writer.close()


@pytest.mark.parametrize("http2", [True, False], ids=["HTTP/2", "HTTP/1.1"])
async def test_long_bodies_and_streams(folder: Path, http2: bool) -> None:
    async with served(folder, HTTP2_PROTOCOLS) as url, httpx.AsyncClient(http2=http2, verify=trusting()) as client:
        lists = await asyncio.gather(*(client.get(f"{url}/list") for _ in range(3)))
        assert [response.content for response in lists] == [b"".join(PARTS)] * 3
        assert (await client.post(f"{url}/a", content=b"x" * 2_000_000)).text.endswith(" 2000000 0")
        assert (await client.get(f"{url}/stream")).text == "0\n1\n2\n"
        assert (await client.head(f"{url}/list")).headers["content-length"] == str(PARTS.size)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_client_certificate(folder: Path, tmp_path: Path, version: ssl.TLSVersion) -> None:
    context = client_context(tmp_path, issue(name("alice")), version=version)
    async with (
        served(folder, HTTP2_PROTOCOLS, certificates=True) as url,
        httpx.AsyncClient(http2=True, verify=context) as client,
    ):
        for _ in range(2):
            response = await client.get(f"{url}/a")
            assert (response.http_version, response.text) == ("HTTP/2", "HTTP/2.0 GET /a 0 1")
