"""HTTP on real sockets: plain and TLS, on both event loops."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from polykind import errors
from polykind.http.connection import App
from polykind.http.listener import HttpServer, Limits
from polykind.http.messages import Request, encode_chunk
from polykind.operations.responses import Response, Stream
from polykind.pki import serving_certificates
from tests.http.apps import BlockedApp, StreamingApp
from tests.http.helpers import RunningServer, get, post, served, until

Serve = Callable[..., AbstractAsyncContextManager[RunningServer]]
Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    """Return the TLS contexts of the server and of its clients."""
    folder: Path = tmp_path_factory.mktemp("pki")
    certificate, key, ca = serving_certificates.ensure(folder, ["localhost", "127.0.0.1"], datetime.now(UTC))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(ca))


@pytest.fixture(params=["plain", "tls"])
def serve(request: pytest.FixtureRequest, contexts: Contexts) -> Serve:
    tls = contexts if request.param == "tls" else None

    def start(app: App, limits: Limits | None = None) -> AbstractAsyncContextManager[RunningServer]:
        return served(app, limits, tls)

    return start


async def echo(request: Request) -> Response:
    """Respond with a description of the request as JSON."""
    description = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "body": request.body.decode(),
    }
    return Response(200, json.dumps(description).encode())


async def late_echo(request: Request) -> Response:
    """Respond like `echo`, but suspend first."""
    for _ in range(3):
        await asyncio.sleep(0)
    return await echo(request)


# ---------------------------------------------------------------------- requests and responses


@pytest.mark.parametrize("app", [echo, late_echo], ids=["immediate", "suspended"])
async def test_connection_is_reused(serve: Serve, app: App) -> None:
    async with serve(app) as server:
        peer = await server.peer()
        for number in range(3):
            peer.send(post(b"hello", path=f"/a/{number}?x=1&y"))
            response = await peer.response()
            assert response.status == 200
            assert json.loads(response.body) == {
                "method": "POST",
                "path": f"/a/{number}",
                "query": "x=1&y",
                "body": "hello",
            }
            assert "Connection" not in response.headers


async def test_response_headers_match_kube_apiserver(serve: Serve) -> None:
    async with serve(echo) as server:
        first, second = await server.ask(get()), await server.ask(get())
        named = await server.ask(get("/", "Audit-ID: mine"))
    assert first.headers["Cache-Control"] == "no-cache, private"
    assert first.headers["Content-Type"] == "application/json"
    assert first.headers["Date"].endswith(" GMT")
    assert first.headers["Audit-Id"] != second.headers["Audit-Id"]
    assert named.headers["Audit-Id"] == "mine"


@pytest.mark.parametrize("app", [echo, late_echo], ids=["immediate", "suspended"])
async def test_connection_closes_on_request(serve: Serve, app: App) -> None:
    async with serve(app) as server:
        for request in (get("/", "Connection: close"), b"GET / HTTP/1.0\r\n\r\n"):
            peer = await server.peer()
            peer.send(request)
            response = await peer.response()
            assert response.headers["Connection"] == "close"
            assert await peer.ended()


@pytest.mark.parametrize("app", [echo, late_echo], ids=["immediate", "suspended"])
async def test_pipelined_requests_are_answered_in_order(serve: Serve, app: App) -> None:
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(b"".join(get(f"/{i}") for i in range(50)))
        assert [json.loads((await peer.response()).body)["path"] for _ in range(50)] == [f"/{i}" for i in range(50)]


async def test_thousands_of_requests_behind_a_slow_one(serve: Serve) -> None:
    """Handling the queued requests must not recurse."""
    blocked = BlockedApp()

    async def app(request: Request) -> Response:
        return await (blocked(request) if request.path == "/slow" else echo(request))

    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/slow") + get("/x") * 2000)
        await until(lambda: blocked.started)
        blocked.go.set()
        assert (await peer.response()).body == b"/slow"
        for _ in range(2000):
            assert (await peer.response()).status == 200


async def test_first_of_repeated_headers_counts(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, request.headers[b"accept"])

    async with serve(app) as server:
        assert (await server.ask(get("/", "Accept: a", "ACCEPT: b"))).body == b"a"


async def test_head_response_has_length_and_no_body(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, [b"x" * 1_000_000] * 3)

    async with serve(app) as server:
        peer = await server.peer()
        for _ in range(2):
            peer.send(get(method="HEAD"))
            response = await peer.response(no_body=True)
            assert response.headers["Content-Length"] == "3000000"


async def test_chunked_bodies(serve: Serve) -> None:
    async with serve(echo) as server:
        peer = await server.peer()
        peer.send(get("/", "Transfer-Encoding: chunked", method="POST") + b"3\r\nabc\r\n")
        peer.send(b"4;ext=1\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n" + get("/next"))
        assert json.loads((await peer.response()).body)["body"] == "abcdefg"
        assert json.loads((await peer.response()).body)["path"] == "/next"


async def test_100_continue(serve: Serve) -> None:
    async with serve(echo) as server:
        peer = await server.peer()
        peer.send(get("/", "Content-Length: 2", "Expect: 100-continue", method="PUT"))
        assert (await peer.head())[0] == 100
        peer.send(b"hi")
        assert json.loads((await peer.response()).body)["body"] == "hi"


async def test_100_continue_follows_pending_responses(serve: Serve) -> None:
    blocked = BlockedApp()
    async with serve(blocked) as server:
        peer = await server.peer()
        peer.send(get("/first") + get("/second", "Content-Length: 2", "Expect: 100-continue", method="PUT"))
        await until(lambda: blocked.started)
        blocked.go.set()
        assert (await peer.response()).body == b"/first"
        assert (await peer.head())[0] == 100
        peer.send(b"hi")
        assert (await peer.response()).body == b"/second"


async def test_application_exception_is_logged_as_500(serve: Serve, caplog: Any) -> None:
    async def app(request: Request) -> Response:
        if request.path == "/late":
            await asyncio.sleep(0)
        raise KeyError("secret")

    async with serve(app) as server:
        peer = await server.peer()
        for path in ("/at-once", "/late"):
            peer.send(get(path))
            response = await peer.response()
            assert (response.status, json.loads(response.body)["reason"]) == (500, "InternalError")
            assert b"secret" not in response.body
    failed = [r for r in caplog.records if "failed, responding 500" in r.message]
    assert len(failed) == 2
    caplog.clear()


async def test_api_error_becomes_status(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        raise errors.NotFoundError("foos", "example.com", "x")

    async with serve(app) as server:
        response = await server.ask(get())
    assert (response.status, json.loads(response.body)["message"]) == (404, 'foos.example.com "x" not found')


# ---------------------------------------------------------------------- limits


MALFORMED = {
    "garbage": b"\x00\x01\x02\r\n\r\n",
    "no http": b"hello there\r\n\r\n",
    "bad version": b"GET / HTTP/7.9\r\nHost: x\r\n\r\n",
    "no colon": b"GET / HTTP/1.1\r\nnonsense\r\n\r\n",
    "nul in a header": b"GET / HTTP/1.1\r\nA: b\x00c\r\n\r\n",
    "bare cr in a header": b"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
    "length in words": b"POST / HTTP/1.1\r\nContent-Length: ten\r\n\r\n",
    "negative length": b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length and chunks": b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad chunk size": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "endless chunk size": b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_malformed_request_gets_400_and_closes(serve: Serve, name: str) -> None:
    async with serve(echo, Limits(linger_seconds=0.02)) as server:
        peer = await server.peer()
        peer.send(MALFORMED[name])
        response = await peer.response()
        assert response.status == 400
        assert json.loads(response.body)["reason"] == "BadRequest"
        assert response.headers["Connection"] == "close"
        assert await peer.ended()
        assert (await server.ask(get())).status == 200


async def test_upgrade_request_is_answered_in_http_1(serve: Serve) -> None:
    async with serve(echo) as server:
        peer = await server.peer()
        peer.send(get("/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x") + b"PRI * HTTP")
        response = await peer.response()
        assert (response.status, response.headers["Connection"]) == (200, "close")
        assert await peer.ended()


async def test_garbage_after_request_does_not_affect_its_response(serve: Serve) -> None:
    blocked = BlockedApp()
    async with serve(blocked, Limits(linger_seconds=0.02)) as server:
        peer = await server.peer()
        peer.send(get("/good") + b"\x00garbage\r\n\r\n")
        await until(lambda: blocked.started)
        blocked.go.set()
        assert (await peer.response()).body == b"/good"
        assert (await peer.response()).status == 400
        assert await peer.ended()


@pytest.mark.parametrize(
    "raw_request",
    [
        post(b"x" * 1001),
        get("/", "Content-Length: 99999999999999999999999", method="POST"),
        get("/", "Transfer-Encoding: chunked", method="POST") + (b"100\r\n" + b"x" * 256 + b"\r\n") * 5,
    ],
    ids=["length and body", "length only", "chunked"],
)
async def test_too_large_body_is_rejected(serve: Serve, raw_request: bytes) -> None:
    async with serve(echo, Limits(max_body_bytes=1000, linger_seconds=0.02)) as server:
        peer = await server.peer()
        peer.send(raw_request)
        response = await peer.response()
        assert response.status in (400, 413)
        if response.status == 413:
            assert json.loads(response.body)["message"] == "Request entity too large: limit is 1000"
        assert await peer.ended()
        assert (await server.ask(post(b"x" * 1000))).status == 200


async def test_too_large_body_is_rejected_before_100_continue(serve: Serve) -> None:
    async with serve(echo, Limits(max_body_bytes=1000, linger_seconds=0.02)) as server:
        response = await server.ask(get("/", "Content-Length: 1001", "Expect: 100-continue", method="PUT"))
    assert response.status == 413


@pytest.mark.parametrize(
    "raw_request",
    [get("/" + "x" * 3000), get("/", "A: " + "x" * 3000), get("/", *(f"H{i}: x" for i in range(1000)))],
    ids=["path", "header", "headers"],
)
async def test_too_large_head_is_rejected(serve: Serve, raw_request: bytes) -> None:
    async with serve(echo, Limits(max_head_bytes=2000, linger_seconds=0.02)) as server:
        peer = await server.peer()
        peer.send(raw_request)
        assert (await peer.response()).status == 431
        assert await peer.ended()


SHORT_RECEIVE = Limits(receive_seconds=0.3, sweep_seconds=0.01)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", post(b"abc")[:-1], get()[:-2]])
async def test_incomplete_request_times_out(serve: Serve, sent: bytes) -> None:
    async with serve(echo, SHORT_RECEIVE) as server:
        peer = await server.peer()
        peer.send(sent)
        assert await peer.ended()


async def test_incomplete_second_request_times_out(serve: Serve) -> None:
    async with serve(late_echo, SHORT_RECEIVE) as server:
        peer = await server.peer()
        peer.send(get("/one") + b"GET /two HT")
        assert (await peer.response()).status == 200
        assert await peer.ended()


async def test_idle_connection_is_closed(serve: Serve) -> None:
    async with serve(echo, Limits(idle_seconds=0.3, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        assert (await peer.response()).status == 200
        assert await peer.ended()


async def test_connections_above_limit_are_closed(serve: Serve) -> None:
    async with serve(echo, Limits(max_connections=2)) as server:
        peers = [await server.peer() for _ in range(2)]
        for peer in peers:
            peer.send(get())
            assert (await peer.response()).status == 200
        late = await server.peer()
        assert await late.ended()
        peers[0].abort()
        await until(lambda: len(server.http.connections) == 1)
        assert (await server.ask(get())).status == 200


async def test_slow_request_gets_504(serve: Serve) -> None:
    blocked = BlockedApp()
    async with serve(blocked, Limits(request_seconds=0.05, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        response = await peer.response()
        assert (response.status, response.headers["Content-Type"]) == (504, "text/plain; charset=utf-8")
        assert json.loads(response.body) == {
            "metadata": {},
            "status": "Failure",
            "message": "Timeout: request did not complete within the allotted timeout",
            "reason": "Timeout",
            "details": {},
            "code": 504,
        }
        assert await peer.ended()
    assert blocked.cancelled == 1


async def test_request_timeout_shortens_deadline(serve: Serve) -> None:
    blocked = BlockedApp()

    async def app(request: Request) -> Response:
        request.limit_time(0.05)
        return await blocked(request)

    async with serve(app, Limits(sweep_seconds=0.01)) as server:
        assert (await server.ask(get())).status == 504


async def test_pipelined_request_does_not_shorten_deadline(serve: Serve) -> None:
    blocked = BlockedApp()
    async with serve(blocked, Limits(receive_seconds=0.3, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(get("/slow") + b"GET /next HTTP/1.1\r\nHost: x\r\n")
        await asyncio.sleep(0.4)
        blocked.go.set()
        assert (await peer.response()).body == b"/slow"
        peer.send(b"\r\n")
        assert (await peer.response()).body == b"/next"


async def test_disconnect_cancels_request(serve: Serve) -> None:
    blocked = BlockedApp()
    async with serve(blocked) as server:
        peer = await server.peer()
        peer.send(get())
        await until(lambda: blocked.started)
        peer.abort()
        await until(lambda: blocked.cancelled)
        assert not server.http.connections


# ---------------------------------------------------------------------- long responses


async def test_long_response_waits_for_slow_reader(serve: Serve) -> None:
    """The transport buffers a piece or two, not the complete body."""
    body = [bytes([i]) * 1_000_000 for i in range(32)]

    async def app(request: Request) -> Response:
        return Response(200, body)

    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get())
        status, headers = await peer.head()
        assert (status, headers["Content-Length"]) == (200, "32000000")
        connection = next(iter(server.http.connections))
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert connection.transport.get_write_buffer_size() < 2_000_000
        assert await peer.reader.readexactly(32_000_000) == b"".join(body)
        peer.send(get())
        assert len((await peer.response()).body) == 32_000_000


async def test_long_response_to_stalled_client_is_aborted(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 32_000_000)

    async with serve(app, Limits(request_seconds=0.1, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        await peer.head()
        await until(lambda: not server.http.connections)


async def test_long_response_to_reading_client_has_no_deadline(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 16_000_000)

    async with serve(app, Limits(request_seconds=5.0, receive_seconds=0.5, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        await peer.head()
        for _ in range(16):
            await asyncio.sleep(0.04)
            await peer.reader.readexactly(1_000_000)


# ---------------------------------------------------------------------- streams


async def test_stream_keeps_order_and_ends_normally(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        assert (await peer.head())[1]["Transfer-Encoding"] == "chunked"
        await until(lambda: app.sinks)
        for number in range(100):
            app.sinks[0].send(encode_chunk(b"%d" % number))
        assert [await peer.chunk() for _ in range(100)] == [b"%d" % n for n in range(100)]
        app.sinks[0].finish()
        assert await peer.chunk() == b""
        assert app.ended == 1
        peer.send(get("/again"))
        assert json.loads((await peer.response()).body)["path"] == "/again"


async def test_head_request_of_stream_has_no_body(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch", method="HEAD") + get("/next"))
        assert (await peer.response(no_body=True)).status == 200
        assert json.loads((await peer.response()).body)["path"] == "/next"
    assert (app.sinks, app.ended) == ([], 1)


async def test_stream_with_connection_close_closes_at_its_end(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch", "Connection: close"))
        assert (await peer.head())[1]["Connection"] == "close"
        await until(lambda: app.sinks)
        app.sinks[0].finish()
        assert await peer.chunk() == b""
        assert await peer.ended()


async def test_request_behind_stream_is_answered_after_it(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app, Limits(sweep_seconds=SHORT_RECEIVE.sweep_seconds)) as server:
        peer = await server.peer()
        server.http.limits = SHORT_RECEIVE  # Only from now on, because a handshake may take longer.
        peer.send(get("/watch") + get("/next"))
        await peer.head()
        await until(lambda: app.sinks)
        await asyncio.sleep(SHORT_RECEIVE.receive_seconds + 0.1)
        app.sinks[0].send(encode_chunk(b"still there"))
        app.sinks[0].finish()
        assert [await peer.chunk(), await peer.chunk()] == [b"still there", b""]
        assert json.loads((await peer.response()).body)["path"] == "/next"


async def test_stream_has_no_deadline_after_draining(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app, Limits(request_seconds=0.5, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        await until(lambda: app.sinks)
        app.sinks[0].send(encode_chunk(b"x" * 8_000_000))
        waiting = asyncio.create_task(app.sinks[0].drained())
        assert len(await peer.chunk()) == 8_000_000
        await waiting
        await asyncio.sleep(0.6)
        app.sinks[0].send(encode_chunk(b"y"))
        assert await peer.chunk() == b"y"


async def test_stream_that_does_not_drain_is_aborted(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app, Limits(request_seconds=0.5, sweep_seconds=0.01)) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        await until(lambda: app.sinks)

        async def send_until_writing_pauses() -> None:
            for _ in range(20):  # The buffers of the sockets take the first writes.
                app.sinks[0].send(encode_chunk(b"x" * 8_000_000))
                await app.sinks[0].drained()

        with pytest.raises(ConnectionError):
            await send_until_writing_pauses()
    assert app.ended == 1


async def test_only_slow_watcher_is_disconnected(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "polykind.http")
    app = StreamingApp()
    async with serve(app, Limits(max_unread_bytes=1_000_000)) as server:
        slow, keen = await server.peer(), await server.peer()
        for peer in (slow, keen):
            peer.send(get("/watch"))
            await peer.head()
        await until(lambda: len(app.sinks) == 2)
        taken = 0
        for _ in range(400):
            for sink in app.sinks:
                sink.send(encode_chunk(b"x" * 50_000))
            taken += len(await keen.chunk())
        assert taken == 400 * 50_000
        assert app.ended == 1
        assert len(server.http.connections) == 1
    assert "client reads too slowly: over 1000000 bytes are unread" in caplog.text


async def test_aborted_stream_has_no_final_chunk(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        await until(lambda: app.sinks)
        app.sinks[0].abort()
        assert await peer.ended()
        app.sinks[0].send(encode_chunk(b"into the void"))
        app.sinks[0].finish()
    assert app.ended == 1


async def test_stream_ends_when_client_disconnects(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        peer.abort()
        await until(lambda: app.ended)


async def test_garbage_from_watcher_ends_its_stream(serve: Serve) -> None:
    app = StreamingApp()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        peer.send(b"\x00\x00\r\n\r\n")
        assert await peer.ended()
        assert app.ended == 1


# ---------------------------------------------------------------------- shutdown


async def test_stop_ends_streams_and_finishes_requests(serve: Serve) -> None:
    blocked, streaming = BlockedApp(), StreamingApp()

    async def app(request: Request) -> Response | Stream:
        return await (streaming(request) if request.path == "/watch" else blocked(request))

    async with serve(app) as server:
        watcher, asker, idle = await server.peer(), await server.peer(), await server.peer()
        watcher.send(get("/watch"))
        await watcher.head()
        asker.send(get("/slow"))
        await until(lambda: blocked.started and streaming.sinks)
        stopping = asyncio.create_task(server.http.stop())
        assert await watcher.chunk() == b""
        assert await watcher.ended()
        assert await idle.ended()
        assert not stopping.done()
        blocked.go.set()
        response = await asker.response()
        assert (response.body, response.headers["Connection"]) == (b"/slow", "close")
        await stopping
        with pytest.raises(OSError):
            await server.peer()


async def test_stop_waits_for_bodies_that_are_arriving(serve: Serve) -> None:
    async with serve(echo) as server:
        sized, chunked, slow = await server.peer(), await server.peer(), await server.peer()
        sized.send(post(b"body")[:-2])
        chunked.send(get("/", "Transfer-Encoding: chunked", method="POST") + b"2\r\nbo\r\n")
        slow.send(post(b"body")[:-4])
        await until(lambda: sum(one._parser.awaits_body for one in server.http.connections) == 3)  # type: ignore[attr-defined]
        stopping = asyncio.create_task(server.http.stop())
        await until(lambda: server.http.stopping)
        sized.send(b"dy")
        chunked.send(b"2\r\ndy\r\n0\r\n\r\n")
        for peer in (sized, chunked):
            response = await peer.response()
            assert (response.status, response.headers["Connection"]) == (200, "close")
            assert b'"body": "body"' in response.body
        assert not stopping.done()
        slow.send(b"body")
        assert (await slow.response()).status == 200
        await stopping


async def test_stop_does_not_wait_for_silent_clients(serve: Serve) -> None:
    """A TLS connection closes when both sides have sent close_notify. Some clients never send it."""
    app = StreamingApp()
    async with serve(app, Limits(linger_seconds=0.02, sweep_seconds=0.01)) as server:
        idle, halfway, watcher = [await server.peer() for _ in range(3)]
        halfway.send(b"GET / HT")
        watcher.send(get("/watch"))
        await watcher.head()
        idle.send(get())
        await idle.response()
        for peer in (idle, halfway, watcher):
            peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(5):
            await server.http.stop()
    assert app.ended == 1


async def test_stop_does_not_wait_for_idle_clients(serve: Serve) -> None:
    """Many clients keep idle connections that they do not read from."""
    async with serve(echo, Limits(linger_seconds=10)) as server:
        idle = await server.peer()
        idle.send(get())
        await idle.response()
        idle.writer.transport.pause_reading()  # type: ignore[attr-defined]
        (connection,) = server.http.connections
        connection.deadline -= 61
        async with asyncio.timeout(8):
            await server.http.stop()


async def test_stop_aborts_after_grace_period(serve: Serve) -> None:
    blocked = BlockedApp()
    async with serve(blocked) as server:
        peer = await server.peer()
        peer.send(get())
        await until(lambda: blocked.started)
        await server.http.stop(grace=0.05)
        assert await peer.ended()
        await until(lambda: blocked.cancelled)


async def test_failed_start_stops_the_sweeper() -> None:
    async with served(echo) as server:
        other = HttpServer(echo)
        with pytest.raises(OSError):
            await other.start("127.0.0.1", server.port, None)
        assert other._sweeper is None
