"""CEL's standard library: operators, conversions, sizes, timestamps and optional values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
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
    """Raise EvalError if the key is not a string, number or bool, because CEL has no other index types."""
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
    """Return an element as an optional value. Return optional.none() if the element or the container is absent."""
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


def _add_durations(one: Duration, other: Duration) -> Duration:
    return Duration(check_int(one.ns + other.ns))


def _time_difference(one: Any, other: Any) -> Duration:
    return Duration(check_int(one.ns - other.ns))


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
    """Implement optional.ofNonZeroValue() for a field of an object. Here an empty list or map is not a zero value."""
    return Optional(True, value) if isinstance(value, list | dict) or not is_zero(value) else NONE


def map_insert(entries: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    """Insert an entry into the map in place. This is safe: only the comprehension that builds the map can access it."""
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


def _optional_of_non_zero_value(value: Any) -> Optional:
    return NONE if is_zero(value) else Optional(True, value)


def _to_duration(value: int) -> Duration:
    """Raise EvalError, because cel-go declares this conversion but does not implement it."""
    raise EvalError("type conversion error from 'int' to 'google.protobuf.Duration'")


def _to_timestamp(value: int) -> Timestamp:
    return timestamps.check_range(Timestamp(value * 10**9))


def _identity(value: Any) -> Any:
    return value


def _not(value: Any) -> bool:
    if type(value) is not bool:
        raise EvalError(NO_OVERLOAD)
    return not value


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


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt,
    "less_equals": operator.le,
    "greater": operator.gt,
    "greater_equals": operator.ge,
}
_NUMBERS = ("int", "uint", "double")
_COMPARISON_OPERATORS = {"less": "<", "less_equals": "<=", "greater": ">", "greater_equals": ">="}
_TIME_PARTS = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}
"""The component that each accessor of timestamps or durations returns."""


def double_comparison(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison function for doubles that raises EvalError if an operand is NaN."""

    def checked(left: float, right: float) -> bool:
        if test(left, right):
            return True
        if left != left or right != right:
            raise EvalError("NaN values cannot be ordered")
        return False

    return checked


def _comparisons() -> Iterator[tuple[str, Callable[[Any, Any], bool]]]:
    """Yield the declarations and implementations of <, <=, > and >=."""
    for word, test in COMPARISONS.items():
        function = f"_{_COMPARISON_OPERATORS[word]}_"
        for kind in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"):
            implementation = double_comparison(test) if kind == "double" else test
            yield f"{function} {word}_{kind} {kind} {kind} -> bool", implementation
        for left, right in ((one, other) for one in _NUMBERS for other in reversed(_NUMBERS) if one != other):
            yield f"{function} {word}_{left}_{right} {left} {right} -> bool", _mixed_comparison(test)


def _mixed_comparison(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison function for numbers of different types."""
    return lambda left, right: test(compare(left, right), 0)


def _time_accessors() -> Iterator[tuple[str, Callable[..., int]]]:
    """Yield the declarations and implementations of getHours() and the other accessors of timestamps and durations."""
    for function, part in _TIME_PARTS.items():
        timestamp_part = partial(timestamps.timestamp_part, part)
        yield f".{function} timestamp_to_{part} timestamp -> int", timestamp_part
        yield f".{function} timestamp_to_{part}_with_tz timestamp string -> int", timestamp_part
        if part in ("hours", "minutes", "seconds", "milliseconds"):
            yield f".{function} duration_to_{part} duration -> int", partial(timestamps.duration_part, part)


def _planned(*args: Any) -> Any:
    """Placeholder for a function with lazily evaluated arguments. The planner implements such functions itself."""
    raise EvalError(NO_OVERLOAD)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_?_:_ conditional bool A A -> A": _planned,
    "_&&_ logical_and bool bool -> bool": _planned,
    "_||_ logical_or bool bool -> bool": _planned,
    "!_ logical_not bool -> bool": _not,
    "@not_strictly_false not_strictly_false bool -> bool": _planned,
    "_==_ equals A A -> bool": equals,
    "_!=_ not_equals A A -> bool": lambda left, right: not equals(left, right),
    "_+_ add_bytes bytes bytes -> bytes": operator.add,
    "_+_ add_double double double -> double": operator.add,
    "_+_ add_duration_duration duration duration -> duration": _add_durations,
    "_+_ add_duration_timestamp duration timestamp -> timestamp": lambda duration, time: _add_duration(time, duration),
    "_+_ add_timestamp_duration timestamp duration -> timestamp": _add_duration,
    "_+_ add_int64 int int -> int": arithmetic.add,
    "_+_ add_list list(A) list(A) -> list(A)": add_lists,
    "_+_ add_string string string -> string": operator.add,
    "_+_ add_uint64 uint uint -> uint": arithmetic.add_unsigned,
    "_/_ divide_double double double -> double": arithmetic.divide_double,
    "_/_ divide_int64 int int -> int": arithmetic.divide,
    "_/_ divide_uint64 uint uint -> uint": arithmetic.divide_unsigned,
    "_%_ modulo_int64 int int -> int": arithmetic.modulo,
    "_%_ modulo_uint64 uint uint -> uint": arithmetic.modulo_unsigned,
    "_*_ multiply_double double double -> double": operator.mul,
    "_*_ multiply_int64 int int -> int": lambda a, b: check_int(a * b),
    "_*_ multiply_uint64 uint uint -> uint": lambda a, b: check_uint(int(a) * int(b)),
    "-_ negate_double double -> double": operator.neg,
    "-_ negate_int64 int -> int": lambda value: check_int(-value),
    "_-_ subtract_double double double -> double": operator.sub,
    "_-_ subtract_duration_duration duration duration -> duration": _time_difference,
    "_-_ subtract_int64 int int -> int": lambda a, b: check_int(a - b),
    "_-_ subtract_timestamp_duration timestamp duration -> timestamp": _subtract_duration,
    "_-_ subtract_timestamp_timestamp timestamp timestamp -> duration": _time_difference,
    "_-_ subtract_uint64 uint uint -> uint": lambda a, b: check_uint(int(a) - int(b)),
    **dict(_comparisons()),
    "_[_] index_list list(A) int -> A": index_list,
    "_[_] index_map map(A,B) A -> B": index_map,
    "_[_] optional_list_index_int optional(list(V)) int -> optional(V)": optional_index,
    "_[_] optional_map_index_value optional(map(K,V)) K -> optional(V)": optional_index,
    "_[?_] list_optindex_optional_int list(V) int -> optional(V)": optional_index,
    "_[?_] optional_list_optindex_optional_int optional(list(V)) int -> optional(V)": optional_index,
    "_[?_] map_optindex_optional_value map(K,V) K -> optional(V)": optional_index,
    "_[?_] optional_map_optindex_optional_value optional(map(K,V)) K -> optional(V)": optional_index,
    "@in in_list A list(A) -> bool": in_list,
    "@in in_map A map(A,B) -> bool": in_map,
    "size size_bytes bytes -> int": len,
    ".size bytes_size bytes -> int": len,
    "size size_list list(A) -> int": len,
    ".size list_size list(A) -> int": len,
    "size size_map map(A,B) -> int": _length,
    ".size map_size map(A,B) -> int": _length,
    "size size_string string -> int": len,
    ".size string_size string -> int": len,
    "type type A -> type(A)": runtime_type,
    "bool bool_to_bool bool -> bool": _identity,
    "bool string_to_bool string -> bool": arithmetic.string_to_bool,
    "bytes bytes_to_bytes bytes -> bytes": _identity,
    "bytes string_to_bytes string -> bytes": lambda text: text.encode("utf-8", "replace"),
    "double double_to_double double -> double": _identity,
    "double int64_to_double int -> double": float,
    "double string_to_double string -> double": arithmetic.string_to_double,
    "double uint64_to_double uint -> double": float,
    "duration duration_to_duration duration -> duration": _identity,
    "duration int64_to_duration int -> duration": _to_duration,
    "duration string_to_duration string -> duration": timestamps.parse_duration,
    "dyn to_dyn A -> dyn": _identity,
    "int int64_to_int64 int -> int": _identity,
    "int double_to_int64 double -> int": arithmetic.double_to_int,
    "int duration_to_int64 duration -> int": lambda duration: duration.ns,
    "int string_to_int64 string -> int": arithmetic.string_to_int,
    "int timestamp_to_int64 timestamp -> int": lambda time: time.ns // 10**9,
    "int uint64_to_int64 uint -> int": lambda value: check_int(int(value)),
    "string string_to_string string -> string": str.__str__,
    "string bool_to_string bool -> string": error_text,
    "string bytes_to_string bytes -> string": _bytes_to_string,
    "string double_to_string double -> string": arithmetic.double_to_string,
    "string duration_to_string duration -> string": timestamps.format_duration,
    "string int64_to_string int -> string": int.__repr__,
    "string timestamp_to_string timestamp -> string": timestamps.format_timestamp,
    "string uint64_to_string uint -> string": str,
    "timestamp timestamp_to_timestamp timestamp -> timestamp": _identity,
    "timestamp int64_to_timestamp int -> timestamp": _to_timestamp,
    "timestamp string_to_timestamp string -> timestamp": timestamps.parse_timestamp,
    "uint uint64_to_uint64 uint -> uint": _identity,
    "uint double_to_uint64 double -> uint": arithmetic.double_to_uint,
    "uint int64_to_uint64 int -> uint": check_uint,
    "uint string_to_uint64 string -> uint": arithmetic.string_to_uint,
    **dict(_time_accessors()),
    "cel.@mapInsert @mapInsert_map_key_value map(K,V) K V -> map(K,V)": map_insert,
    "cel.@mapInsert @mapInsert_map_map map(K,V) map(K,V) -> map(K,V)": map_merge,
    "optional.of optional_of V -> optional(V)": lambda value: Optional(True, value),
    "optional.ofNonZeroValue optional_ofNonZeroValue V -> optional(V)": _optional_of_non_zero_value,
    "optional.none optional_none -> optional(V)": lambda: NONE,
    ".value optional_value optional(V) -> V": _optional_value,
    ".hasValue optional_hasValue optional(V) -> bool": lambda optional: optional.present,
    ".or optional_or_optional optional(V) optional(V) -> optional(V)": _planned,
    ".orValue optional_orValue_value optional(V) V -> V": _planned,
    ".last list_last list(V) -> optional(V)": lambda items: Optional(True, items[-1]) if items else NONE,
    ".first list_first list(V) -> optional(V)": lambda items: Optional(True, items[0]) if items else NONE,
    "optional.unwrap optional_unwrap list(optional(V)) -> list(V)": _unwrap,
    ".unwrapOpt optional_unwrapOpt list(optional(V)) -> list(V)": _unwrap,
}
