"""Watch events of a test, and the assertion of their order."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple
from urllib.parse import urlencode

from polykind.contract import JsonObject
from polykind.declare.conversions import describe_object
from polykind.testing.blocking import Blocking
from polykind.testing.exceptions import Refused, Unmet, raise_at_awaiter, raise_at_caller
from polykind.testing.loop_thread import LoopThread
from polykind.testing.server_client import Client, ResourcePaths

TIMEOUT_SECONDS = 10.0


class WatchEvent(NamedTuple):
    """One watch event: its type, such as `ADDED`, and the object."""

    type: str
    object: JsonObject

    def __str__(self) -> str:
        return f"{self.type} {self.object['metadata']['name']}"


class AsyncEventWatch:
    """The changes of an object, or of all objects of its kind in its namespace, since the watch was awaited.

    It keeps no connection open between calls, because the server keeps past events for a while.
    """

    def __init__(self, client: Client, target: Mapping[str, Any], timeout: float | None) -> None:
        """`timeout` is the maximum time that an iteration waits for the next event, in seconds."""
        self._client = client
        self._target = dict(target)
        self.timeout = timeout
        name = (target.get("metadata") or {}).get("name")
        self._options = {"fieldSelector": f"metadata.name={name}"} if name else {}
        self._collection = ""
        self._revision = ""
        self._pending: deque[WatchEvent] = deque()
        self._last = ""

    def __await__(self) -> Generator[Any, None, AsyncEventWatch]:
        return self.start().__await__()

    def __aiter__(self) -> AsyncEventWatch:
        return self

    @raise_at_awaiter
    async def __anext__(self) -> WatchEvent:
        if not self._revision:
            await self.start()
        event = await self._next(self.timeout)
        if event is None:
            raise Unmet(
                f"no event of {self._name} arrived within {self.timeout:g} s: the timeout of watch() is the time to "
                "wait for each event, and None waits forever"
            )
        self._last = str(event)
        return event

    @raise_at_awaiter
    async def expect(self, *events: str, timeout: float = TIMEOUT_SECONDS) -> list[JsonObject]:  # noqa: ASYNC109
        """Assert that these events come next, each as type and name: `ADDED mine`. Return their objects.

        Several MODIFIED events of an object in a row count as one, and the newest object is returned. Raise Unmet, an
        AssertionError that shows the difference, if other events come or the events do not come in time.
        """
        if not self._revision:
            raise Refused("the watch has not started: `events = await polykind.aio.watch(...)` starts it")
        # The rest of the MODIFIED events that ended the previous call is skipped, unless the test expects more of them.
        previous = self._last if self._last not in events[:1] else ""
        seen: list[str] = []
        objects: list[JsonObject] = []
        deadline = time.monotonic() + timeout
        while seen != list(events):
            event = await self._next(max(deadline - time.monotonic(), 0.0))
            if event is None:
                raise Unmet(_difference(f"the events did not arrive within {timeout:g} s", events, seen))
            line = str(event)
            if line != (seen[-1] if seen else previous) or event.type != "MODIFIED":
                seen.append(line)
                objects.append(event.object)
            elif seen:
                objects[-1] = event.object
            if seen != list(events[: len(seen)]):
                raise Unmet(_difference("the events differ", events, seen))
        self._last = seen[-1] if seen else self._last
        return objects

    @property
    def _name(self) -> str:
        return describe_object(self._target) if self._options else f"{self._target.get('kind')} objects"

    async def start(self) -> AsyncEventWatch:
        """Remember the current resourceVersion. Raise Refused if the server does not serve the kind."""
        async with self._client.connect() as connection:
            self._collection = await ResourcePaths(connection).collection(self._target)
            options = urlencode({**self._options, "limit": "1"})
            listed = await connection.request("GET", f"{self._collection}?{options}")
        self._revision = listed["metadata"]["resourceVersion"]
        return self

    async def _next(self, seconds: float | None) -> WatchEvent | None:
        """Return the next event, or None if there is none within some seconds."""
        try:
            async with asyncio.timeout(seconds):
                while not self._pending:
                    self._pending.extend(await self._read())
        except TimeoutError:
            return None
        event = self._pending.popleft()
        self._revision = event.object["metadata"]["resourceVersion"]
        return event

    async def _read(self) -> list[WatchEvent]:
        """Return the events after the current resourceVersion that arrive first; none if the server ends the watch."""
        options = {**self._options, "watch": "1", "resourceVersion": self._revision}
        async with (
            self._client.connect() as connection,
            aclosing(connection.watch(f"{self._collection}?{urlencode(options)}")) as watch,
        ):
            async for events in watch:
                return [_decode(event) for event in events]
        return []


class EventWatch:
    """The blocking methods of an AsyncEventWatch. Iterating over it yields the next events."""

    def __init__(self, core: AsyncEventWatch, loop: LoopThread) -> None:
        self._core = core
        self._loop = loop

    expect = Blocking(AsyncEventWatch.expect)

    def __iter__(self) -> Iterator[WatchEvent]:
        return self

    @raise_at_caller
    def __next__(self) -> WatchEvent:
        return self._loop.run(self._core.__anext__(), extra=self._core.timeout)


def _decode(event: JsonObject) -> WatchEvent:
    obj = event["object"]
    if event["type"] == "ERROR":
        code = int(obj.get("code") or 500)
        hint = ": after rollback(), call watch() again" if code == 410 else ""
        raise Refused(f"{obj.get('message')}{hint}", code)
    return WatchEvent(event["type"], obj)


def _difference(problem: str, expected: tuple[str, ...], seen: list[str]) -> str:
    return "\n".join([f"{problem} (- expected, + seen):", *difflib.ndiff(expected, seen)])
