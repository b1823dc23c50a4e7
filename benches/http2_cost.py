"""CPU time of the server for GETs and watch events over HTTP/2, relative to HTTP/1.1.

python -m benches.http2_cost [watches]
"""

from __future__ import annotations

import asyncio
import json
import re
import select
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from benches.server_ratios import show
from tests.robustness.http2_client import Http2Client, head, request, window
from tests.robustness.probe import cpu_seconds
from tests.support import raw
from tests.support.client import Client
from tests.support.server import ServerProcess

ITEM = "/api/v1/namespaces/default"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{CONFIG_MAPS}?watch=1&resourceVersion=0"
REQUESTS, TURNS, EVENTS, STREAMS = 3_000, 3, 20, 100


def cpu_us(server: ServerProcess, run: Callable[[], object], count: int) -> float:
    """Return the server's CPU time for each of `count` responses, in microseconds."""
    before = cpu_seconds(server.pid)
    run()
    return (cpu_seconds(server.pid) - before) / count * 1e6


class Http1Gets:
    """GETs one after the other on an HTTP/1.1 connection."""

    def __init__(self, server: ServerProcess) -> None:
        self._socket = raw.connect(server)
        self._request = raw.head(server, b"GET", ITEM.encode(), close=False)

    def run(self) -> None:
        for _ in range(REQUESTS):
            self._socket.sendall(self._request)
            received = b""
            while b"\r\n\r\n" not in received:
                received += self._socket.recv(65536)
            first, _, body = received.partition(b"\r\n\r\n")
            found = re.search(rb"Content-Length: (\d+)", first)
            assert found is not None
            while len(body) < int(found[1]):
                body += self._socket.recv(65536)


class Http2Gets:
    """GETs on an HTTP/2 connection, `at_once` of them in flight."""

    def __init__(self, server: ServerProcess, at_once: int) -> None:
        self._client = Http2Client(server)
        self._block = head(server, b"GET", ITEM.encode())
        self._next_id = 1
        self._at_once = at_once

    def run(self) -> None:
        client = self._client
        client.send(window(0, REQUESTS * 10_000), 0)
        for _ in range(REQUESTS // self._at_once):
            ids = range(self._next_id, self._next_id + 2 * self._at_once, 2)
            self._next_id = ids.stop
            client.converse([b"".join(request(stream_id, self._block) for stream_id in ids)], until=(ids.stop - 1) // 2)


def write_events(server: ServerProcess, turn: str) -> None:
    async def create() -> None:
        async with Client(server.url, server.token) as client:
            for number in range(EVENTS):
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{turn}-{number}"}}
                reply = await client.call("POST", CONFIG_MAPS, json.dumps({**body, "data": {"k": "x" * 500}}).encode())
                assert reply.status == 201, reply.body

    asyncio.run(create())


def http1_fan_out(server: ServerProcess, watches: int) -> float:
    with ExitStack() as stack:
        sockets: list[socket.socket] = []
        for _ in range(watches):
            sockets.append(stack.enter_context(raw.connect(server)))
            sockets[-1].sendall(raw.head(server, b"GET", WATCH.encode(), close=False))
        poller, by_number = select.epoll(), {client.fileno(): client for client in sockets}
        for client in sockets:
            while b"\r\n\r\n" not in client.recv(65536):
                pass
            client.setblocking(False)
            poller.register(client, select.EPOLLIN)

        def run() -> None:
            write_events(server, "one")
            left = watches * EVENTS
            while left > 0:
                for number, _ in poller.poll(5):
                    try:
                        left -= by_number[number].recv(1 << 20).count(b'"name":"one-')
                    except BlockingIOError:
                        continue

        return cpu_us(server, run, watches * EVENTS)


def http2_fan_out(server: ServerProcess, watches: int) -> float:
    with ExitStack() as stack:
        clients = [stack.enter_context(closing(Http2Client(server))) for _ in range(watches // STREAMS)]
        block = head(server, b"GET", WATCH.encode())
        for client in clients:
            client.send(window(0, 1 << 30) + b"".join(request(2 * number + 1, block) for number in range(STREAMS)))
        before = sum(client.events for client in clients)

        def run() -> None:
            write_events(server, "two")
            while sum(client.events for client in clients) - before < watches * EVENTS:
                for client in clients:
                    client.receive()

        return cpu_us(server, run, watches * EVENTS)


def main() -> None:
    watches = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "data") as server:
        gets: dict[str, Http1Gets | Http2Gets] = {"HTTP/1.1": Http1Gets(server)}
        gets |= {"one at a time": Http2Gets(server, 1), "ten at once": Http2Gets(server, 10)}
        for each in gets.values():
            each.run()
        turns = [[cpu_us(server, each.run, REQUESTS) for each in gets.values()] for _ in range(TURNS)]
        first, *others = (sorted(times)[TURNS // 2] for times in zip(*turns, strict=True))
        for name, time in zip(list(gets)[1:], others, strict=True):
            show(f"GET CPU us, {name}", f"{time:.1f}", f"{first:.1f}", time / first)
        ours, ceiling = http2_fan_out(server, watches), http1_fan_out(server, watches)
        show(f"event CPU us, {watches} watches", f"{ours:.1f}", f"{ceiling:.1f}", ours / ceiling)
        print(f"connections: {watches // STREAMS} instead of {watches}")


if __name__ == "__main__":
    main()
