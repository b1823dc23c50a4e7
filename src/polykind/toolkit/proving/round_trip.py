"""One object on its way through a converter, as the API server sends it: there, back, and edited in between."""

from __future__ import annotations

import asyncio
import inspect
import traceback
import weakref
from functools import cached_property
from typing import Any

import msgspec
import orjson

from polykind.contract import JsonObject, copy_json
from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError, accept_converted
from polykind.toolkit.declare.conversions import ConversionError, ConversionFunction
from polykind.toolkit.declare.library import Library

_METADATA_ERRORS = ("must have the same", "returned invalid metadata")


class ConversionFailedError(Exception):
    """A conversion that gave no object; `where` is the line of the author's code, if that is at fault."""

    def __init__(self, text: str, location: str = "", *, metadata_error: bool = False) -> None:
        super().__init__(text)
        self.location = location
        self.metadata_error = metadata_error
        """Whether the answer was refused for its metadata."""


class TestedConverter:
    """What converts the objects of a definition, whichever way it was written."""

    def __init__(self, library: Library, crd: CRD) -> None:
        kind, _, group = crd.kind.partition(".")
        if not library.handles(group, kind):
            raise ValueError(f"{library.spec} does not convert {crd.kind}")
        self.crd = crd
        self.declared = library.declared[crd.kind] if library.declared is not None else None
        self.function = library.function(group, kind)
        self.author = getattr(library, "_convert", None)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """For functions that are async; it is closed when nobody needs the converter any more."""
        loop = asyncio.new_event_loop()
        weakref.finalize(self, loop.close)
        return loop

    def path(self, origin: str, goal: str) -> tuple[ConversionFunction, ...]:
        """The steps taken, if they were declared."""
        return self.declared.path(origin, goal) if self.declared is not None else ()

    def call(self, obj: JsonObject, goal: CRDVersion) -> Any:
        """What the author's function returns for an object that is its own to change."""
        origin = obj.get("apiVersion")
        try:
            out = self.function(obj, goal.api_version)
            if inspect.isawaitable(out):
                out = self._loop.run_until_complete(out)
        except Exception as error:
            raise ConversionFailedError(*_describe_error(error)) from error
        if not isinstance(out, dict):
            raise ConversionFailedError(f"{type(out).__name__} was returned, not an object")
        if out.get("apiVersion") == origin:
            out["apiVersion"] = goal.api_version
        return out

    def convert_raw(self, obj: JsonObject, goal: CRDVersion) -> JsonObject:
        """The answer to a copy of the object, as it crosses the wire."""
        out = self.call(copy_json(obj), goal)
        try:
            decoded: JsonObject = msgspec.json.decode(orjson.dumps(out))
        except (TypeError, ValueError, msgspec.DecodeError) as error:
            raise ConversionFailedError(f"the answer cannot be written as JSON: {error}") from None
        return decoded

    def convert(self, obj: JsonObject, goal: CRDVersion) -> JsonObject:
        """What the API server makes of the answer.

        It is asked twice: what an earlier object left behind in the converter is a matter of its own.
        """
        self.convert_raw(obj, goal)
        return self.accept(obj, self.convert_raw(obj, goal), goal)

    def accept(self, obj: JsonObject, raw: JsonObject, goal: CRDVersion) -> JsonObject:
        try:
            return accept_converted(obj, raw, goal)
        except RejectedError as error:
            message = str(error)
            text = f"the API server refuses the answer: {message.partition(' returned ')[2] or message}"
            raise ConversionFailedError(
                text, metadata_error=any(part in message for part in _METADATA_ERRORS)
            ) from None


class RoundTrip:
    """One valid object of a version, on its way to another and back. Everything is worked out when asked, and once."""

    def __init__(self, converter: TestedConverter, origin: CRDVersion, goal: CRDVersion, obj: JsonObject) -> None:
        self.converter = converter
        self.origin = origin
        self.goal = goal
        self.obj = obj

    @cached_property
    def responses(self) -> tuple[JsonObject, JsonObject, JsonObject]:
        """The same asked three times: of these the first may still depend on what was converted before."""
        one, two, three = (self.converter.convert_raw(self.obj, self.goal) for _ in range(3))
        return one, two, three

    @cached_property
    def converted(self) -> JsonObject:
        """The object as it is read at the other version."""
        return self.converter.accept(self.obj, self.responses[1], self.goal)

    @cached_property
    def admitted(self) -> JsonObject:
        """What the other version makes of that, when a client writes it or a server reads it from its store."""
        return admit(self.goal, self.converted)

    @cached_property
    def returned(self) -> JsonObject:
        """The object as it is read at its own version again."""
        return self.convert_back(self.admitted)

    def convert_back(self, admitted: JsonObject) -> JsonObject:
        """What is read at the object's own version, of something written at the other."""
        out = self.converter.convert(admitted, self.origin)
        # Only what is read from the store gets defaults: nobody fills them in after a conversion.
        return self.origin.defaulted(out) if self.origin.storage else out


def admit(version: CRDVersion, obj: JsonObject) -> JsonObject:
    try:
        return version.admit(obj)[0]
    except RejectedError as error:
        raise ConversionFailedError(f"the API server refuses the answer: {error}") from None


def _describe_error(error: Exception) -> tuple[str, str]:
    """What an author's function raised, and the line of it."""
    cause = error.__cause__ if isinstance(error, ConversionError) and error.__cause__ is not None else error
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if not _is_toolkit_file(frame.filename)]
    location = f"{frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name}" if frames else ""
    message = str(cause)
    if isinstance(cause, ConversionError):
        # It begins with what the reader knows: which object, from which version to which.
        return message.partition(": ")[2] or message, location
    return (f"{type(cause).__name__}: {message}" if message else type(cause).__name__), location


def _is_toolkit_file(filename: str) -> bool:
    return filename == __file__ or filename.endswith(
        ("/polykind/toolkit/declare/conversions.py", "/polykind/toolkit/declare/stash.py")
    )
