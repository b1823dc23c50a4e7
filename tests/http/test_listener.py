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
from polykind.http.messages import Request, Response, Sink, Stream, encode_chunk
from polykind.pki import certificates
from tests.http.peer import Served, get, post, served, until

Serve = Callable[..., AbstractAsyncContextManager[Served]]
Contexts = tuple[ssl.SSLContext, ssl.SSLContext]


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> Contexts:
    """The server's and the client's side of TLS."""
    folder: Path = tmp_path_factory.mktemp("pki")
    certificate, key, ca = certificates.ensure(folder, ["localhost", "127.0.0.1"], datetime.now(UTC))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(ca))


@pytest.fixture(params=["plain", "tls"])
def serve(request: pytest.FixtureRequest, contexts: Contexts) -> Serve:
    tls = contexts if request.param == "tls" else None

    def start(app: App, limits: Limits | None = None) -> AbstractAsyncContextManager[Served]:
        return served(app, limits, tls)

    return start


async def echo(request: Request) -> Response:
    """What was asked, as JSON."""
    told = {"method": request.method, "path": request.path, "query": request.query, "body": request.body.decode()}
    return Response(200, json.dumps(told).encode())


async def late_echo(request: Request) -> Response:
    """The same after a while: through a task."""
    for _ in range(3):
        await asyncio.sleep(0)
    return await echo(request)


class Held:
    """An application that answers when it is told to, and says what happened to it."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.began = 0
        self.cancelled = 0

    async def __call__(self, request: Request) -> Response:
        self.began += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Response(200, request.path.encode())


class Streaming:
    """An application whose answers go on: a sink for each client that came."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []
        self.ended = 0

    async def __call__(self, request: Request) -> Response | Stream:
        if request.path != "/watch":
            return await echo(request)
        return Stream(self.sinks.append, self._end)

    def _end(self) -> None:
        self.ended += 1


# ---------------------------------------------------------------------- requests and answers


@pytest.mark.parametrize("app", [echo, late_echo], ids=["at once", "by a task"])
async def test_a_connection_is_used_again(serve: Serve, app: App) -> None:
    async with serve(app) as server:
        peer = await server.peer()
        for number in range(3):
            peer.send(post(b"hello", path=f"/a/{number}?x=1&y"))
            answer = await peer.answer()
            assert answer.status == 200
            assert json.loads(answer.body) == {
                "method": "POST",
                "path": f"/a/{number}",
                "query": "x=1&y",
                "body": "hello",
            }
            assert "Connection" not in answer.headers


async def test_the_head_tells_what_the_reference_tells(serve: Serve) -> None:
    async with serve(echo) as server:
        first, second = await server.ask(get()), await server.ask(get())
        named = await server.ask(get("/", "Audit-ID: mine"))
    assert first.headers["Cache-Control"] == "no-cache, private"
    assert first.headers["Content-Type"] == "application/json"
    assert first.headers["Date"].endswith(" GMT")
    assert first.headers["Audit-Id"] != second.headers["Audit-Id"]
    assert named.headers["Audit-Id"] == "mine"


@pytest.mark.parametrize("app", [echo, late_echo], ids=["at once", "by a task"])
async def test_a_client_that_asks_for_it_is_hung_up_on(serve: Serve, app: App) -> None:
    async with serve(app) as server:
        for request in (get("/", "Connection: close"), b"GET / HTTP/1.0\r\n\r\n"):
            peer = await server.peer()
            peer.send(request)
            answer = await peer.answer()
            assert answer.headers["Connection"] == "close"
            assert await peer.ended()


@pytest.mark.parametrize("app", [echo, late_echo], ids=["at once", "by a task"])
async def test_requests_sent_ahead_are_answered_in_order(serve: Serve, app: App) -> None:
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(b"".join(get(f"/{i}") for i in range(50)))
        assert [json.loads((await peer.answer()).body)["path"] for _ in range(50)] == [f"/{i}" for i in range(50)]


async def test_thousands_of_requests_sent_ahead_of_a_slow_one(serve: Serve) -> None:
    """They wait in a queue; working it off must not nest."""
    held = Held()

    async def app(request: Request) -> Response:
        return await (held(request) if request.path == "/slow" else echo(request))

    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/slow") + get("/x") * 2000)
        await until(lambda: held.began)
        held.go.set()
        assert (await peer.answer()).body == b"/slow"
        for _ in range(2000):
            assert (await peer.answer()).status == 200


async def test_of_repeated_headers_the_first_counts(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, request.headers[b"accept"])

    async with serve(app) as server:
        assert (await server.ask(get("/", "Accept: a", "ACCEPT: b"))).body == b"a"


async def test_the_answer_to_head_has_a_length_and_no_body(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, [b"x" * 1_000_000] * 3)

    async with serve(app) as server:
        peer = await server.peer()
        for _ in range(2):
            peer.send(get(method="HEAD"))
            answer = await peer.answer(bodiless=True)
            assert answer.headers["Content-Length"] == "3000000"


async def test_chunked_bodies(serve: Serve) -> None:
    async with serve(echo) as server:
        peer = await server.peer()
        peer.send(get("/", "Transfer-Encoding: chunked", method="POST") + b"3\r\nabc\r\n")
        peer.send(b"4;ext=1\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n" + get("/next"))
        assert json.loads((await peer.answer()).body)["body"] == "abcdefg"
        assert json.loads((await peer.answer()).body)["path"] == "/next"


async def test_who_expects_100_continue_gets_it(serve: Serve) -> None:
    async with serve(echo) as server:
        peer = await server.peer()
        peer.send(get("/", "Content-Length: 2", "Expect: 100-continue", method="PUT"))
        assert (await peer.head())[0] == 100
        peer.send(b"hi")
        assert json.loads((await peer.answer()).body)["body"] == "hi"


async def test_100_continue_waits_for_the_answers_before_it(serve: Serve) -> None:
    held = Held()
    async with serve(held) as server:
        peer = await server.peer()
        peer.send(get("/first") + get("/second", "Content-Length: 2", "Expect: 100-continue", method="PUT"))
        await until(lambda: held.began)
        held.go.set()
        assert (await peer.answer()).body == b"/first"
        assert (await peer.head())[0] == 100
        peer.send(b"hi")
        assert (await peer.answer()).body == b"/second"


async def test_an_error_of_the_application_is_a_500_and_is_logged(serve: Serve, caplog: Any) -> None:
    async def app(request: Request) -> Response:
        if request.path == "/late":
            await asyncio.sleep(0)
        raise KeyError("secret")

    async with serve(app) as server:
        peer = await server.peer()
        for path in ("/at-once", "/late"):
            peer.send(get(path))
            answer = await peer.answer()
            assert (answer.status, json.loads(answer.body)["reason"]) == (500, "InternalError")
            assert b"secret" not in answer.body
    failed = [r for r in caplog.records if "a request failed" in r.message]
    assert len(failed) == 2
    caplog.clear()


async def test_a_refusal_of_the_application_is_a_status(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        raise errors.NotFoundError("foos", "example.com", "x")

    async with serve(app) as server:
        answer = await server.ask(get())
    assert (answer.status, json.loads(answer.body)["message"]) == (404, 'foos.example.com "x" not found')


# ---------------------------------------------------------------------- limits


BROKEN = {
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
    "bad chunk size": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "endless chunk size": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_what_is_no_http_is_a_bad_request_and_the_end(serve: Serve, name: str) -> None:
    async with serve(echo, Limits(farewell=0.02)) as server:
        peer = await server.peer()
        peer.send(BROKEN[name])
        answer = await peer.answer()
        assert answer.status == 400
        assert json.loads(answer.body)["reason"] == "BadRequest"
        assert answer.headers["Connection"] == "close"
        assert await peer.ended()
        assert (await server.ask(get())).status == 200


async def test_who_wants_to_switch_protocols_is_answered_in_this_one(serve: Serve) -> None:
    async with serve(echo) as server:
        peer = await server.peer()
        peer.send(get("/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x") + b"PRI * HTTP")
        answer = await peer.answer()
        assert (answer.status, answer.headers["Connection"]) == (200, "close")
        assert await peer.ended()


async def test_garbage_behind_a_request_does_not_spoil_its_answer(serve: Serve) -> None:
    held = Held()
    async with serve(held, Limits(farewell=0.02)) as server:
        peer = await server.peer()
        peer.send(get("/good") + b"\x00garbage\r\n\r\n")
        await until(lambda: held.began)
        held.go.set()
        assert (await peer.answer()).body == b"/good"
        assert (await peer.answer()).status == 400
        assert await peer.ended()


@pytest.mark.parametrize(
    "request_",
    [
        post(b"x" * 1001),
        get("/", "Content-Length: 99999999999999999999999", method="POST"),
        get("/", "Transfer-Encoding: chunked", method="POST") + (b"100\r\n" + b"x" * 256 + b"\r\n") * 5,
    ],
    ids=["told and sent", "told", "not told"],
)
async def test_a_body_that_is_too_long(serve: Serve, request_: bytes) -> None:
    async with serve(echo, Limits(body=1000, farewell=0.02)) as server:
        peer = await server.peer()
        peer.send(request_)
        answer = await peer.answer()
        assert answer.status in (400, 413)
        if answer.status == 413:
            assert json.loads(answer.body)["message"] == "Request entity too large: limit is 1000"
        assert await peer.ended()
        assert (await server.ask(post(b"x" * 1000))).status == 200


async def test_who_expects_100_continue_for_too_long_a_body_is_refused_first(serve: Serve) -> None:
    async with serve(echo, Limits(body=1000, farewell=0.02)) as server:
        answer = await server.ask(get("/", "Content-Length: 1001", "Expect: 100-continue", method="PUT"))
    assert answer.status == 413


@pytest.mark.parametrize(
    "request_",
    [get("/" + "x" * 3000), get("/", "A: " + "x" * 3000), get("/", *(f"H{i}: x" for i in range(1000)))],
    ids=["path", "header", "headers"],
)
async def test_a_head_that_is_too_long(serve: Serve, request_: bytes) -> None:
    async with serve(echo, Limits(head=2000, farewell=0.02)) as server:
        peer = await server.peer()
        peer.send(request_)
        assert (await peer.answer()).status == 431
        assert await peer.ended()


QUICK = Limits(arrival=0.05, sweep=0.01)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", post(b"abc")[:-1], get()[:-2]])
async def test_a_request_that_does_not_arrive_is_not_waited_for(serve: Serve, sent: bytes) -> None:
    async with serve(echo, QUICK) as server:
        peer = await server.peer()
        peer.send(sent)
        assert await peer.ended()


async def test_a_second_request_that_does_not_arrive_is_not_waited_for(serve: Serve) -> None:
    async with serve(late_echo, QUICK) as server:
        peer = await server.peer()
        peer.send(get("/one") + b"GET /two HT")
        assert (await peer.answer()).status == 200
        assert await peer.ended()


async def test_an_idle_connection_is_closed(serve: Serve) -> None:
    async with serve(echo, Limits(idle=0.05, sweep=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        assert (await peer.answer()).status == 200
        assert await peer.ended()


async def test_more_connections_than_allowed_are_not_taken(serve: Serve) -> None:
    async with serve(echo, Limits(connections=2)) as server:
        peers = [await server.peer() for _ in range(2)]
        for peer in peers:
            peer.send(get())
            assert (await peer.answer()).status == 200
        late = await server.peer()
        assert await late.ended()
        peers[0].cut()
        await until(lambda: len(server.http.connections) == 1)
        assert (await server.ask(get())).status == 200


async def test_an_answer_that_takes_too_long_is_a_504(serve: Serve) -> None:
    held = Held()
    async with serve(held, Limits(request=0.05, sweep=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        answer = await peer.answer()
        assert (answer.status, answer.headers["Content-Type"]) == (504, "text/plain; charset=utf-8")
        assert json.loads(answer.body) == {
            "metadata": {},
            "status": "Failure",
            "message": "Timeout: request did not complete within the allotted timeout",
            "reason": "Timeout",
            "details": {},
            "code": 504,
        }
        assert await peer.ended()
    assert held.cancelled == 1


async def test_a_request_may_set_itself_a_shorter_time(serve: Serve) -> None:
    held = Held()

    async def app(request: Request) -> Response:
        request.timeout = 0.05
        return await held(request)

    async with serve(app, Limits(sweep=0.01)) as server:
        assert (await server.ask(get())).status == 504


async def test_requests_behind_a_slow_one_do_not_shorten_its_time(serve: Serve) -> None:
    held = Held()
    async with serve(held, Limits(arrival=0.3, sweep=0.01)) as server:
        peer = await server.peer()
        peer.send(get("/slow") + b"GET /next HTTP/1.1\r\n")
        await asyncio.sleep(0.4)
        held.go.set()
        assert (await peer.answer()).body == b"/slow"
        peer.send(b"\r\n")
        assert (await peer.answer()).body == b"/next"


async def test_a_client_that_leaves_cancels_what_is_done_for_it(serve: Serve) -> None:
    held = Held()
    async with serve(held) as server:
        peer = await server.peer()
        peer.send(get())
        await until(lambda: held.began)
        peer.cut()
        await until(lambda: held.cancelled)
        assert not server.http.connections


# ---------------------------------------------------------------------- long answers


async def test_a_long_answer_waits_for_a_slow_reader(serve: Serve) -> None:
    """What the reader has not taken is not copied: the transport holds a piece or two, not the whole."""
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
        assert len((await peer.answer()).body) == 32_000_000


async def test_a_long_answer_to_a_client_that_stops_reading_is_given_up(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 32_000_000)

    async with serve(app, Limits(request=0.1, sweep=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        await peer.head()
        await until(lambda: not server.http.connections)


async def test_a_long_answer_may_take_long_if_the_client_goes_on_reading(serve: Serve) -> None:
    async def app(request: Request) -> Response:
        return Response(200, b"x" * 16_000_000)

    async with serve(app, Limits(request=1.0, arrival=0.05, sweep=0.01)) as server:
        peer = await server.peer()
        peer.send(get())
        await peer.head()
        for _ in range(16):
            await asyncio.sleep(0.01)
            await peer.reader.readexactly(1_000_000)


# ---------------------------------------------------------------------- streams


async def test_a_stream_keeps_the_order_and_ends_cleanly(serve: Serve) -> None:
    app = Streaming()
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
        assert json.loads((await peer.answer()).body)["path"] == "/again"


async def test_a_stream_for_head_is_a_head_alone(serve: Serve) -> None:
    app = Streaming()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch", method="HEAD") + get("/next"))
        assert (await peer.answer(bodiless=True)).status == 200
        assert json.loads((await peer.answer()).body)["path"] == "/next"
    assert (app.sinks, app.ended) == ([], 1)


async def test_a_stream_to_a_client_that_wants_no_more_closes_at_its_end(serve: Serve) -> None:
    app = Streaming()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch", "Connection: close"))
        assert (await peer.head())[1]["Connection"] == "close"
        await until(lambda: app.sinks)
        app.sinks[0].finish()
        assert await peer.chunk() == b""
        assert await peer.ended()


async def test_a_request_behind_a_stream_is_answered_after_it(serve: Serve) -> None:
    app = Streaming()
    async with serve(app, QUICK) as server:
        peer = await server.peer()
        peer.send(get("/watch") + get("/next"))
        await peer.head()
        await until(lambda: app.sinks)
        await asyncio.sleep(0.1)
        app.sinks[0].send(encode_chunk(b"still there"))
        app.sinks[0].finish()
        assert [await peer.chunk(), await peer.chunk()] == [b"still there", b""]
        assert json.loads((await peer.answer()).body)["path"] == "/next"


async def test_a_stream_that_waited_for_its_reader_once_lives_on(serve: Serve) -> None:
    app = Streaming()
    async with serve(app, Limits(request=0.1, sweep=0.01)) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        await until(lambda: app.sinks)
        app.sinks[0].send(encode_chunk(b"x" * 8_000_000))
        waiting = asyncio.create_task(app.sinks[0].drained())
        assert len(await peer.chunk()) == 8_000_000
        await waiting
        await asyncio.sleep(0.2)
        app.sinks[0].send(encode_chunk(b"y"))
        assert await peer.chunk() == b"y"


async def test_a_stream_that_waits_for_a_reader_in_vain_is_cut(serve: Serve) -> None:
    app = Streaming()
    async with serve(app, Limits(request=0.05, sweep=0.01)) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        await until(lambda: app.sinks)
        # Under TLS the first write goes to the socket's buffer whole, and only the next one is felt.
        for _ in range(2):
            app.sinks[0].send(encode_chunk(b"x" * 8_000_000))
        with pytest.raises(ConnectionError):
            await app.sinks[0].drained()
    assert app.ended == 1


async def test_a_deaf_watcher_is_cut_off_and_others_are_not(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "polykind.http")
    app = Streaming()
    async with serve(app, Limits(unread=1_000_000)) as server:
        deaf, keen = await server.peer(), await server.peer()
        for peer in (deaf, keen):
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
    assert "a watcher was cut off: it left more than 1000000 bytes unread" in caplog.text


async def test_an_aborted_stream_does_not_look_finished(serve: Serve) -> None:
    app = Streaming()
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


async def test_a_stream_learns_that_its_client_is_gone(serve: Serve) -> None:
    app = Streaming()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        peer.cut()
        await until(lambda: app.ended)


async def test_garbage_from_a_watcher_ends_its_stream(serve: Serve) -> None:
    app = Streaming()
    async with serve(app) as server:
        peer = await server.peer()
        peer.send(get("/watch"))
        await peer.head()
        peer.send(b"\x00\x00\r\n\r\n")
        assert await peer.ended()
        assert app.ended == 1


# ---------------------------------------------------------------------- the end


async def test_stopping_ends_streams_and_lets_answers_finish(serve: Serve) -> None:
    held, streaming = Held(), Streaming()

    async def app(request: Request) -> Response | Stream:
        return await (streaming(request) if request.path == "/watch" else held(request))

    async with serve(app) as server:
        watcher, asker, idle = await server.peer(), await server.peer(), await server.peer()
        watcher.send(get("/watch"))
        await watcher.head()
        asker.send(get("/slow"))
        await until(lambda: held.began and streaming.sinks)
        stopping = asyncio.create_task(server.http.stop())
        assert await watcher.chunk() == b""
        assert await watcher.ended()
        assert await idle.ended()
        assert not stopping.done()
        held.go.set()
        answer = await asker.answer()
        assert (answer.body, answer.headers["Connection"]) == (b"/slow", "close")
        await stopping
        with pytest.raises(OSError):
            await server.peer()


async def test_stopping_does_not_wait_for_clients_that_say_nothing(serve: Serve) -> None:
    """Under TLS a connection is closed when both sides have said so; some never do."""
    app = Streaming()
    async with serve(app, Limits(farewell=0.02, sweep=0.01)) as server:
        idle, halfway, watcher = [await server.peer() for _ in range(3)]
        halfway.send(b"GET / HT")
        watcher.send(get("/watch"))
        await watcher.head()
        idle.send(get())
        await idle.answer()
        for peer in (idle, halfway, watcher):
            peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(5):
            await server.http.stop()
    assert app.ended == 1


async def test_stopping_does_not_wait_for_clients_that_have_been_idle(serve: Serve) -> None:
    """Many keep connections for later, and do not listen meanwhile."""
    async with serve(echo, Limits(farewell=30)) as server:
        idle = await server.peer()
        idle.send(get())
        await idle.answer()
        idle.writer.transport.pause_reading()  # type: ignore[attr-defined]
        (connection,) = server.http.connections
        connection.deadline -= 61
        async with asyncio.timeout(8):
            await server.http.stop()


async def test_stopping_does_not_wait_for_ever(serve: Serve) -> None:
    held = Held()
    async with serve(held) as server:
        peer = await server.peer()
        peer.send(get())
        await until(lambda: held.began)
        await server.http.stop(grace=0.05)
        assert await peer.ended()
        await until(lambda: held.cancelled)


async def test_a_port_that_is_taken_leaves_nothing_running() -> None:
    async with served(echo) as server:
        other = HttpServer(echo)
        with pytest.raises(OSError):
            await other.start("127.0.0.1", server.port, None)
        assert other._sweeper is None
