"""Conversions by Python functions in this process, as `--converter package.module:object` names them.

What a function returns is judged as a webhook's answer is: the same kind, name, namespace and uid; of the metadata only
labels and annotations count. What it raises becomes the message of the failure.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.conversion import conversion_review
from polykind.conversion.batches import Batches, Item, Located
from polykind.conversion.empty import is_empty
from polykind.conversion.failure import CALL, INVALID_OBJECT, ConversionFailedError, Failure, frame
from polykind.golang.fmt import go_type
from polykind.toolkit.declare.conversions import ConversionError
from polykind.toolkit.declare.library import Convert

_SECONDS = 30.0
_THREADS = 4


class InProcessConverter:
    """Converts by a function, in threads of its own: no function can hold up the server, however slow it is."""

    def __init__(self, spec: str, function: Convert, *, seconds: float = _SECONDS) -> None:
        self.name = self.address = spec
        self.certificate_expires: datetime | None = None
        self._function = function
        self._seconds = seconds
        self._threads: ThreadPoolExecutor | None = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"polykind {spec}")
        self._batches = Batches(self._attempt, json_codec.encode, most_objects=100, in_flight=_THREADS)

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
                raise ConversionFailedError(error.failure, error.obj, to, self.address) from error.failure
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
            returned = self._function(json_codec.decode(item.encoded), to)
        except (Exception, SystemExit) as error:
            raise _raised(error, item.obj) from error
        return _judged(item.obj, returned, to)

    async def _awaited(self, item: Item, to: str) -> JsonObject:
        try:
            returned = await self._function(json_codec.decode(item.encoded), to)
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
        plain = json_codec.decode(json_codec.encode(returned))
    except (TypeError, ValueError, json_codec.MalformedJSONError) as error:
        told = f"the converter returned what is no JSON: {error}"
        raise Located(Failure(f"{about} failed: {told}", INVALID_OBJECT, "Answer"), original) from error
    try:
        return conversion_review.accepted(original, plain, to)
    except Failure as failure:
        raise Located(failure, original) from None


def _raised(error: BaseException, obj: JsonObject) -> Located:
    if isinstance(error, ConversionError) and error.__cause__ is not None:
        # What a step raised: the object and the versions are named below, as for every converter.
        error = error.__cause__
    try:
        message = str(error)
    except Exception:
        message = ""
    said = f"{frame(obj)} failed: {message or type(error).__name__}"
    explained = f"the converter raised {type(error).__name__}"
    return Located(Failure(said, CALL, "Exception", explained=explained), obj)
