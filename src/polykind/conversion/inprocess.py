"""Conversions by Python functions in this process: `--converter package.module:object`.

The object named is one of:

- a function `convert(obj: dict, to: str) -> dict`, or an object with such a method. `obj` is the whole object and may
  be changed and returned; `to` is the wanted apiVersion, such as `example.com/v2`. It may be `async`.
- a mapping of `(kind.group, from version, to version)` to a function `convert(obj: dict) -> dict`:
  `{("CronTab.example.com", "v1", "v2"): up, ("CronTab.example.com", "v2", "v1"): down}`. Steps are chained, the fewest
  that lead from one version to the other: v1 to v3 by v1 to v2 and v2 to v3.

An object that has a method `handles(group: str, kind: str) -> bool` is asked which kinds it converts; a mapping
converts the kinds it names; anything else converts every kind. A function need not set apiVersion. What it returns is
judged as a webhook's answer is: the same kind, name, namespace and uid; of the metadata only labels and annotations
count. What it raises becomes the message of the failure.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from polykind.contract import JsonObject
from polykind.conversion import review
from polykind.conversion.batches import Batches, Item, Located
from polykind.conversion.empty import is_empty
from polykind.conversion.failure import CALL, INVALID_OBJECT, ConversionFailed, Failure, Subject, frame, version_of
from polykind.conversion.metadata import go_type
from polykind.wire import codec

Convert = Callable[[JsonObject, str], Any]
_SECONDS = 30.0
_THREADS = 4
log = logging.getLogger(__name__)


class Library:
    """What `--converter` named: one object that converts some kinds or all."""

    def __init__(self, spec: str, converter: Any) -> None:
        self.spec = spec
        self._mapping = _checked(spec, converter) if isinstance(converter, Mapping) else None
        self._handles = getattr(converter, "handles", None)
        method = getattr(converter, "convert", None)
        self._convert: Convert | None = method if callable(method) else converter if callable(converter) else None
        if self._mapping is None and self._convert is None:
            raise ValueError(
                f"--converter {spec}: neither a function, nor has it a method convert, nor is it a mapping"
            )

    def handles(self, group: str, kind: str) -> bool:
        if self._mapping is not None:
            return any(key[0] == f"{kind}.{group}" for key in self._mapping)
        if not callable(self._handles):
            return True
        try:
            return bool(self._handles(group, kind))
        except Exception:
            log.exception("--converter %s: asked whether it handles %s.%s, it raised", self.spec, kind, group)
            return False

    def function(self, group: str, kind: str) -> Convert:
        """The function that converts objects of a kind."""
        if self._mapping is not None:
            steps = {key[1:]: step for key, step in self._mapping.items() if key[0] == f"{kind}.{group}"}
            return lambda obj, to: _chained(steps, obj, to)
        assert self._convert is not None
        return self._convert


def load(spec: str) -> Library:
    """The library that a --converter flag names. Raises ValueError, saying what is wrong with it."""
    module_name, colon, path = spec.partition(":")
    if not (module_name and colon and path):
        raise ValueError(f"--converter {spec}: must be package.module:object")
    try:
        found: Any = importlib.import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--converter {spec}: {error}") from error
    return Library(spec, found)


class InProcessConverter:
    """Converts by a function, in threads of its own: no function can hold up the server, however slow it is."""

    def __init__(self, spec: str, function: Convert, *, seconds: float = _SECONDS) -> None:
        self.name = self.address = spec
        self.certificate_expires: datetime | None = None
        self._function = function
        self._seconds = seconds
        self._threads: ThreadPoolExecutor | None = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"polykind {spec}")
        self._batches = Batches(self._attempt, codec.encode, most_objects=100, in_flight=_THREADS)

    async def close(self) -> None:
        """What is under way goes on, in threads that end with it."""
        threads, self._threads = self._threads, None
        if threads:
            threads.shutdown(wait=False)

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        out = [{**obj, "apiVersion": to} if is_empty(obj) else obj for obj in objects]
        wanted = [i for i, obj in enumerate(out) if obj.get("apiVersion") != to]
        if wanted:
            try:
                converted = await self._batches.convert([objects[i] for i in wanted], to)
            except Located as error:
                raise ConversionFailed(error.failure, error.obj, to, self.address) from error.failure
            for index, obj in zip(wanted, converted, strict=True):
                out[index] = obj
        return out

    async def _attempt(self, part: Sequence[Item], to: str) -> list[JsonObject]:
        try:
            async with asyncio.timeout(self._seconds):
                if inspect.iscoroutinefunction(self._function):
                    return [await self._awaited(item, to) for item in part]
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, lambda: [self._called(item, to) for item in part])
        except TimeoutError:
            late = f"{frame(part[0].obj)} failed: context deadline exceeded"
            raise Failure(late, CALL, "Timeout", divisible=False) from None

    def _called(self, item: Item, to: str) -> JsonObject:
        try:
            returned = self._function(codec.decode(item.encoded), to)
        except (Exception, SystemExit) as error:
            raise _raised(error, item.obj) from error
        return _judged(item.obj, returned, to)

    async def _awaited(self, item: Item, to: str) -> JsonObject:
        try:
            returned = await self._function(codec.decode(item.encoded), to)
        except (Exception, SystemExit) as error:
            raise _raised(error, item.obj) from error
        return _judged(item.obj, returned, to)


def _judged(original: JsonObject, returned: Any, to: str) -> JsonObject:
    """What a function returned, as plain JSON that nobody else holds, if it is acceptable."""
    about = frame(original)
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        told = "the converter returned an awaitable, but is no async function"
        raise Located(Failure(f"{about} failed: {told}", CALL, "Answer"), original)
    if not isinstance(returned, dict):
        shown = go_type(returned) if returned is None else type(returned).__name__
        told = f"the converter returned {shown}, not an object"
        raise Located(Failure(f"{about} failed: {told}", INVALID_OBJECT, "Answer"), original)
    if returned.get("apiVersion") == original.get("apiVersion"):
        returned = {**returned, "apiVersion": to}
    try:
        plain = codec.decode(codec.encode(returned))
    except (TypeError, ValueError, codec.Malformed) as error:
        told = f"the converter returned what is no JSON: {error}"
        raise Located(Failure(f"{about} failed: {told}", INVALID_OBJECT, "Answer"), original) from error
    try:
        return review.accepted(original, plain, to)
    except Failure as failure:
        raise Located(failure, original) from None


def _raised(error: BaseException, obj: JsonObject) -> Located:
    try:
        message = str(error)
    except Exception:
        message = ""
    said = f"{frame(obj)} failed: {message or type(error).__name__}"
    explained = f"the converter raised {type(error).__name__}"
    return Located(Failure(said, CALL, "Exception", explained=explained), obj)


Step = tuple[str, str]


def _chained(steps: Mapping[Step, Callable[[JsonObject], Any]], obj: JsonObject, to: str) -> Any:
    subject = Subject(obj)
    out: Any = obj
    for step in _path(steps, subject.version, version_of(to)):
        out = steps[step](out)
        if not isinstance(out, dict):
            return out
        out["apiVersion"] = f"{subject.group}/{step[1]}"
    return out


def _path(steps: Mapping[Step, object], origin: str, goal: str) -> list[Step]:
    """The fewest steps from one version to another. Raises LookupError."""
    queue: deque[tuple[str, list[Step]]] = deque([(origin, [])])
    seen = {origin}
    while queue:
        version, path = queue.popleft()
        if version == goal:
            return path
        for step in steps:
            if step[0] == version and step[1] not in seen:
                seen.add(step[1])
                queue.append((step[1], [*path, step]))
    raise LookupError(f"no conversion leads from {origin} to {goal}")


def _checked(spec: str, mapping: Mapping[Any, Any]) -> Mapping[tuple[str, str, str], Callable[[JsonObject], Any]]:
    for key, step in mapping.items():
        strings = isinstance(key, tuple) and len(key) == 3 and all(isinstance(part, str) for part in key)
        if not strings or not callable(step) or inspect.iscoroutinefunction(step):
            raise ValueError(f"--converter {spec}: {key!r} must be (kind.group, from, to) and name a plain function")
    return mapping
