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
from polykind.toolkit.hosting.counts import Counts
from polykind.toolkit.hosting.review import BadReview, answer

MOST_BYTES = 64 * 1024 * 1024
"""What a review may have at most."""
SECONDS = 30.0
"""How long the API server waits for an answer."""
THREADS = 4
JSON = "application/json"
TEXT = "text/plain; charset=utf-8"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
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


class Answering:
    """Answers a review that is POSTed to any path; conversions run in threads, so that nobody waits for their end."""

    def __init__(
        self,
        converters: Iterable[Any],
        *,
        most_bytes: int = MOST_BYTES,
        seconds: float = SECONDS,
        threads: int = THREADS,
        readiness: Callable[[], Readiness] = lambda: Readiness(True, "ok"),
    ) -> None:
        """`converters` are anything that a Library accepts. Raises ValueError for those that cannot be hosted."""
        self.libraries = libraries(converters)
        self.counts = Counts()
        self.review: Callable[[bytes], Awaitable[Reply | None]] = self.converted
        """What answers a body; another may be put around it. None: the connection is closed without an answer."""
        self._most_bytes, self._seconds, self._threads = most_bytes, seconds, threads
        self._readiness = readiness
        self._pool: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """Let the threads go; what is under way in them goes on."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    async def reply(self, method: str, path: str, length: int | None, chunks: AsyncIterable[bytes]) -> Reply | None:
        """The answer to a request whose body comes in chunks; `length` is what it says of itself."""
        if method == "POST":
            body = await self._body(length, chunks)
            return body if isinstance(body, Reply) else await self.review(body)
        if method not in ("GET", "HEAD"):
            return Reply(405, b"a ConversionReview is sent by POST\n", headers={"Allow": "GET, HEAD, POST"})
        page = path.rstrip("/").rpartition("/")[2]
        if page == "healthz":
            return Reply(200, b"ok")
        if page == "readyz":
            found = self._readiness()
            return Reply(200 if found.ready else 503, found.text.encode())
        if page == "metrics":
            return Reply(200, self.counts.page(), "text/plain; version=0.0.4; charset=utf-8")
        said = b"a ConversionReview is sent by POST; there are also /healthz, /readyz and /metrics\n"
        return Reply(405, said, headers={"Allow": "POST"})

    async def converted(self, body: bytes) -> Reply:
        """The answer to a review. One that fails is answered too, and said in the log."""
        started = time.monotonic()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="polykind-conversion")
        try:
            async with asyncio.timeout(self._seconds):
                loop = asyncio.get_running_loop()
                made, failure, count = await loop.run_in_executor(self._pool, answer, body, self.libraries)
        except BadReview as error:
            self.counts.add("refused", time.monotonic() - started)
            log.warning("a request was refused: %s; only an API server's ConversionReviews are answered here", error)
            return Reply(400, f"{error}\n".encode())
        except TimeoutError:
            self.counts.add("failed", time.monotonic() - started)
            log.error(
                "a review was given up after %g s, as the API server has done: make the conversions faster, or give "
                "the host more threads; what is under way goes on",
                self._seconds,
            )
            return Reply(504, f"the conversion has taken more than {self._seconds:g} s\n".encode())
        seconds = time.monotonic() - started
        self.counts.add("converted" if failure is None else "failed", seconds, count)
        if failure is None:
            log.debug("a review of %d objects took %.1f ms", count, seconds * 1000)
        else:
            log.error("a review failed: %s; mend the step or the object: until then requests for it fail", failure)
        return Reply(200, made, JSON)

    async def _body(self, length: int | None, chunks: AsyncIterable[bytes]) -> bytes | Reply:
        long = Reply(413, f"a review may have {self._most_bytes} bytes at most\n".encode())
        if length is not None and length > self._most_bytes:
            return long
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._seconds):
                async for chunk in chunks:
                    size += len(chunk)
                    if size > self._most_bytes:
                        return long
                    parts.append(chunk)
        except TimeoutError:
            return Reply(408, f"the review was not sent within {self._seconds:g} s\n".encode())
        return b"".join(parts)


def libraries(converters: Iterable[Any]) -> list[Library]:
    """What converts, each under a name. Raises ValueError, naming those that cannot be hosted."""
    found = [one if isinstance(one, Library) else Library(_name(one), one) for one in converters]
    if not found:
        raise ValueError("nothing to host: name at least one converter")
    refused = [one.spec for one in found if one.is_async]
    if refused:
        raise ValueError(
            f"{', '.join(refused)}: an async converter cannot be hosted, since conversions run in threads: "
            "make it a plain function"
        )
    return found


def _name(converter: Any) -> str:
    kind = getattr(converter, "kind", None)
    if isinstance(kind, str):
        return kind
    named = converter if inspect.isroutine(converter) else type(converter)
    return f"{named.__module__}:{named.__qualname__}"
