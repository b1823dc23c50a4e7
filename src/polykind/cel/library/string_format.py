"""format(): clauses such as %s, %d and %.2f, checked before the first use where the text is a constant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from polykind.cel import arithmetic, timestamps
from polykind.cel.evaluation_errors import CostExceededError, EvalError
from polykind.cel.runtime_values import SchemaObject, kind_of, runtime_type
from polykind.golang.fmt import go_quote

_PRECISE = 6
_MOST_PRECISE = 10_000
_SHOWN = "list map int uint double bool string timestamp bytes duration type"
_STRING_KINDS = frozenset(_SHOWN.split())

CLAUSE_ERRORS = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps, was given {}",
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}


class Clause(NamedTuple):
    """A place for an argument; `kind` is its letter in lower case."""

    kind: str
    upper: bool
    precision: int


class FormatError(ValueError):
    """The text of a format is wrong."""


def parse_format(text: str, available: int, *, literal: bool = False) -> Iterator[str | Clause]:
    """The parts of a format in order, each before the next is read. Raises FormatError.

    A `literal` is read before there is anything to be shown, and told of its end before its arguments.
    """
    at = taken = 0
    while at < len(text):
        found = text.find("%", at)
        if found < 0:
            yield text[at:]
            return
        yield text[at:found]
        if text[found + 1 : found + 2] == "%":
            yield "%"
            at = found + 2
            continue
        if taken >= available and not literal:
            raise FormatError(f"index {taken} out of range")
        if found + 1 >= len(text):
            raise FormatError("unexpected end of string")
        if taken >= available:
            raise FormatError(f"index {taken} out of range")
        clause, at = _clause(text, found + 1)
        yield clause
        taken += 1


def _clause(text: str, at: int) -> tuple[Clause, int]:
    precision = _PRECISE
    if text[at] == ".":
        end = at + 1
        while end < len(text) and text[end] in "0123456789":
            end += 1
        if end >= len(text):
            raise FormatError(
                "could not parse formatting clause: error while parsing precision: "
                "could not find end of precision specifier"
            )
        digits = text[at + 1 : end]
        if not digits:
            raise FormatError(
                "could not parse formatting clause: error while parsing precision: "
                'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            )
        precision = int(digits) if len(digits) < 10 else 10**9
        at = end
    letter = text[at]
    if letter not in "sdfebxXo":
        raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
    return Clause(letter.lower(), letter == "X", precision), at + 1


def format_string(text: str, args: list[Any]) -> str:
    given = iter(args)
    try:
        parts = parse_format(text, len(args))
        return "".join([part if isinstance(part, str) else _formatted(part, next(given)) for part in parts])
    except FormatError as wrong:
        raise EvalError(str(wrong)) from None


def _formatted(clause: Clause, value: Any) -> str:
    shown = _BY_KIND[clause.kind](clause, value)
    if shown is None:
        complaint = CLAUSE_ERRORS[clause.kind].format(_type_name(value))
        raise EvalError(f"error during formatting: {complaint}")
    return shown


def _type_name(value: Any) -> str:
    return str(runtime_type(value))


def _string(clause: Clause, value: Any) -> str | None:
    kind = kind_of(value)
    if kind == "null":
        return "null"
    return format_value(value) if kind in _STRING_KINDS else None


def format_value(value: Any) -> str:
    """A value as %s writes it."""
    kind = kind_of(value)
    match kind:
        case "list":
            return f"[{', '.join(_inner(item) for item in value)}]"
        case "map":
            return _map_text(value)
        case "double":
            return arithmetic.double_to_string(value)
        case "bool":
            return "true" if value else "false"
        case "timestamp":
            return timestamps.format_timestamp(value)
        case "duration":
            return timestamps.format_duration(value)
        case "bytes":
            return _bytes_text(value)
        case _:
            return str(value)


def _bytes_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("error during formatting: could not convert argument to string") from None


def _inner(value: Any) -> str:
    """A value inside a list or a map."""
    match kind_of(value):
        case "string":
            return go_quote(value)
        case "bytes":
            return f"b{go_quote(_bytes_text(value))}"
        case "timestamp":
            return f"timestamp({go_quote(timestamps.format_timestamp(value))})"
        case "duration":
            return f"duration({go_quote(timestamps.format_duration(value))})"
        case "double":
            if math.isfinite(value):
                return f"{value:.6f}"
            return go_quote(arithmetic.double_to_string(value))
        case "null":
            return "null"
        case "list" | "map" | "int" | "uint" | "bool" | "type":
            return format_value(value)
        case kind:
            raise EvalError(f"error during formatting: no formatting function for {kind}")


def _map_text(value: Any) -> str:
    items = (
        [(name, value.get(name)) for name in value.names()] if isinstance(value, SchemaObject) else list(value.items())
    )
    pairs = sorted((_key(key), _inner(item)) for key, item in items)
    return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"


def _key(key: Any) -> str:
    kind = kind_of(key)
    if kind == "string":
        return go_quote(key)
    if kind in ("bool", "int", "uint"):
        return format_value(key)
    raise EvalError(f"error during formatting: no formatting function for map key of type {runtime_type(key)}")


def _decimal(clause: Clause, value: Any) -> str | None:
    return str(int(value)) if kind_of(value) in ("int", "uint") else None


def _float(value: Any) -> float | None:
    if isinstance(value, str):
        return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(value)
    return value if isinstance(value, float) else None


def _fixed(clause: Clause, value: Any) -> str | None:
    number = _float(value)
    if number is None:
        return None
    if not math.isfinite(number):
        return "NaN" if number != number else "∞" if number > 0 else "-∞"
    if clause.precision > _MOST_PRECISE:
        raise CostExceededError
    return f"{number:,.{clause.precision}f}"


def _scientific(clause: Clause, value: Any) -> str | None:
    number = _float(value)
    if number is None:
        return None
    if clause.precision > _MOST_PRECISE:
        raise CostExceededError
    if not math.isfinite(number):
        return ("NaN" if number != number else "∞" if number > 0 else "-∞").rjust(clause.precision)
    mantissa, _, exponent = f"{number:.6e}".partition("e")
    power = int(exponent)
    superscript = str(abs(power)).zfill(2).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}×10{'⁻' if power < 0 else ''}{superscript}"


def _binary(clause: Clause, value: Any) -> str | None:
    kind = kind_of(value)
    if kind == "bool":
        return "1" if value else "0"
    return f"{int(value):b}" if kind in ("int", "uint") else None


def _hex(clause: Clause, value: Any) -> str | None:
    kind = kind_of(value)
    shown: str
    if kind == "string":
        shown = value.encode("utf-8", "replace").hex()
    elif kind == "bytes":
        shown = value.hex()
    elif kind in ("int", "uint"):
        shown = f"{int(value):x}"
    else:
        return None
    return shown.upper() if clause.upper else shown


def _octal(clause: Clause, value: Any) -> str | None:
    return f"{int(value):o}" if kind_of(value) in ("int", "uint") else None


_BY_KIND: dict[str, Callable[[Clause, Any], str | None]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "o": _octal,
}
