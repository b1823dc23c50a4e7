"""Fault injection for webhook hosts, to test how a broken converter affects clients of the API server.

    host.faults.down()                                   # refuse connections
    host.faults.clear()                                  # work normally again
    with host.faults.fail("no", names=["my-crontab"]):   # only reviews with this object, only in this block
        ...
    host.faults.delay(5, times=1)                        # only the next review

Each method adds a fault and returns it. A fault can be cleared by itself or used in a `with` statement. The methods may
be called from any thread and have taken effect when they return.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Collection
from typing import Any, TypedDict, Unpack

import msgspec
import orjson

from polykind.contract import JsonObject
from polykind.toolkit.hosting.review_handler import JSON, HostResponse, ReviewFunction

CALL_SECONDS = 10.0
"""Seconds that a call from another thread waits for the host's event loop."""


class FaultScope(TypedDict, total=False):
    """Optional arguments that limit a fault to some reviews. Without them, it affects all reviews."""

    names: Collection[str]
    """The fault affects only reviews that contain an object with one of these names."""
    kinds: Collection[str]
    """The fault affects only reviews that contain one of these kinds, such as `CronTab` or `CronTab.example.com`."""
    times: int | None
    """The fault affects only this many reviews. None means all reviews."""


class Fault:
    """An active fault."""

    def __init__(self, faults: Faults, name: str, argument: Any, scope: _ScopeFilter | None) -> None:
        self.name, self.argument = name, argument
        self.scope = scope
        """The filter that selects the affected reviews, or None for a fault that affects whole connections."""
        self.seen = 0
        """The number of reviews that the fault has affected."""
        self.cleared = asyncio.Event()
        self._faults = faults

    def clear(self) -> None:
        """Remove this fault, so that it affects no further reviews or connections."""
        self._faults._remove(self)

    def __enter__(self) -> Fault:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def __repr__(self) -> str:
        return f"Fault({self.name!r})"


class _ScopeFilter:
    """Decides whether a fault affects a review, by the objects in the review and the number of earlier matches."""

    def __init__(self, *, names: Collection[str] = (), kinds: Collection[str] = (), times: int | None = None) -> None:
        if isinstance(names, str) or isinstance(kinds, str):
            raise TypeError('names and kinds must be collections, such as ["my-crontab"]')
        self._names, self._kinds, self.left = frozenset(names), frozenset(kinds), times

    def matches(self, objects: list[Any]) -> bool:
        if self.left == 0:
            return False
        return not (self._names or self._kinds) or any(self._fits(obj) for obj in objects)

    def _fits(self, obj: Any) -> bool:
        if not isinstance(obj, dict):
            return False
        metadata, kind = obj.get("metadata"), str(obj.get("kind"))
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if self._names and name not in self._names:
            return False
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        return not self._kinds or bool(self._kinds & {kind, f"{kind}.{group}"})


class Faults:
    """The faults of one host. `names`, `kinds` and `times` limit a fault to some reviews."""

    def __init__(self) -> None:
        self._active: list[Fault] = []
        self._changed: Callable[[], None] = lambda: None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def active(self) -> tuple[str, ...]:
        """The names of the active faults. The name of a fault is the name of the method that adds it."""
        return tuple(fault.name for fault in self._active)

    def down(self) -> Fault:
        """Close all connections and refuse new ones, as if the process were gone."""
        return self._add("down")

    def unknown_certificate(self) -> Fault:
        """Close all connections. Serve new connections with a certificate of an unknown CA."""
        return self._add("unknown_certificate")

    def hang_up(self, **only: Unpack[FaultScope]) -> Fault:
        """Close the connection without a response after a review has been received."""
        return self._add("hang_up", scope=_ScopeFilter(**only))

    def delay(self, seconds: float, **only: Unpack[FaultScope]) -> Fault:
        """Delay each response by some seconds. If the fault is cleared earlier, the delay ends at once."""
        return self._add("delay", seconds, _ScopeFilter(**only))

    def status(self, code: int, text: str = "", **only: Unpack[FaultScope]) -> Fault:
        """Respond with this HTTP status and text instead of a review."""
        return self._add("status", (code, text), _ScopeFilter(**only))

    def fail(self, message: str, **only: Unpack[FaultScope]) -> Fault:
        """Respond with a review whose result is Failed, with this message."""
        return self._add("fail", message, _ScopeFilter(**only))

    def wrong_uid(self, **only: Unpack[FaultScope]) -> Fault:
        """Respond with a uid that differs from the uid of the request."""
        return self._add("wrong_uid", scope=_ScopeFilter(**only))

    def fewer(self, **only: Unpack[FaultScope]) -> Fault:
        """Leave the last object out of the response."""
        return self._add("fewer", scope=_ScopeFilter(**only))

    def reordered(self, **only: Unpack[FaultScope]) -> Fault:
        """Return the objects in reverse order. A review of one object is not affected."""
        return self._add("reordered", scope=_ScopeFilter(**only))

    def renamed(self, name: str = "renamed", **only: Unpack[FaultScope]) -> Fault:
        """Return the objects with changed names."""
        return self._add("renamed", name, _ScopeFilter(**only))

    def not_json(self, **only: Unpack[FaultScope]) -> Fault:
        """Respond with the content type application/json and a body that is not JSON."""
        return self._add("not_json", scope=_ScopeFilter(**only))

    def clear(self) -> None:
        """Remove all faults, so that the host works normally again."""
        self._run_in_loop(self._clear)

    def attach(self, changed: Callable[[], None]) -> None:
        """Connect to a host that runs in the current event loop. `changed` is called when the faults change."""
        self._loop, self._changed = asyncio.get_running_loop(), changed

    def detach(self) -> None:
        """Remove all faults and end delays, because the host stops."""
        self._changed = lambda: None
        self._clear()
        self._loop = None

    def around(self, review: ReviewFunction) -> ReviewFunction:
        """Wrap the function that handles reviews, so that active faults affect its responses."""

        async def faulty(body: bytes) -> HostResponse | None:
            return await self._respond(body, review) if self._active else await review(body)

        return faulty

    async def _respond(self, body: bytes, review: ReviewFunction) -> HostResponse | None:
        matching = self._matching(body)
        for fault in matching:
            if fault.name == "delay":
                await _delay(fault)
        by_name = {fault.name: fault for fault in matching}
        if "hang_up" in by_name:
            return None
        if "status" in by_name:
            code, text = by_name["status"].argument
            return HostResponse(code, f"{text}\n".encode() if text else b"")
        if "not_json" in by_name:
            return HostResponse(200, b"this is no JSON", JSON)
        reply = await review(body)
        if reply is None or reply.status != 200 or not by_name.keys() - {"delay"}:
            return reply
        response = msgspec.json.decode(reply.body)
        for fault in matching:
            _corrupt(response["response"], fault)
        return HostResponse(200, orjson.dumps(response), JSON)

    def _matching(self, body: bytes) -> list[Fault]:
        objects = _review_objects(body)
        out = [fault for fault in self._active if fault.scope is not None and fault.scope.matches(objects)]
        for fault in out:
            fault.seen += 1
            assert fault.scope is not None
            if fault.scope.left is not None:
                fault.scope.left -= 1
        return out

    def _add(self, name: str, argument: Any = None, scope: _ScopeFilter | None = None) -> Fault:
        fault = Fault(self, name, argument, scope)
        self._run_in_loop(lambda: self._active.append(fault))
        return fault

    def _remove(self, fault: Fault) -> None:
        def remove() -> None:
            fault.cleared.set()
            self._active = [other for other in self._active if other is not fault]

        self._run_in_loop(remove)

    def _clear(self) -> None:
        for fault in self._active:
            fault.cleared.set()
        self._active = []

    def _run_in_loop(self, change: Callable[[], None]) -> None:
        """Run a change in the host's event loop and notify the host. Return when both are done."""

        def make() -> None:
            change()
            self._changed()

        loop = self._loop
        if loop is None or loop.is_closed() or _running_loop() is loop:
            make()
            return
        finished: concurrent.futures.Future[None] = concurrent.futures.Future()

        def run_in_loop() -> None:
            try:
                make()
                finished.set_result(None)
            except BaseException as error:
                finished.set_exception(error)

        loop.call_soon_threadsafe(run_in_loop)
        finished.result(CALL_SECONDS)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _delay(fault: Fault) -> None:
    try:
        async with asyncio.timeout(fault.argument):
            await fault.cleared.wait()
    except TimeoutError:
        pass


def _review_objects(body: bytes) -> list[Any]:
    try:
        found = msgspec.json.decode(body)["request"]["objects"]
    except (msgspec.DecodeError, RecursionError, KeyError, TypeError):
        return []
    return found if isinstance(found, list) else []


def _corrupt(response: JsonObject, fault: Fault) -> None:
    objects = response.get("convertedObjects", [])
    if fault.name == "fail":
        response["result"] = {"status": "Failed", "message": fault.argument}
        response["convertedObjects"] = []
    elif fault.name == "wrong_uid":
        response["uid"] = "00000000-0000-0000-0000-000000000000"
    elif fault.name == "fewer":
        del objects[-1:]
    elif fault.name == "reordered":
        objects.reverse()
    elif fault.name == "renamed":
        for obj in objects:
            obj.setdefault("metadata", {})["name"] = fault.argument
