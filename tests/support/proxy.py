"""A TCP proxy on loopback that can go silent like a partitioned network, or become slow."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Proxy:
    """Relay connections to a port of a host. While cut, no bytes pass; once healed, the connections continue."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._host, self._target = host, port
        self._open = asyncio.Event()
        self._open.set()
        self._relays: set[asyncio.Task[None]] = set()
        self.port = 0
        self.delay = 0.0
        """Seconds by which bytes are delayed in each direction."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        self._open.clear()

    def heal(self) -> None:
        self._open.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        try:
            inward, outward = await asyncio.open_connection(self._host, self._target)
        except OSError:
            writer.transport.abort()
            return
        for source, sink in ((reader, outward), (inward, writer)):
            task = asyncio.create_task(self._relay(source, sink))
            self._relays.add(task)
            task.add_done_callback(self._relays.discard)

    async def _relay(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._open.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.transport.abort()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._open.set()
        tasks = list(self._relays)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
