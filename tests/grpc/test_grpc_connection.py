"""gRPC over HTTP/2: header blocks, large messages both ways, and peers that misbehave."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from polykind.grpc import grpc_connection
from polykind.grpc.grpc_call import UNAVAILABLE, GrpcCall, GrpcError
from polykind.grpc.grpc_connection import GrpcConnection
from polykind.http2.header_encoding import encode_header
from polykind.store.etcd import rpc_messages
from tests.support.etcd import Etcd, etcd


def frame(kind: int, flags: int, number: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, number) + payload


Answer = Callable[[asyncio.StreamWriter], None]


@asynccontextmanager
async def peer(answer: Answer) -> AsyncIterator[GrpcConnection]:
    """Connect to a server that reads the connection preface, sends one response, and nothing more."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(rpc_messages.RANGE.encode())
        answer(writer)
        while await reader.read(65536):
            pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    connection = await GrpcConnection.open("127.0.0.1", server.sockets[0].getsockname()[1], None)
    try:
        yield connection
    finally:
        await connection.close()
        server.close()
        await asyncio.sleep(0.01)


def ask(connection: GrpcConnection, method: str, request: bytes) -> tuple[GrpcCall, asyncio.Future[bytes]]:
    answer: asyncio.Future[bytes] = connection.loop.create_future()

    def on_response(response: bytes | GrpcError) -> None:
        if isinstance(response, GrpcError):
            answer.set_exception(response)
        else:
            answer.set_result(response)

    return connection.unary(method, request, on_response), answer


async def failure(connection: GrpcConnection) -> GrpcError:
    _, answer = ask(connection, rpc_messages.RANGE, b"")
    with pytest.raises(GrpcError) as caught:
        async with asyncio.timeout(5):
            await answer
    return caught.value


class TestMisbehavingServers:
    async def test_close_aborts_if_server_does_not_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(grpc_connection, "_CLOSE_SECONDS", 0.05)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            await left.wait()
            writer.transport.abort()

        left = asyncio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        connection = await GrpcConnection.open("127.0.0.1", server.sockets[0].getsockname()[1], None)
        _, answer = ask(connection, rpc_messages.RANGE, b"")
        connection._write(bytes(50_000_000))
        async with asyncio.timeout(5):
            await connection.close()
        with pytest.raises(GrpcError, match="the connection was lost"):
            await answer
        left.set()
        server.close()
        await asyncio.sleep(0.01)

    async def test_server_without_http2(self) -> None:
        async with peer(lambda w: w.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as connection:
            error = await failure(connection)
            assert (error.status, error.details) == (
                UNAVAILABLE,
                "the server does not speak HTTP/2: a frame has 4740180 bytes",
            )

    async def test_server_that_disconnects(self) -> None:
        async with peer(lambda w: w.close()) as connection:
            error = await failure(connection)
            assert (error.status, error.sent) == (UNAVAILABLE, True)
            with pytest.raises(GrpcError, match="the connection is closed"):
                connection.call(rpc_messages.RANGE)

    async def test_goaway_marks_unprocessed_calls_as_not_sent(self) -> None:
        async with peer(lambda w: w.write(frame(7, 0, 0, struct.pack(">II", 0, 0)))) as connection:
            error = await failure(connection)
            assert (error.status, error.sent, error.details) == (UNAVAILABLE, False, "the server is shutting down")

    @pytest.mark.parametrize(("code", "sent"), [(7, False), (2, True)])
    async def test_server_that_resets_a_call(self, code: int, sent: bool) -> None:
        async with peer(lambda w: w.write(frame(3, 0, 1, code.to_bytes(4, "big")))) as connection:
            assert (await failure(connection)).sent is sent

    async def test_fragmented_trailers_with_padding(self) -> None:
        trailers = encode_header(b"grpc-status", b"9") + encode_header(b"grpc-message", b"a%20b%C3%A9")
        padded = b"\x03" + b"\x88" + b"pad"
        first = frame(1, 8 | 4, 1, padded)
        rest = frame(1, 1 | 32, 1, b"\0\0\0\0\0" + trailers[:5]) + frame(9, 4, 1, trailers[5:])
        async with peer(lambda w: w.write(first + rest)) as connection:
            error = await failure(connection)
            assert (error.status, error.details) == (9, "a bé")

    async def test_server_without_grpc(self) -> None:
        async with peer(lambda w: w.write(frame(1, 4, 1, b"\x8d"))) as connection:
            assert (await failure(connection)).details == "the server does not speak gRPC"

    async def test_silent_server_is_disconnected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(grpc_connection, "_PING_SECONDS", 0.05)
        monkeypatch.setattr(grpc_connection, "_PONG_SECONDS", 0.05)
        async with peer(lambda w: None) as connection:
            assert (await failure(connection)).details == "the server does not respond to PING"

    async def test_ping_is_acknowledged(self) -> None:
        heard: list[bytes] = []
        done = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(frame(4, 0, 0) + frame(6, 0, 0, b"12345678"))
            heard.append(await reader.readuntil(b"12345678"))
            done.set()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        connection = await GrpcConnection.open("127.0.0.1", server.sockets[0].getsockname()[1], None)
        async with asyncio.timeout(5):
            await done.wait()
        assert heard[0].endswith(frame(4, 1, 0) + frame(6, 1, 0, b"12345678"))
        await connection.close()
        server.close()
        await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


class TestEtcd:
    async def test_messages_larger_than_the_flow_control_window(self, cluster: Etcd) -> None:
        connection = await GrpcConnection.open("127.0.0.1", cluster.members[0].port, None)
        values = {f"/big/{n}".encode(): bytes([n]) * (300_000 * n) for n in range(1, 5)}

        async def put(key: bytes, value: bytes) -> None:
            assert rpc_messages.parse_txn(
                await ask(connection, rpc_messages.TXN, rpc_messages.put_request(key, value, 0))[1]
            ).succeeded

        await asyncio.gather(*(put(key, value) for key, value in values.items()))
        answer = await ask(
            connection, rpc_messages.RANGE, rpc_messages.range_request(rpc_messages.prefix_range("/big/"))
        )[1]
        assert {item.key.encode(): item.value for item in rpc_messages.parse_range(answer).items} == values
        await connection.close()

    async def test_etcd_error_messages(self, cluster: Etcd) -> None:
        connection = await GrpcConnection.open("127.0.0.1", cluster.members[0].port, None)
        with pytest.raises(GrpcError, match="etcdserver: mvcc: required revision is a future revision"):
            await ask(connection, rpc_messages.RANGE, rpc_messages.get_request(b"/x", at=10**9))[1]
        with pytest.raises(GrpcError, match="unknown method Nothing"):
            await ask(connection, "/etcdserverpb.KV/Nothing", b"")[1]
        await connection.close()

    async def test_hundreds_of_concurrent_calls(self, cluster: Etcd) -> None:
        connection = await GrpcConnection.open("127.0.0.1", cluster.members[0].port, None)
        calls = [ask(connection, rpc_messages.RANGE, rpc_messages.get_request(b"/x")) for _ in range(500)]
        for call, _ in calls[::2]:
            call.cancel()
        responses = await asyncio.gather(*(response for _, response in calls), return_exceptions=True)
        assert [isinstance(response, bytes) for response in responses] == [False, True] * 250
        await connection.close()
