"""Handling of a host's HTTP requests, independent of the HTTP server: reviews, health checks and metrics."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from bisect import bisect_left
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from polykind.declare.library import Library
from polykind.toolkit.hosting.review_response import InvalidReviewError, respond

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0)
MAX_BYTES = 64 * 1024 * 1024
"""The maximum size of a review in bytes."""
TIMEOUT_SECONDS = 30.0
"""The API server's timeout for a conversion webhook, in seconds."""
THREADS = 4
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

log = logging.getLogger(__name__)


class HostMetrics:
    """Counts reviews by result: `converted`, `failed` (a conversion failed) or `refused` (not a ConversionReview)."""

    def __init__(self) -> None:
        self.reviews = {"converted": 0, "failed": 0, "refused": 0}
        self.objects = 0
        """The number of converted objects."""
        self.seconds = 0.0
        self._buckets = [0] * (len(_BUCKETS) + 1)

    def add(self, result: str, seconds: float, objects: int = 0) -> None:
        self.reviews[result] += 1
        self.objects += objects
        self.seconds += seconds
        self._buckets[bisect_left(_BUCKETS, seconds)] += 1

    def render(self) -> bytes:
        """Return the metrics in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

        reviews = CounterMetricFamily(
            "polykind_host_reviews", "ConversionReviews by how they ended.", labels=["result"]
        )
        for result, number in self.reviews.items():
            reviews.add_metric([result], number)
        yield reviews
        yield CounterMetricFamily("polykind_host_converted_objects", "Objects converted.", value=self.objects)
        bounds = [*map(str, _BUCKETS), "+Inf"]
        buckets = [(bound, float(count)) for bound, count in zip(bounds, accumulate(self._buckets), strict=True)]
        yield HistogramMetricFamily(
            "polykind_host_review_seconds", "How long reviews took.", buckets=buckets, sum_value=self.seconds
        )


@dataclass(frozen=True, slots=True)
class HostResponse:
    """An HTTP response of the host."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Readiness:
    """The readiness of a host. `ready` is true if the host can convert reviews. `text` is the response of /readyz."""

    ready: bool
    text: str


ReviewFunction = Callable[[bytes], Awaitable[HostResponse | None]]


class ReviewHandler:
    """Handles the HTTP requests that a webhook host receives. A POST to any path is a ConversionReview.

    Conversions run in threads, so they do not block the event loop.
    """

    def __init__(
        self,
        converters: Iterable[Any],
        *,
        most_bytes: int = MAX_BYTES,
        seconds: float = TIMEOUT_SECONDS,
        threads: int = THREADS,
        readiness: Callable[[], Readiness] = lambda: Readiness(True, "ok"),
        wrap: Callable[[ReviewFunction], ReviewFunction] = lambda review: review,
    ) -> None:
        """`converters` are converter objects, such as Conversions or functions.

        `most_bytes` is the maximum size of a review. `wrap` receives the function that handles reviews and returns the
        function to use, for example to inject faults. Raise ValueError if a converter cannot be hosted.
        """
        self.libraries = as_libraries(converters)
        self.metrics = HostMetrics()
        self._review = wrap(self.convert)
        self._max_bytes, self._timeout, self._threads = most_bytes, seconds, threads
        self._readiness = readiness
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """Stop the threads as soon as their conversions have ended. Do not wait for them."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    async def handle(
        self, method: str, path: str, length: int | None, chunks: AsyncIterable[bytes]
    ) -> HostResponse | None:
        """Return the response to a request, or None if the server must close the connection without a response.

        `length` is the value of the Content-Length header, and `chunks` yields the body.
        """
        if method == "POST":
            body = await self._body(length, chunks)
            return body if isinstance(body, HostResponse) else await self._review(body)
        if method not in ("GET", "HEAD"):
            return HostResponse(405, b"send a ConversionReview by POST\n", headers={"Allow": "GET, HEAD, POST"})
        page = path.rstrip("/").rpartition("/")[2]
        if page == "healthz":
            return HostResponse(200, b"ok")
        if page == "readyz":
            found = self._readiness()
            return HostResponse(200 if found.ready else 503, found.text.encode())
        if page == "metrics":
            return HostResponse(200, self.metrics.render(), "text/plain; version=0.0.4; charset=utf-8")
        message = b"send a ConversionReview by POST; GET serves /healthz, /readyz and /metrics\n"
        return HostResponse(405, message, headers={"Allow": "POST"})

    async def convert(self, body: bytes) -> HostResponse:
        """Convert a review. If a conversion fails, log the failure and report it in a response with HTTP status 200."""
        started = time.monotonic()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="polykind-conversion")
        try:
            async with asyncio.timeout(self._timeout):
                loop = asyncio.get_running_loop()
                response_body, failure, count = await loop.run_in_executor(self._pool, respond, body, self.libraries)
        except InvalidReviewError as error:
            self.metrics.add("refused", time.monotonic() - started)
            log.warning("webhook host: rejected a request that is not a ConversionReview: %s", error)
            return HostResponse(400, f"{error}\n".encode())
        except TimeoutError:
            self.metrics.add("failed", time.monotonic() - started)
            log.error(
                "webhook host: a review took longer than %g s and the API server has given up: make the conversions "
                "faster or raise the number of threads",
                self._timeout,
            )
            return HostResponse(504, f"the conversion took more than {self._timeout:g} s\n".encode())
        seconds = time.monotonic() - started
        self.metrics.add("converted" if failure is None else "failed", seconds, count)
        if failure is None:
            log.debug("webhook host: converted %d objects in %.1f ms", count, seconds * 1000)
        else:
            log.error("webhook host: %s; requests for this object fail until the converter or object is fixed", failure)
        return HostResponse(200, response_body, JSON)

    async def _body(self, length: int | None, chunks: AsyncIterable[bytes]) -> bytes | HostResponse:
        too_large = HostResponse(413, f"a review must not exceed {self._max_bytes} bytes\n".encode())
        if length is not None and length > self._max_bytes:
            return too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._timeout):
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self._max_bytes:
                        return too_large
                    parts.append(chunk)
        except TimeoutError:
            return HostResponse(408, f"the review did not arrive within {self._timeout:g} s\n".encode())
        return b"".join(parts)


def as_libraries(converters: Iterable[Any]) -> list[Library]:
    """Wrap converter objects as libraries. Raise ValueError if there is no converter or one of them is async."""
    libraries = [each if isinstance(each, Library) else Library(_converter_name(each), each) for each in converters]
    if not libraries:
        raise ValueError("nothing to host: name at least one converter")
    async_converters = [library.spec for library in libraries if library.is_async]
    if async_converters:
        raise ValueError(
            f"{', '.join(async_converters)}: an async converter cannot be hosted, because conversions run in threads: "
            "make it a plain function"
        )
    return libraries


def _converter_name(converter: Any) -> str:
    kind = getattr(converter, "kind", None)
    if isinstance(kind, str):
        return kind
    named = converter if inspect.isroutine(converter) else type(converter)
    return f"{named.__module__}:{named.__qualname__}"
