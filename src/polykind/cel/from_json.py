"""JSON read as the values of a schema's types: times, durations, bytes, numbers, lists, maps, objects."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any

from polykind.cel import timestamps
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import Duration, MapList, ObjectFields, SchemaObject, SetList, Timestamp
from polykind.golang import time as gotime
from polykind.golang.fmt import go_type

FromJson = Callable[[Any], Any]
_no_octets = re.compile(r"[^A-Za-z0-9_\-=\r\n]").search


def int_or_string(value: Any) -> Any:
    if type(value) in (str, int):
        return value
    raise EvalError("invalid data, expected XIntOrString value to be either a string or integer")


def integer(value: Any) -> int:
    if type(value) is int:
        return value
    raise _misfit("int", value)


def integer_item(value: Any) -> Any:
    """An item of integers, or another value that counts as one; what is spelled as a fraction is none."""
    if type(value) in _OTHER_JSON:
        raise _misfit("int", value)
    return value


_OTHER_JSON = frozenset((float, str, bool, list, dict))


def number(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise _misfit("float", value)


def _misfit(wanted: str, value: Any) -> EvalError:
    """A value of another type than the schema has by now, which an update has left as it was."""
    return EvalError(f"invalid data, expected {wanted}, got {go_type(value)}")


PYTHON_TYPES: dict[str, type] = {"string": str, "boolean": bool, "object": dict, "array": list}
"""What values of a type are, where that is looked at before any rule runs."""


def wrong_type_message(type_name: str, value: Any) -> str:
    """What rules say of a value that is not what its type holds."""
    if type_name == "object":
        return "invalid data, expected a map for the provided schema with type=object"
    if type_name == "array":
        return "invalid data, expected an array for the provided schema with type=array"
    return str(_misfit("string" if type_name == "string" else "bool", value))


def nullable_item(read: FromJson | None, may: bool) -> FromJson | None:
    """A reader for the items of a list or map, where a null can stand."""
    if read is None:
        return None

    def item(value: Any) -> Any:
        if value is None:
            if may:
                return None
            raise EvalError("invalid data, got null for schema with nullable=false")
        return read(value)

    return item


def list_from_json(read: FromJson | None, list_type: str | None, keys: tuple[str, ...]) -> FromJson | None:
    if list_type == "set":
        return (lambda value: SetList(map(read, value))) if read else SetList
    if list_type == "map":
        if read is None:
            return lambda value: MapList(value, keys)
        return lambda value: MapList(map(read, value), keys)
    return (lambda value: list(map(read, value))) if read else None


def map_from_json(read: FromJson | None) -> FromJson | None:
    if read is None:
        return None
    return lambda value: {key: read(item) for key, item in value.items()}


def object_from_json(shape: ObjectFields) -> FromJson:
    def reader(value: Any) -> SchemaObject:
        if type(value) is not dict:
            raise EvalError("invalid data, expected a map for the provided schema with type=object")
        return SchemaObject(value, shape)

    return reader


def _duration(text: str) -> Duration:
    found = timestamps.parse_duration_format(text)
    if found is None:
        raise EvalError(f"Invalid duration {text}: unable to parse {text} as duration")
    return Duration(found)


def _date(text: str) -> Timestamp:
    found = timestamps.parse_rfc3339(f"{text}T00:00:00Z")
    if found is None:
        raise EvalError(f"Invalid date formatted string {text}{_why(text, gotime.DATE)}")
    return found


def _date_time(text: str) -> Timestamp:
    if not text:
        return Timestamp(0)
    found = timestamps.parse_rfc3339(text)
    if found is None:
        # Of the layouts that are tried the last one is told.
        raise EvalError(f"Invalid date-time formatted string {text}{_why(text, gotime.LOCAL_TIME)}")
    return found


def _why(text: str, layout: str) -> str:
    try:
        gotime.parse_time(text, layout)
    except ValueError as error:
        return f": {error}"
    return ""


def _octets(text: str) -> bytes:
    # The format takes the standard alphabet; the reference reads the one for URLs.
    foreign = _no_octets(text)
    try:
        if foreign is None:
            return base64.b64decode(text.encode(), altchars=b"-_")
    except (binascii.Error, ValueError):
        pass
    at = foreign.start() if foreign is not None else 0
    raise EvalError(f"Invalid byte formatted string {text}: illegal base64 data at input byte {at}")


STRING_FORMATS: dict[str, FromJson] = {"duration": _duration, "date": _date, "date-time": _date_time, "byte": _octets}
"""Readers of strings by their format."""
