"""Decoding of typical objects by a Python function that is generated once for each type.

A typical object has no error, no unknown field and no unusual value. The function returns what `Struct.decode` returns
for it, in a third of the time, because it needs no place in the object for error messages. It raises AtypicalError for
any other object, which `Struct.decode` then decodes.

    def F1(value):
        if type(value) is not dict: raise AtypicalError
        get = value.get
        out, n = {}, 0
        v = get(C2)  # C2 = "name"
        if v is not None:
            n += 1
            if type(v) is not str: raise AtypicalError
            if v: out[C2] = v
        if n != len(value) and n + nulls(value, C3) != len(value): raise AtypicalError
        return out

As in docs/decisions/0013, names and types are values in the namespace of the functions: no text becomes source code.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import cache
from typing import Any, Final

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.decoding import DecodeError, Decoding, Location
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, ValueType
from polykind.contract import JsonObject
from polykind.golang.sorting import sorted_strings
from polykind.schema.codegen import FunctionBody, Program


class AtypicalError(Exception):
    """An object may have an error, an unknown field or an unusual value."""


class TypicalDecoder:
    """Decodes typical objects of one type. Its program is generated when the type has been used a few times."""

    _USES = 8

    def __init__(self, struct: Struct) -> None:
        self._struct = struct
        self._uses = 0
        self._decode: Callable[[Any], JsonObject] | None = None

    def decode(self, value: object) -> JsonObject:
        """Return the decoded object. Raise AtypicalError if it is not typical, or if there is no program yet."""
        if self._decode is None:
            self._uses += 1
            if self._uses <= self._USES:
                raise AtypicalError
            self._decode = _program.compiled(_function(self._struct))
        try:
            return self._decode(value)
        except (DecodeError, ValueError, RecursionError):
            raise AtypicalError from None


@cache
def typical_decoder(struct: Struct) -> TypicalDecoder:
    return TypicalDecoder(struct)


def _function(struct: Struct) -> str:
    """Return the name of the generated function that decodes values of a struct."""
    return _program.function(struct, "value", lambda body: _write_struct(body, struct))


def _write_struct(body: FunctionBody, struct: Struct) -> None:
    body.add("if type(value) is not dict: raise AtypicalError", "get = value.get", "out, n = {}, 0")
    for field in struct.fields:
        _write_field(body, field)
    known = _program.constant(frozenset(field.name for field in struct.fields))
    body.add(
        f"if n != len(value) and n + nulls(value, {known}) != len(value): raise AtypicalError",
        "return out",
    )


def _write_field(body: FunctionBody, field: Field) -> None:
    """Add code that copies a field into `out`, unless Go omits it."""
    name = _program.constant(field.name)
    body.add(f"v = get({name})", "if v is not None:", " n += 1")
    body.indent += 1
    decoded = _write_value(body, field.type, "v")
    if field.always:
        body.add(f"out[{name}] = {decoded}")
    elif field.pointer or field.keep_empty:
        body.add(f"v = {decoded}", f"if v is not None: out[{name}] = v")
    else:
        body.add(f"v = {decoded}", f"if v: out[{name}] = v")
    body.indent -= 1
    if field.always:
        zero = "None" if field.pointer else f"{_program.constant(field.type.zero)}()"
        body.add(f"else: out[{name}] = {zero}")


def _write_value(body: FunctionBody, value_type: ValueType, value: str) -> str:
    """Add code that checks the value of a variable, and return the expression of the decoded value."""
    if isinstance(value_type, ListOf):
        return _write_list(body, value_type.item, value)
    if isinstance(value_type, MapOf):
        return _write_map(body, value_type.item, value)
    if isinstance(value_type, types.String):
        body.add(f"if type({value}) is not str: raise AtypicalError")
        return value
    if isinstance(value_type, types.Bool):
        body.add(f"if type({value}) is not bool: raise AtypicalError")
        return value
    if isinstance(value_type, types.Int):
        bound = _program.constant(value_type.bound)
        body.add(f"if type({value}) is not int or not -{bound} <= {value} < {bound}: raise AtypicalError")
        return value
    if type(value_type).decode is Struct.decode:
        return f"{_function(value_type)}({value})"  # type: ignore[arg-type]
    if isinstance(value_type, types.Time):
        body.add(f"if type({value}) is not str: raise AtypicalError")
        return f"{_program.constant(value_type.normalize)}({value})"
    return f"{_program.constant(_one_value(value_type))}({value})"


def _write_list(body: FunctionBody, item_type: ValueType, value: str) -> str:
    body.add(f"if type({value}) is not list: raise AtypicalError")
    item = body.variable()
    if item_type.plain is not None:
        body.block(f"for {item} in {value}:", lambda: _require_plain(body, item_type, item))
        return f"[*{value}]"
    items = body.variable()
    body.add(f"{items} = []")
    body.block(f"for {item} in {value}:", lambda: body.add(f"{items}.append({_write_value(body, item_type, item)})"))
    return items


def _write_map(body: FunctionBody, item_type: ValueType, value: str) -> str:
    body.add(f"if type({value}) is not dict: raise AtypicalError")
    key, item = body.variable(), body.variable()
    if item_type.plain is not None:
        body.block(f"for {item} in {value}.values():", lambda: _require_plain(body, item_type, item))
        return f"{{{key}: {value}[{key}] for {key} in sorted_strings({value})}}"
    items = body.variable()
    body.add(f"{items} = {{}}")

    def write() -> None:
        body.add(f"{item} = {value}[{key}]")
        body.add(f"{items}[{key}] = {_write_value(body, item_type, item)}")

    body.block(f"for {key} in sorted_strings({value}):", write)
    return items


def _require_plain(body: FunctionBody, value_type: ValueType, value: str) -> None:
    body.add(f"if type({value}) is not {_program.constant(value_type.plain)}: raise AtypicalError")


def _one_value(value_type: ValueType) -> Callable[[Any], Any]:
    """Return a function that decodes one value with the type's own decoder."""
    inside = Location(None, "", "", _DEPTH)

    def decode(value: Any) -> Any:
        if value is None:
            raise AtypicalError
        run = Decoding(report_unknown=True)
        decoded = value_type.decode(value, inside, run)
        if run.error is not None or run.unknown:
            raise AtypicalError
        return decoded

    return decode


_DEPTH: Final = 12
"""No value of these types lies deeper in an object. So a value that is nested too deeply is always atypical."""


def _nulls(value: JsonObject, known: Set[str]) -> int:
    """Return the number of known fields that are null."""
    return sum(item is None and key in known for key, item in value.items())


_program: Final = Program(
    {
        "AtypicalError": AtypicalError,
        "bool": bool,
        "dict": dict,
        "int": int,
        "len": len,
        "list": list,
        "nulls": _nulls,
        "sorted_strings": sorted_strings,
        "str": str,
        "type": type,
    }
)
