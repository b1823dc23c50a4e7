"""CEL's standard library: operators, conversions, sizes, timestamps and optional values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from polykind.cel import arithmetic, timestamps
from polykind.cel.arithmetic import check_int, check_uint
from polykind.cel.ast import UInt
from polykind.cel.cel_types import Type
from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError
from polykind.cel.runtime_values import (
    NONE,
    ConcatList,
    ConstructedList,
    ConstructedMap,
    Duration,
    MapList,
    Optional,
    SchemaObject,
    SetList,
    StringList,
    Timestamp,
    compare,
    equals,
    is_zero,
    runtime_type,
)


def error_text(value: Any) -> str:
    """Format a value for an error message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return arithmetic.double_to_string(value)
    return str(value)


def index_list(items: list[Any], key: Any) -> Any:
    index = _list_index(key)
    if 0 <= index < len(items):
        return items[index]
    raise EvalError(f"index out of bounds: {index}")


def _list_index(index: Any) -> int:
    if type(index) is int or type(index) is UInt:
        return index
    if type(index) is float:
        if index.is_integer():
            return int(index)
        raise EvalError(f"unsupported index value {error_text(index)} in list")
    raise EvalError(f"unsupported index type '{runtime_type(index)}' in list")


def index_map(entries: Any, key: Any) -> Any:
    if isinstance(entries, SchemaObject):
        return entries.get(key)
    try:
        return entries[key]
    except KeyError:
        raise EvalError(f"no such key: {error_text(key)}") from None


_INVALID_QUALIFIER_TYPES: dict[type, str] = {
    type(None): "<nil>",
    **dict.fromkeys((list, ConstructedList, ConcatList, StringList), "[]interface {}"),
    **dict.fromkeys((dict, ConstructedMap), "map[string]interface {}"),
    SchemaObject: "*common.unstructuredMap",
    SetList: "*common.unstructuredSetList",
    MapList: "*common.unstructuredMapList",
    bytes: "types.Bytes",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Optional: "*types.Optional",
    Type: "*types.Type",
}


def _check_qualifier(key: Any) -> None:
    """Raise EvalError unless the key is a string, number or bool."""
    type_name = _INVALID_QUALIFIER_TYPES.get(type(key))
    if type_name is not None:
        raise EvalError(f"invalid qualifier type: {type_name}")


def index(container: Any, key: Any) -> Any:
    """Return an element of a container whose type is known only at runtime."""
    _check_qualifier(key)
    if isinstance(container, list):
        return index_list(container, key)
    if isinstance(container, dict | SchemaObject):
        return index_map(container, key)
    if isinstance(container, Optional):
        return optional_index(container, key)
    raise EvalError(f"no such key: {error_text(key)}")


def optional_index(container: Any, key: Any) -> Optional:
    """Return the element as an optional value, none if it or the container is absent."""
    _check_qualifier(key)
    if isinstance(container, Optional):
        if not container.present:
            return NONE
        container = container.value
    if isinstance(container, list):
        index = _list_index(key)
        return Optional(True, container[index]) if 0 <= index < len(container) else NONE
    if isinstance(container, SchemaObject):
        return Optional(True, container.get(key)) if container.has(key) else NONE
    if not isinstance(container, dict):
        return NONE
    return Optional(True, container[key]) if key in container else NONE


def in_list(item: Any, items: list[Any]) -> bool:
    if type(item) is str:
        return item in items
    return any(equals(item, one) for one in items)


def in_map(key: Any, entries: Any) -> bool:
    if isinstance(entries, SchemaObject):
        return entries.has(key)
    return not isinstance(key, list | dict) and key in entries


def add_lists(left: list[Any], right: list[Any]) -> list[Any]:
    if isinstance(left, SetList):
        return SetList(item for _, item in dict.fromkeys((type(item), item) for item in [*left, *right]))
    if isinstance(left, MapList):
        merged = MapList(left, left.keys)
        places = {left.key_of(item): index for index, item in enumerate(left)}
        for item in right:
            index = places.get(left.key_of(item))
            if index is None:
                merged.append(item)
            else:
                merged[index] = item
        return merged
    return ConcatList([*left, *right]) if left and right else left or right


def _length(value: Any) -> int:
    return len(value.raw) if isinstance(value, SchemaObject) else len(value)


def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def _add_duration(time: Timestamp, duration: Duration) -> Timestamp:
    return timestamps.check_range(Timestamp(time.ns + duration.ns, time.offset))


def _subtract_duration(time: Timestamp, duration: Duration) -> Timestamp:
    return timestamps.check_range(Timestamp(time.ns - duration.ns, time.offset))


def _timestamp_accessor(name: str) -> Callable[..., int]:
    return lambda time, zone="UTC": timestamps.timestamp_part(time, name, zone)


def _duration_accessor(name: str) -> Callable[..., int]:
    return lambda duration: timestamps.duration_part(duration, name)


def in_string_map(key: Any, entries: dict[str, Any]) -> bool:
    if type(key) is not str:
        raise EvalError(NO_OVERLOAD)
    return key in entries


def index_string_map(entries: dict[str, Any], key: Any) -> Any:
    _check_qualifier(key)
    if type(key) is not str:
        raise EvalError(NO_OVERLOAD)
    return index_map(entries, key)


def optional_of_non_zero_field(value: Any) -> Optional:
    """Implement optional.ofNonZeroValue() for an object's field, where even an empty list or map is no zero value."""
    return Optional(True, value) if isinstance(value, list | dict) or not is_zero(value) else NONE


def map_insert(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """Insert an entry in place: no other expression can access the map of a comprehension before its end."""
    if key in entries:
        raise EvalError(f"insert failed: key {error_text(key)} already exists")
    entries[key] = value
    return entries


def map_merge(entries: dict[Any, Any], added: dict[Any, Any]) -> dict[Any, Any]:
    for key, value in added.items():
        map_insert(entries, key, value)
    return entries


def _optional_value(optional: Optional) -> Any:
    if not optional.present:
        raise EvalError("optional.none() dereference")
    return optional.value


def _unwrap(items: list[Any]) -> list[Any]:
    return [item.value for item in items if item.present]


def _to_duration(value: int) -> Duration:
    """Raise EvalError: cel-go declares this conversion and does not implement it."""
    raise EvalError("type conversion error from 'int' to 'google.protobuf.Duration'")


def _to_timestamp(value: int) -> Timestamp:
    return timestamps.check_range(Timestamp(value * 10**9))


def _identity(value: Any) -> Any:
    return value


def _not(value: Any) -> bool:
    if type(value) is not bool:
        raise EvalError(NO_OVERLOAD)
    return not value


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt,
    "less_equals": operator.le,
    "greater": operator.gt,
    "greater_equals": operator.ge,
}


def double_comparison(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of doubles that raises EvalError for NaN."""

    def checked(left: float, right: float) -> bool:
        if test(left, right):
            return True
        if left != left or right != right:
            raise EvalError("NaN values cannot be ordered")
        return False

    return checked


def _mixed_comparison(word: str) -> Callable[[Any, Any], bool]:
    """Return a comparison of numbers of different types."""
    compare_operator = COMPARISONS[word]
    return lambda left, right: compare_operator(compare(left, right), 0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "logical_not": _not,
    "equals": equals,
    "not_equals": lambda left, right: not equals(left, right),
    "add_bytes": operator.add,
    "add_double": operator.add,
    "add_duration_duration": lambda a, b: Duration(arithmetic.check_int(a.ns + b.ns)),
    "add_duration_timestamp": lambda duration, time: _add_duration(time, duration),
    "add_timestamp_duration": _add_duration,
    "add_int64": arithmetic.add,
    "add_list": add_lists,
    "add_string": operator.add,
    "add_uint64": arithmetic.add_unsigned,
    "divide_double": arithmetic.divide_double,
    "divide_int64": arithmetic.divide,
    "divide_uint64": arithmetic.divide_unsigned,
    "modulo_int64": arithmetic.modulo,
    "modulo_uint64": arithmetic.modulo_unsigned,
    "multiply_double": operator.mul,
    "multiply_int64": lambda a, b: check_int(a * b),
    "multiply_uint64": lambda a, b: check_uint(int(a) * int(b)),
    "negate_double": operator.neg,
    "negate_int64": lambda value: check_int(-value),
    "subtract_double": operator.sub,
    "subtract_duration_duration": lambda a, b: Duration(arithmetic.check_int(a.ns - b.ns)),
    "subtract_int64": lambda a, b: check_int(a - b),
    "subtract_timestamp_duration": _subtract_duration,
    "subtract_timestamp_timestamp": lambda a, b: Duration(arithmetic.check_int(a.ns - b.ns)),
    "subtract_uint64": lambda a, b: check_uint(int(a) - int(b)),
    **{
        f"{word}_{kind}": compare_operator
        for word, compare_operator in COMPARISONS.items()
        for kind in ("bool", "int", "uint", "string", "bytes", "duration", "timestamp")
    },
    **{f"{word}_double": double_comparison(compare_operator) for word, compare_operator in COMPARISONS.items()},
    **{
        f"{word}_{left}_{right}": _mixed_comparison(word)
        for word in COMPARISONS
        for left in ("int", "uint", "double")
        for right in ("int", "uint", "double")
        if left != right
    },
    "index_list": index_list,
    "index_map": index_map,
    "optional_list_index_int": optional_index,
    "optional_map_index_value": optional_index,
    "list_optindex_optional_int": optional_index,
    "optional_list_optindex_optional_int": optional_index,
    "map_optindex_optional_value": optional_index,
    "optional_map_optindex_optional_value": optional_index,
    "in_list": in_list,
    "in_map": in_map,
    **dict.fromkeys(("size_bytes", "bytes_size", "size_list", "list_size", "size_string", "string_size"), len),
    **dict.fromkeys(("size_map", "map_size"), _length),
    "type": runtime_type,
    "bool_to_bool": _identity,
    "string_to_bool": arithmetic.string_to_bool,
    "bytes_to_bytes": _identity,
    "string_to_bytes": lambda text: text.encode("utf-8", "replace"),
    "double_to_double": _identity,
    "int64_to_double": float,
    "string_to_double": arithmetic.string_to_double,
    "uint64_to_double": float,
    "duration_to_duration": _identity,
    "int64_to_duration": _to_duration,
    "string_to_duration": timestamps.parse_duration,
    "to_dyn": _identity,
    "int64_to_int64": _identity,
    "double_to_int64": arithmetic.double_to_int,
    "duration_to_int64": lambda duration: duration.ns,
    "string_to_int64": arithmetic.string_to_int,
    "timestamp_to_int64": lambda time: time.ns // 10**9,
    "uint64_to_int64": lambda value: arithmetic.check_int(int(value)),
    "string_to_string": str.__str__,
    "bool_to_string": error_text,
    "bytes_to_string": _bytes_to_string,
    "double_to_string": arithmetic.double_to_string,
    "duration_to_string": timestamps.format_duration,
    "int64_to_string": int.__repr__,
    "timestamp_to_string": timestamps.format_timestamp,
    "uint64_to_string": str,
    "timestamp_to_timestamp": _identity,
    "int64_to_timestamp": _to_timestamp,
    "string_to_timestamp": timestamps.parse_timestamp,
    "uint64_to_uint64": _identity,
    "double_to_uint64": arithmetic.double_to_uint,
    "int64_to_uint64": arithmetic.check_uint,
    "string_to_uint64": arithmetic.string_to_uint,
    "@mapInsert_map_key_value": map_insert,
    "@mapInsert_map_map": map_merge,
    "optional_of": lambda value: Optional(True, value),
    "optional_ofNonZeroValue": lambda value: NONE if is_zero(value) else Optional(True, value),
    "optional_none": lambda: NONE,
    "optional_value": _optional_value,
    "optional_hasValue": lambda optional: optional.present,
    "list_last": lambda items: Optional(True, items[-1]) if items else NONE,
    "list_first": lambda items: Optional(True, items[0]) if items else NONE,
    "optional_unwrap": _unwrap,
    "optional_unwrapOpt": _unwrap,
}

_TIMESTAMP_PARTS = (
    "year month day_of_year day_of_month day_of_month_1_based day_of_week hours minutes seconds milliseconds"
)
for _name in _TIMESTAMP_PARTS.split():
    FUNCTIONS[f"timestamp_to_{_name}"] = FUNCTIONS[f"timestamp_to_{_name}_with_tz"] = _timestamp_accessor(_name)
    if _name in ("hours", "minutes", "seconds", "milliseconds"):
        FUNCTIONS[f"duration_to_{_name}"] = _duration_accessor(_name)


def select(value: Any, name: str) -> Any:
    """Return a field of a value whose type is known only at runtime."""
    if isinstance(value, SchemaObject):
        return value.get(name)
    if isinstance(value, dict):
        return index_map(value, name)
    if isinstance(value, Optional):
        return optional_index(value, name)
    if isinstance(value, list):
        return index_list(value, name)
    raise EvalError(f"no such key: {name}")


def has(value: Any, name: str) -> bool:
    if isinstance(value, SchemaObject):
        return value.has(name)
    if isinstance(value, Optional):
        return value.present and has(value.value, name)
    if isinstance(value, list):
        index_list(value, name)
    return isinstance(value, dict) and name in value
