"""The ASGI application, called like an ASGI server does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polykind.declare.library import Library
from polykind.toolkit.hosting.asgi_app import asgi
from tests.toolkit.hosting.hosts import crontabs, names, review


class Exchange:
    """Send one request to an application and collect its messages."""

    def __init__(self, *chunks: bytes, then: str = "http.request") -> None:
        self._chunks, self._then = list(chunks), then
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if not self._chunks:
            return {"type": "http.disconnect"}
        body = self._chunks.pop(0)
        more = bool(self._chunks) or self._then != "http.request"
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(self, message: Any) -> None:
        self.sent.append(dict(message))

    async def __call__(self, app: Any, method: str = "POST", path: str = "/", *headers: tuple[bytes, bytes]) -> Any:
        scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": list(headers)}
        await app(scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def body(self) -> bytes:
        return bytes(self.sent[1]["body"])


@pytest.mark.parametrize("path", ["/", "/convert", "/mounted/anywhere"])
async def test_review_is_converted_at_any_path(path: str) -> None:
    got = await Exchange(json.dumps(review("one", "two")).encode())(asgi(crontabs()), "POST", path)
    assert (got.status, got.headers[b"content-type"]) == (200, b"application/json")
    assert int(got.headers[b"content-length"]) == len(got.body)
    response = json.loads(got.body)["response"]
    assert (response["uid"], response["result"], names(response)) == ("u1", {"status": "Success"}, ["one", "two"])
    assert response["convertedObjects"][0]["spec"] == {"hosts": ["a.example"]}


async def test_body_may_arrive_in_chunks() -> None:
    body = json.dumps(review()).encode()
    got = await Exchange(body[:10], b"", body[10:])(asgi(crontabs()))
    assert json.loads(got.body)["response"]["result"] == {"status": "Success"}


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/healthz", 200, b"ok"),
        ("GET", "/readyz", 200, b"ok"),
        ("GET", "/mounted/healthz", 200, b"ok"),
        ("HEAD", "/healthz", 200, b""),
        ("GET", "/", 405, b"send a ConversionReview by POST; GET serves /healthz, /readyz and /metrics\n"),
        ("PUT", "/", 405, b"send a ConversionReview by POST\n"),
        ("POST", "/", 400, b"the body is not a ConversionReview\n"),
    ],
)
async def test_invalid_requests_are_rejected(method: str, path: str, status: int, body: bytes) -> None:
    got = await Exchange(b"{}")(asgi(crontabs()), method, path)
    assert (got.status, got.body) == (status, body)


async def test_other_methods_get_an_allow_header() -> None:
    got = await Exchange(b"")(asgi(crontabs()), "DELETE", "/")
    assert got.headers[b"allow"] == b"GET, HEAD, POST"


async def test_declared_large_body_is_not_read() -> None:
    exchange = Exchange(b"")
    got = await exchange(asgi(crontabs(), most_bytes=10), "POST", "/", (b"content-length", b"11"))
    assert (got.status, got.body) == (413, b"a review must not exceed 10 bytes\n")
    assert (await exchange.receive())["type"] == "http.request"


async def test_undeclared_large_body_is_rejected() -> None:
    got = await Exchange(b"123456", b"123456", b"never read")(asgi(crontabs(), most_bytes=10))
    assert got.status == 413


async def test_disconnected_client_gets_nothing() -> None:
    got = await Exchange(b"{", then="http.disconnect")(asgi(crontabs()))
    assert got.sent == []


def test_async_converters_are_rejected_by_name() -> None:
    async def slow(obj: Any, to: str) -> Any:
        return obj

    message = (
        "tests.toolkit.hosting.test_asgi_app:test_async_converters_are_rejected_by_name.<locals>.slow: "
        "an async converter cannot be hosted, because conversions run in threads: make it a plain function"
    )
    with pytest.raises(ValueError, match="an async converter") as caught:
        asgi(crontabs(), slow)
    assert str(caught.value) == message


def test_at_least_one_converter_is_required() -> None:
    with pytest.raises(ValueError, match="nothing to host: name at least one converter"):
        asgi()


async def test_every_kind_of_converter_is_hosted() -> None:
    def convert(obj: Any, to: str) -> Any:
        return {**obj, "spec": {"by": "function"}}

    for converter in (convert, Library("x", convert)):
        got = await Exchange(json.dumps(review()).encode())(asgi(converter))
        assert json.loads(got.body)["response"]["convertedObjects"][0]["spec"] == {"by": "function"}


async def test_lifespan_startup_and_shutdown() -> None:
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await asgi(crontabs())({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_websocket_is_closed() -> None:
    exchange = Exchange()
    await asgi(crontabs())({"type": "websocket"}, exchange.receive, exchange.send)
    assert exchange.sent == [{"type": "websocket.close", "code": 1003}]
