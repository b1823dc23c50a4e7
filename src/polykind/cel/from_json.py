"""Conversion of JSON to the runtime values of a schema's types, as kube-apiserver's UnstructuredToVal does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel import timestamps
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import Duration, MapList, ObjectFields, SchemaObject, SetList, Timestamp
from polykind.golang import time as gotime
from polykind.golang.base64 import Base64Error, decode_base64
from polykind.golang.fmt import go_type

FromJson = Callable[[Any], Any]


def int_or_string(value: Any) -> Any:
    if type(value) in (str, int):
        return value
    raise EvalError("invalid data, expected XIntOrString value to be either a string or integer")


def integer(value: Any) -> int:
    if type(value) is int:
        return value
    raise _unexpected_type("int", value)


def integer_item(value: Any) -> Any:
    """Return an item of a list or map of integers. Raise EvalError if the item is not an integer. The float 1.0 is no
    integer.
    """
    if type(value) in _OTHER_JSON:
        raise _unexpected_type("int", value)
    return value


_OTHER_JSON = frozenset((float, str, bool, list, dict))


def number(value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    raise _unexpected_type("float", value)


def _unexpected_type(expected: str, value: Any) -> EvalError:
    """Return the error for a value of the wrong type. Such a value was valid under an earlier version of the schema."""
    return EvalError(f"invalid data, expected {expected}, got {go_type(value)}")


PYTHON_TYPES: dict[str, type] = {"string": str, "boolean": bool, "object": dict, "array": list}
"""Python types by schema type. Only values of these schema types are checked before a rule is evaluated."""


def wrong_type_message(type_name: str, value: Any) -> str:
    """Return the error message for a value that does not have the type its schema declares."""
    if type_name == "object":
        return "invalid data, expected a map for the provided schema with type=object"
    if type_name == "array":
        return "invalid data, expected an array for the provided schema with type=array"
    return str(_unexpected_type("string" if type_name == "string" else "bool", value))


def nullable_item(convert: FromJson | None, nullable: bool) -> FromJson | None:
    """Return the conversion of a list or map item. If `nullable` is true, the conversion accepts null."""
    if convert is None:
        return None

    def convert_item(value: Any) -> Any:
        if value is None:
            if nullable:
                return None
            raise EvalError("invalid data, got null for schema with nullable=false")
        return convert(value)

    return convert_item


def list_from_json(convert: FromJson | None, list_type: str | None, keys: tuple[str, ...]) -> FromJson | None:
    if list_type == "set":
        return (lambda value: SetList(map(convert, value))) if convert else SetList
    if list_type == "map":
        if convert is None:
            return lambda value: MapList(value, keys)
        return lambda value: MapList(map(convert, value), keys)
    return (lambda value: list(map(convert, value))) if convert else None


def map_from_json(convert: FromJson | None) -> FromJson | None:
    if convert is None:
        return None
    return lambda value: {key: convert(item) for key, item in value.items()}


def object_from_json(object_fields: ObjectFields) -> FromJson:
    def convert(value: Any) -> SchemaObject:
        if type(value) is not dict:
            raise EvalError("invalid data, expected a map for the provided schema with type=object")
        return SchemaObject(value, object_fields)

    return convert


def _duration(text: str) -> Duration:
    nanoseconds = timestamps.parse_duration_format(text)
    if nanoseconds is None:
        raise EvalError(f"Invalid duration {text}: unable to parse {text} as duration")
    return Duration(nanoseconds)


def _date(text: str) -> Timestamp:
    timestamp = timestamps.parse_rfc3339(f"{text}T00:00:00Z")
    if timestamp is None:
        raise EvalError(f"Invalid date formatted string {text}{_parse_error(text, gotime.DATE)}")
    return timestamp


def _date_time(text: str) -> Timestamp:
    if not text:
        return Timestamp(0)
    timestamp = timestamps.parse_rfc3339(text)
    if timestamp is None:
        # kube-apiserver tries several layouts and reports the error of the last one.
        raise EvalError(f"Invalid date-time formatted string {text}{_parse_error(text, gotime.LOCAL_TIME)}")
    return timestamp


def _parse_error(text: str, layout: str) -> str:
    try:
        gotime.parse_time(text, layout)
    except ValueError as error:
        return f": {error}"
    return ""


def _bytes(text: str) -> bytes:
    # The schema's format accepts standard base64, but kube-apiserver's conversion decodes URL-safe base64.
    try:
        return decode_base64(text, url_safe=True)
    except Base64Error as error:
        raise EvalError(f"Invalid byte formatted string {text}: {error}") from None


STRING_FORMATS: dict[str, FromJson] = {"duration": _duration, "date": _date, "date-time": _date_time, "byte": _bytes}
"""Conversions of JSON strings to CEL values, by OpenAPI format."""
