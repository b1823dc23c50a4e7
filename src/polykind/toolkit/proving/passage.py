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
from polykind.toolkit.crd_versions import DefinedVersion, Definition, Unfit, taken
from polykind.toolkit.declare.conversions import ConversionError, Step
from polykind.toolkit.declare.library import Library

_IDENTITY = ("must have the same", "returned invalid metadata")


class Stopped(Exception):
    """A conversion that gave no object; `where` is the line of the author's code, if that is at fault."""

    def __init__(self, text: str, where: str = "", *, metadata: bool = False) -> None:
        super().__init__(text)
        self.where = where
        self.metadata = metadata
        """Whether the answer was refused for its metadata."""


class Converter:
    """What converts the objects of a definition, whichever way it was written."""

    def __init__(self, library: Library, definition: Definition) -> None:
        kind, _, group = definition.kind.partition(".")
        if not library.handles(group, kind):
            raise ValueError(f"{library.spec} does not convert {definition.kind}")
        self.definition = definition
        self.declared = library.declared[definition.kind] if library.declared is not None else None
        self.function = library.function(group, kind)
        self.author = getattr(library, "_convert", None)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """For functions that are async; it is closed when nobody needs the converter any more."""
        loop = asyncio.new_event_loop()
        weakref.finalize(self, loop.close)
        return loop

    def way(self, origin: str, goal: str) -> tuple[Step, ...]:
        """The steps taken, if they were declared."""
        return self.declared.way(origin, goal) if self.declared is not None else ()

    def answer(self, obj: JsonObject, goal: DefinedVersion) -> Any:
        """What the author's function returns for an object that is its own to change."""
        origin = obj.get("apiVersion")
        try:
            out = self.function(obj, goal.api_version)
            if inspect.isawaitable(out):
                out = self._loop.run_until_complete(out)
        except Exception as error:
            raise Stopped(*_told(error)) from error
        if not isinstance(out, dict):
            raise Stopped(f"{type(out).__name__} was returned, not an object")
        if out.get("apiVersion") == origin:
            out["apiVersion"] = goal.api_version
        return out

    def raw(self, obj: JsonObject, goal: DefinedVersion) -> JsonObject:
        """The answer to a copy of the object, as it crosses the wire."""
        out = self.answer(copy_json(obj), goal)
        try:
            crossed: JsonObject = msgspec.json.decode(orjson.dumps(out))
        except (TypeError, ValueError, msgspec.DecodeError) as error:
            raise Stopped(f"the answer cannot be written as JSON: {error}") from None
        return crossed

    def convert(self, obj: JsonObject, goal: DefinedVersion) -> JsonObject:
        """What the API server makes of the answer.

        It is asked twice: what an earlier object left behind in the converter is a matter of its own.
        """
        self.raw(obj, goal)
        return self.accepted(obj, self.raw(obj, goal), goal)

    def accepted(self, obj: JsonObject, raw: JsonObject, goal: DefinedVersion) -> JsonObject:
        try:
            return taken(obj, raw, goal)
        except Unfit as error:
            said = str(error)
            text = f"the API server refuses the answer: {said.partition(' returned ')[2] or said}"
            raise Stopped(text, metadata=any(part in said for part in _IDENTITY)) from None


class Passage:
    """One valid object of a version, on its way to another and back. Everything is worked out when asked, and once."""

    def __init__(self, converter: Converter, origin: DefinedVersion, goal: DefinedVersion, obj: JsonObject) -> None:
        self.converter = converter
        self.origin = origin
        self.goal = goal
        self.obj = obj

    @cached_property
    def answers(self) -> tuple[JsonObject, JsonObject, JsonObject]:
        """The same asked three times: of these the first may still depend on what was converted before."""
        one, two, three = (self.converter.raw(self.obj, self.goal) for _ in range(3))
        return one, two, three

    @cached_property
    def there(self) -> JsonObject:
        """The object as it is read at the other version."""
        return self.converter.accepted(self.obj, self.answers[1], self.goal)

    @cached_property
    def written(self) -> JsonObject:
        """What the other version makes of that, when a client writes it or a server reads it from its store."""
        return admitted(self.goal, self.there)

    @cached_property
    def back(self) -> JsonObject:
        """The object as it is read at its own version again."""
        return self.returned(self.written)

    def returned(self, written: JsonObject) -> JsonObject:
        """What is read at the object's own version, of something written at the other."""
        out = self.converter.convert(written, self.origin)
        # Only what is read from the store gets defaults: nobody fills them in after a conversion.
        return self.origin.defaulted(out) if self.origin.storage else out


def admitted(version: DefinedVersion, obj: JsonObject) -> JsonObject:
    try:
        return version.admitted(obj)[0]
    except Unfit as error:
        raise Stopped(f"the API server refuses the answer: {error}") from None


def _told(error: Exception) -> tuple[str, str]:
    """What an author's function raised, and the line of it."""
    cause = error.__cause__ if isinstance(error, ConversionError) and error.__cause__ is not None else error
    frames = [frame for frame in traceback.extract_tb(cause.__traceback__) if not _ours(frame.filename)]
    where = f"{frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name}" if frames else ""
    said = str(cause)
    if isinstance(cause, ConversionError):
        # It begins with what the reader knows: which object, from which version to which.
        return said.partition(": ")[2] or said, where
    return (f"{type(cause).__name__}: {said}" if said else type(cause).__name__), where


def _ours(filename: str) -> bool:
    return filename == __file__ or filename.endswith(
        ("/polykind/toolkit/declare/conversions.py", "/polykind/toolkit/declare/stash.py")
    )
