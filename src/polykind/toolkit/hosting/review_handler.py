"""Requests answered by conversions, for whatever speaks HTTP: reviews, health and counts."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from polykind.toolkit.declare.library import Library
from polykind.toolkit.hosting.host_metrics import HostMetrics
from polykind.toolkit.hosting.review_response import InvalidReviewError, respond

MAX_BYTES = 64 * 1024 * 1024
"""What a review may have at most."""
TIMEOUT_SECONDS = 30.0
"""How long the API server waits for an answer."""
THREADS = 4
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostResponse:
    """What is sent back."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a host can do its work, and what is said of it."""

    ready: bool
    text: str


class ReviewHandler:
    """Answers a review that is POSTed to any path; conversions run in threads, so that nobody waits for their end."""

    def __init__(
        self,
        converters: Iterable[Any],
        *,
        most_bytes: int = MAX_BYTES,
        seconds: float = TIMEOUT_SECONDS,
        threads: int = THREADS,
        readiness: Callable[[], Readiness] = lambda: Readiness(True, "ok"),
    ) -> None:
        """`converters` are anything that a Library accepts. Raises ValueError for those that cannot be hosted."""
        self.libraries = as_libraries(converters)
        self.metrics = HostMetrics()
        self.review: Callable[[bytes], Awaitable[HostResponse | None]] = self.convert
        """What answers a body; another may be put around it. None: the connection is closed without an answer."""
        self._max_bytes, self._timeout, self._threads = most_bytes, seconds, threads
        self._readiness = readiness
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """Let the threads go; what is under way in them goes on."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    async def handle(
        self, method: str, path: str, length: int | None, chunks: AsyncIterable[bytes]
    ) -> HostResponse | None:
        """The answer to a request whose body comes in chunks; `length` is what it says of itself."""
        if method == "POST":
            body = await self._body(length, chunks)
            return body if isinstance(body, HostResponse) else await self.review(body)
        if method not in ("GET", "HEAD"):
            return HostResponse(405, b"a ConversionReview is sent by POST\n", headers={"Allow": "GET, HEAD, POST"})
        page = path.rstrip("/").rpartition("/")[2]
        if page == "healthz":
            return HostResponse(200, b"ok")
        if page == "readyz":
            found = self._readiness()
            return HostResponse(200 if found.ready else 503, found.text.encode())
        if page == "metrics":
            return HostResponse(200, self.metrics.render(), "text/plain; version=0.0.4; charset=utf-8")
        message = b"a ConversionReview is sent by POST; there are also /healthz, /readyz and /metrics\n"
        return HostResponse(405, message, headers={"Allow": "POST"})

    async def convert(self, body: bytes) -> HostResponse:
        """The answer to a review. One that fails is answered too, and said in the log."""
        started = time.monotonic()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="polykind-conversion")
        try:
            async with asyncio.timeout(self._timeout):
                loop = asyncio.get_running_loop()
                response_body, failure, count = await loop.run_in_executor(self._pool, respond, body, self.libraries)
        except InvalidReviewError as error:
            self.metrics.add("refused", time.monotonic() - started)
            log.warning("a request was refused: %s; only an API server's ConversionReviews are answered here", error)
            return HostResponse(400, f"{error}\n".encode())
        except TimeoutError:
            self.metrics.add("failed", time.monotonic() - started)
            log.error(
                "a review was given up after %g s, as the API server has done: make the conversions faster, or give "
                "the host more threads; what is under way goes on",
                self._timeout,
            )
            return HostResponse(504, f"the conversion has taken more than {self._timeout:g} s\n".encode())
        seconds = time.monotonic() - started
        self.metrics.add("converted" if failure is None else "failed", seconds, count)
        if failure is None:
            log.debug("a review of %d objects took %.1f ms", count, seconds * 1000)
        else:
            log.error("a review failed: %s; mend the step or the object: until then requests for it fail", failure)
        return HostResponse(200, response_body, JSON)

    async def _body(self, length: int | None, chunks: AsyncIterable[bytes]) -> bytes | HostResponse:
        too_large = HostResponse(413, f"a review may have {self._max_bytes} bytes at most\n".encode())
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
            return HostResponse(408, f"the review was not sent within {self._timeout:g} s\n".encode())
        return b"".join(parts)


def as_libraries(converters: Iterable[Any]) -> list[Library]:
    """What converts, each under a name. Raises ValueError, naming those that cannot be hosted."""
    found = [one if isinstance(one, Library) else Library(_converter_name(one), one) for one in converters]
    if not found:
        raise ValueError("nothing to host: name at least one converter")
    async_converters = [one.spec for one in found if one.is_async]
    if async_converters:
        raise ValueError(
            f"{', '.join(async_converters)}: an async converter cannot be hosted, since conversions run in threads: "
            "make it a plain function"
        )
    return found


def _converter_name(converter: Any) -> str:
    kind = getattr(converter, "kind", None)
    if isinstance(kind, str):
        return kind
    named = converter if inspect.isroutine(converter) else type(converter)
    return f"{named.__module__}:{named.__qualname__}"
