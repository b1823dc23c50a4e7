"""Conversion by a Python function in the server's process. The flag --converter package.module:object names it.

The result of the function is checked like the response of a webhook: kind, name, namespace and uid must not change,
and of the metadata only labels and annotations are used. If the function raises an exception, the error message for the
client contains the text of the exception.
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
from polykind.conversion import conversion_messages
from polykind.conversion.batches import Batches, EncodedObject, LocatedError
from polykind.conversion.conversion_errors import CALL, INVALID_OBJECT, AttemptError, error_prefix
from polykind.conversion.monitored_converter import CALL_SECONDS
from polykind.declare.conversions import ConversionError
from polykind.declare.library import Convert
from polykind.golang.fmt import go_type
from polykind.webhook.presence import WebhookPresence

_THREADS = 4


class InProcessConverter:
    """Calls a function to convert objects, in its own thread pool, so a slow function cannot block the server."""

    def __init__(self, spec: str, function: Convert, *, seconds: float = CALL_SECONDS) -> None:
        self.name = self.address = spec
        self.certificate_expires: datetime | None = None
        self.presence: WebhookPresence | None = None
        self.service = ""
        self.repair = ""
        self._function = function
        self._seconds = seconds
        self._threads: ThreadPoolExecutor | None = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"polykind {spec}")
        self._batches = Batches(self._convert_batch, json_codec.encode, max_objects=100, concurrency=_THREADS)

    def reconnect(self) -> None:
        """Do nothing: a function has no connections."""

    async def close(self) -> None:
        """Close the thread pool without waiting for the conversions in progress, which continue."""
        threads, self._threads = self._threads, None
        if threads:
            threads.shutdown(wait=False)

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        return await self._batches.convert_where_needed(objects, to, lambda: self.address)

    async def _convert_batch(self, batch: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        try:
            async with asyncio.timeout(self._seconds):
                if inspect.iscoroutinefunction(self._function):
                    return [await self._call_async(item, to) for item in batch]
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, lambda: [self._call(item, to) for item in batch])
        except TimeoutError:
            message = f"{error_prefix(batch[0].obj)} failed: context deadline exceeded"
            raise AttemptError(message, CALL, "Timeout", divisible=False) from None

    def _call(self, item: EncodedObject, to: str) -> JsonObject:
        try:
            returned = self._function(json_codec.decode(item.encoded), to)
        except (Exception, SystemExit) as error:
            raise _function_error(error, item.obj) from error
        return _check_result(item.obj, returned, to)

    async def _call_async(self, item: EncodedObject, to: str) -> JsonObject:
        try:
            returned = await self._function(json_codec.decode(item.encoded), to)
        except (Exception, SystemExit) as error:
            raise _function_error(error, item.obj) from error
        return _check_result(item.obj, returned, to)


def _check_result(original: JsonObject, returned: Any, to: str) -> JsonObject:
    """Return a copy of the function's result as decoded JSON. Raise LocatedError if the result is invalid."""
    prefix = error_prefix(original)
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        message = "the converter returned an awaitable, but is no async function"
        raise LocatedError(AttemptError(f"{prefix} failed: {message}", CALL, "Answer"), original)
    if not isinstance(returned, dict):
        type_name = go_type(returned) if returned is None else type(returned).__name__
        message = f"the converter returned {type_name}, not an object"
        raise LocatedError(AttemptError(f"{prefix} failed: {message}", INVALID_OBJECT, "Answer"), original)
    if returned.get("apiVersion") == original.get("apiVersion"):
        returned = {**returned, "apiVersion": to}
    try:
        plain = json_codec.decode(json_codec.encode(returned))
    except (TypeError, ValueError, json_codec.MalformedJSONError) as error:
        message = f"the converter returned what is no JSON: {error}"
        raise LocatedError(AttemptError(f"{prefix} failed: {message}", INVALID_OBJECT, "Answer"), original) from error
    try:
        return conversion_messages.check_converted(original, plain, to)
    except AttemptError as failure:
        raise LocatedError(failure, original) from None


def _function_error(error: BaseException, obj: JsonObject) -> LocatedError:
    if isinstance(error, ConversionError) and error.__cause__ is not None:
        # Report the original exception of the conversion function. The ConversionError around it only adds the object
        # and the versions, which ConversionFailedError adds anyway.
        error = error.__cause__
    try:
        message = str(error)
    except Exception:
        message = ""
    message = f"{error_prefix(obj)} failed: {message or type(error).__name__}"
    explanation = f"the converter raised {type(error).__name__}"
    return LocatedError(AttemptError(message, CALL, "Exception", explanation=explanation), obj)
