"""The trace of the current request, for the header `traceparent` of calls to webhooks (W3C Trace Context)."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol


class TraceSpan(Protocol):
    """The span of a request."""

    def traceparent(self) -> str:
        """Return the header that makes the receiver's spans children of this span."""


current_span: ContextVar[TraceSpan | None] = ContextVar("polykind_span", default=None)


def trace_headers() -> dict[str, str] | None:
    """Return the headers that continue the trace of the current request. Return None without tracing."""
    span = current_span.get()
    return None if span is None else {"traceparent": span.traceparent()}
