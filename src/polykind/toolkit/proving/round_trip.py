"""A round trip of an object: conversion to another version and back, with the checks of the API server."""

from __future__ import annotations

import asyncio
import inspect
import traceback
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
import orjson

from polykind.contract import JsonObject, copy_json
from polykind.declare.conversions import ConversionError, ConversionFunction
from polykind.declare.library import Library
from polykind.declare.rule_place import RuleError
from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError, accept_converted
from polykind.toolkit.hosting import review_response
from polykind.toolkit.proving.time_limit import TimeLimitError, time_limit

T = TypeVar("T")
CALL_SECONDS = 10.0
"""The default time limit of a call. kube-apiserver waits for 30 seconds."""
_SECONDS_AFTER_TIMEOUT = 1.0
"""The time limit of later calls, so that a converter that hangs cannot use up the time of a run."""
_MAX_TIMEOUTS = 12
"""The number of calls without a result after which a run ends."""
_METADATA_ERRORS = ("must have the same", "returned invalid metadata")


class lazy_property(Generic[T]):  # noqa: N801
    """A property that is computed once. Unlike functools.cached_property in Python 3.11, it holds no lock meanwhile.

    Checks that run in lockstep wait for conversions while they compute such properties.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        value = self._compute(instance)
        instance.__dict__[self._name] = value
        return value


class ConversionFailedError(Exception):
    """A conversion failed, or the API server rejects its result.

    `location` is the line of the converter that raised an exception, or "" if there was no exception.
    """

    def __init__(self, text: str, location: str = "", *, metadata_error: bool = False) -> None:
        super().__init__(text)
        self.location = location
        self.metadata_error = metadata_error
        """True if the API server rejects the converted object because of its metadata."""


class ConverterUnavailableError(Exception):
    """A converter cannot be called, or does not return any more. The message says why."""


class TestedConverter:
    """Calls the converter of a CRD's objects, sync or async, and checks the results like the API server."""

    def __init__(self, library: Library, crd: CRD, seconds: float = CALL_SECONDS) -> None:
        """`seconds` is the time limit of one call."""
        kind, _, group = crd.kind.partition(".")
        if not library.handles(group, kind):
            raise ValueError(f"{library.spec} does not convert {crd.kind}")
        self.crd = crd
        self.declared = library.declared[crd.kind] if library.declared is not None else None
        self.function = library.function(group, kind)
        self.author = getattr(library, "_convert", None)
        self._seconds = seconds
        self._timeouts = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    concurrency = 1
    """The number of objects that are checked at the same time."""
    shares_memory = True
    """True if results may share objects with each other, because the converter runs in this process."""

    def run_together(self, checks: Sequence[Callable[[], T]]) -> list[T]:
        """Run the checks of some objects. Subclasses may convert the objects of several checks in one call."""
        return [check() for check in checks]

    def _run_async(self, awaitable: Awaitable[Any]) -> Any:
        """Run an async converter in an event loop, which is closed when this object is garbage-collected."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            weakref.finalize(self, self._loop.close)
        return self._loop.run_until_complete(awaitable)

    def path(self, origin: str, goal: str) -> tuple[ConversionFunction, ...]:
        """Return the conversion functions that convert `origin` to `goal`, or () if the converter declares none."""
        return self.declared.path(origin, goal) if self.declared is not None else ()

    def call(self, obj: JsonObject, goal: CRDVersion) -> Any:
        """Call the converter, which may change `obj`, and return its result."""
        origin = obj.get("apiVersion")
        try:
            with time_limit(self._seconds):
                out = self.function(obj, goal.api_version)
                if inspect.isawaitable(out):
                    out = self._run_async(out)
        except TimeLimitError:
            raise self._timeout_error() from None
        except Exception as error:
            raise ConversionFailedError(*_describe_error(error)) from error
        if not isinstance(out, dict):
            raise ConversionFailedError(f"the converter returned {type(out).__name__}, not an object")
        if out.get("apiVersion") == origin:
            out["apiVersion"] = goal.api_version
        return out

    def _timeout_error(self) -> ConversionFailedError:
        """Return the error of a call that did not return. Raise ConverterUnavailableError after several such calls."""
        self._timeouts += 1
        message = f"the converter did not return within {self._seconds:g} seconds"
        if self._timeouts > _MAX_TIMEOUTS:
            raise ConverterUnavailableError(f"{message}, {self._timeouts} times")
        self._seconds = min(self._seconds, _SECONDS_AFTER_TIMEOUT)
        return ConversionFailedError(message)

    def review(self, objects: Sequence[JsonObject], goal: CRDVersion) -> list[JsonObject]:
        """Convert objects by one ConversionReview, with the code that a webhook host uses.

        Raise ConversionFailedError if the review fails.
        """
        request = {"uid": "1", "desiredAPIVersion": goal.api_version, "objects": objects}
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        hosted = Library("tested", lambda obj, _: self.call(obj, goal))
        response = msgspec.json.decode(review_response.convert_review(orjson.dumps(body), [hosted]))["response"]
        if response["result"]["status"] != "Success":
            raise ConversionFailedError(response["result"]["message"])
        return response["convertedObjects"]  # type: ignore[no-any-return]

    def convert_raw(self, obj: JsonObject, goal: CRDVersion) -> JsonObject:
        """Convert a copy of the object and return the result as decoded JSON."""
        out = self.call(copy_json(obj), goal)
        try:
            decoded: JsonObject = msgspec.json.decode(orjson.dumps(out))
        except (TypeError, ValueError, msgspec.DecodeError) as error:
            raise ConversionFailedError(f"the result is not JSON: {error}") from None
        return decoded

    def convert(self, obj: JsonObject, goal: CRDVersion) -> JsonObject:
        """Return the object, converted to `goal`, as the API server accepts it.

        Call the converter twice and use the second result, because the first one may depend on earlier objects. The
        property batch-independence checks this.
        """
        self.convert_raw(obj, goal)
        return self.accept(obj, self.convert_raw(obj, goal), goal)

    def accept(self, obj: JsonObject, raw: JsonObject, goal: CRDVersion) -> JsonObject:
        """Return the converter's result `raw` as the API server accepts it: pruned, and with the metadata of `obj`.

        Raise ConversionFailedError if the API server rejects the result.
        """
        try:
            return accept_converted(obj, raw, goal)
        except RejectedError as error:
            message = str(error)
            text = f"the API server rejects the result: {message.partition(' returned ')[2] or message}"
            raise ConversionFailedError(
                text, metadata_error=any(part in message for part in _METADATA_ERRORS)
            ) from None


class RoundTrip:
    """A round trip of one valid object to another version and back. Each result is computed once, on first access."""

    def __init__(self, converter: TestedConverter, origin: CRDVersion, goal: CRDVersion, obj: JsonObject) -> None:
        self.converter = converter
        self.origin = origin
        self.goal = goal
        self.obj = obj
        self._failure: ConversionFailedError | None = None

    def of(self, obj: JsonObject) -> RoundTrip:
        """Return the round trip of another object between the same versions."""
        return RoundTrip(self.converter, self.origin, self.goal, obj)

    def reversed(self, obj: JsonObject) -> RoundTrip:
        """Return the round trip of an object of the version `goal` to the version `origin` and back."""
        return RoundTrip(self.converter, self.goal, self.origin, obj)

    @lazy_property
    def responses(self) -> tuple[JsonObject, JsonObject, JsonObject]:
        """The results of converting the object three times. The first may still depend on objects converted earlier."""
        if self._failure is not None:
            raise self._failure
        try:
            first, second, third = (self.converter.convert_raw(self.obj, self.goal) for _ in range(3))
        except ConversionFailedError as error:
            self._failure = error
            raise
        return first, second, third

    @lazy_property
    def converted(self) -> JsonObject:
        """The object as a client reads it at the version `goal`."""
        return self.converter.accept(self.obj, self.responses[1], self.goal)

    @lazy_property
    def admitted(self) -> JsonObject:
        """The converted object as the API server stores it after a client has written it at the version `goal`."""
        return admit(self.goal, self.converted)

    @lazy_property
    def returned(self) -> JsonObject:
        """The object as a client reads it at the version `origin` after the round trip."""
        return self.convert_back(self.admitted)

    def convert_back(self, admitted: JsonObject) -> JsonObject:
        """Convert an object of the version `goal` back to the version `origin`."""
        out = self.converter.convert(admitted, self.origin)
        # The API server applies defaults to an object that it reads from storage, but not to a converted object.
        return self.origin.defaulted(out) if self.origin.storage else out


def admit(version: CRDVersion, obj: JsonObject) -> JsonObject:
    try:
        return version.admit(obj)[0]
    except RejectedError as error:
        raise ConversionFailedError(f"the API server rejects the result: {error}") from None


def _describe_error(error: Exception) -> tuple[str, str]:
    """Return the message of the converter's exception, and the line of code that raised the exception."""
    cause = error.__cause__ if isinstance(error, ConversionError) and error.__cause__ is not None else error
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if not _is_toolkit_file(frame.filename)]
    location = f"{frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name}" if frames else ""
    if isinstance(cause, RuleError) and cause.place:
        location = cause.place
    message = str(cause)
    if isinstance(cause, ConversionError):
        # Remove the prefix of the message, which names the object and the versions. The report shows them separately.
        return message.partition(": ")[2] or message, location
    return (f"{type(cause).__name__}: {message}" if message else type(cause).__name__), location


def _is_toolkit_file(filename: str) -> bool:
    return filename == __file__ or filename.endswith(("/polykind/declare/conversions.py", "/polykind/declare/stash.py"))
