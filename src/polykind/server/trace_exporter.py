"""The export of spans to an OpenTelemetry collector: OTLP over gRPC, in batches, without waiting for the collector."""

from __future__ import annotations

import asyncio
import logging
import struct
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from polykind.coalescer import resolve
from polykind.codec.protobuf_wire import bytes_field, encode_utf8, varint_field
from polykind.grpc.grpc_call import GrpcError
from polykind.grpc.grpc_connection import GrpcConnection
from polykind.metrics.metrics import Metrics

log = logging.getLogger("polykind.tracing")

_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_SERVER_KIND = 2
_ERROR_STATUS = 2
# The limits and the interval are those of OpenTelemetry's batch span processor.
MAX_WAITING = 2048
MAX_BATCH = 512
INTERVAL_SECONDS = 5.0
_TIMEOUT_SECONDS = 10.0

Attributes = dict[str, str | int]


class FinishedSpan(NamedTuple):
    """A span that has ended. Times are in nanoseconds since 1970.

    `link` is the trace and the span of a client whose trace the span does not continue.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    link: tuple[bytes, bytes] | None
    name: str
    start: int
    end: int
    attributes: Attributes
    failed: bool


class TraceExporter:
    """Sends spans to `host`:`port`. If too many wait or the collector fails, spans are dropped and counted."""

    def __init__(
        self, host: str, port: int, resource: Attributes, metrics: Metrics, interval: float = INTERVAL_SECONDS
    ) -> None:
        self._host, self._port = host, port
        self._resource = b"".join(bytes_field(1, _attribute(name, value)) for name, value in resource.items())
        self._interval = interval
        self._waiting: deque[FinishedSpan] = deque()
        self._full = asyncio.Event()
        self._connection: GrpcConnection | None = None
        self._failing = False
        counter = metrics.counter(
            "polykind_trace_spans_total", "Spans by result: exported to the collector, or dropped.", ("result",)
        )
        self._exported, self._dropped = counter.of("exported"), counter.of("dropped")
        self._task = asyncio.create_task(self._run())

    def add(self, span: FinishedSpan) -> None:
        """Export a span later. Never waits."""
        if len(self._waiting) >= MAX_WAITING:
            self._dropped.add()
            return
        self._waiting.append(span)
        if len(self._waiting) >= MAX_BATCH:
            self._full.set()

    async def close(self) -> None:
        """Export the remaining spans, and close the connection."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        while self._waiting and not self._failing:
            await self._export_batch()
        if self._connection is not None:
            await self._connection.close()

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._interval):
                    await self._full.wait()
            except TimeoutError:
                pass
            self._full.clear()
            while self._waiting:
                await self._export_batch()

    async def _export_batch(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH))]
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._send(encode_request(self._resource, batch))
        except (OSError, TimeoutError, GrpcError) as error:
            self._dropped.add(len(batch))
            if not self._failing:
                log.error(
                    "tracing: cannot export spans to %s:%d, dropping them until it works: %s",
                    self._host,
                    self._port,
                    error,
                )
            self._failing = True
            return
        if self._failing:
            log.info("tracing: spans are exported to %s:%d again", self._host, self._port)
        self._failing = False
        self._exported.add(len(batch))

    async def _send(self, request: bytes) -> None:
        if self._connection is None or not self._connection.usable:
            self._connection = await GrpcConnection.open(self._host, self._port, None)
        response: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        call = self._connection.unary(_METHOD, request, partial(resolve, response))
        self._connection.flush()
        try:
            await response
        finally:
            if not call.ended:
                call.cancel()


def encode_request(resource: bytes, spans: Sequence[FinishedSpan]) -> bytes:
    """Return an ExportTraceServiceRequest with the spans of one resource."""
    scope = bytes_field(1, b"polykind")
    scope_spans = bytes_field(1, scope) + b"".join(bytes_field(2, _encode_span(span)) for span in spans)
    return bytes_field(1, bytes_field(1, resource) + bytes_field(2, scope_spans))


def _encode_span(span: FinishedSpan) -> bytes:
    parts = [bytes_field(1, span.trace_id), bytes_field(2, span.span_id)]
    if span.parent_id:
        parts.append(bytes_field(4, span.parent_id))
    parts += (bytes_field(5, encode_utf8(span.name)), varint_field(6, _SERVER_KIND))
    # Fixed 64-bit fields have the wire type 1.
    parts += (bytes((7 << 3 | 1,)), struct.pack("<Q", span.start), bytes((8 << 3 | 1,)), struct.pack("<Q", span.end))
    parts += [bytes_field(9, _attribute(name, value)) for name, value in span.attributes.items()]
    if span.link is not None:
        parts.append(bytes_field(13, bytes_field(1, span.link[0]) + bytes_field(2, span.link[1])))
    if span.failed:
        parts.append(bytes_field(15, varint_field(3, _ERROR_STATUS)))
    return b"".join(parts)


def _attribute(name: str, value: str | int) -> bytes:
    encoded = varint_field(3, value) if isinstance(value, int) else bytes_field(1, encode_utf8(value))
    return bytes_field(1, name.encode()) + bytes_field(2, encoded)
