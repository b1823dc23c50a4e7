"""The ceiling: our HTTP server with a handler that only returns given bytes.

python -m benches.bare_server CERT KEY FILE FOLDER

GET returns FILE. GET with ?watch streams. POST sends its body to every stream and responds when all have it. POST with
?store writes FILE into a store in FOLDER under a new key and responds with FILE. Prints its port.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
import sys
from pathlib import Path

import uvloop

from polykind.http.listener import HttpServer
from polykind.http.messages import Request, encode_chunk
from polykind.operations.responses import Response, Sink, Stream
from polykind.store.sqlite import SqliteStore


class Bare:
    def __init__(self, body: bytes, store: SqliteStore) -> None:
        self.answer = Response(200, body)
        self.sinks: list[Sink] = []
        self.body = body
        self.store = store
        self.stored = 0

    async def __call__(self, request: Request) -> Response | Stream:
        if request.query.startswith("store"):
            self.stored += 1
            await self.store.put(f"/bare/{self.stored}", self.body, expect=0)
            return self.answer
        if request.method == "POST":
            framed = encode_chunk(request.body)
            for sink in self.sinks:
                sink.send(framed)
            return Response(200, b"{}")
        if request.query.startswith("watch"):
            return Stream(self.sinks.append, lambda: None)
        return self.answer


async def serve(certificate: str, key: str, body: bytes, folder: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    store = SqliteStore(folder)
    await store.start()
    port = await HttpServer(Bare(body, store)).start("127.0.0.1", 0, tls)
    gc.collect()
    gc.freeze()
    print(port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1], sys.argv[2], Path(sys.argv[3]).read_bytes(), Path(sys.argv[4])))
