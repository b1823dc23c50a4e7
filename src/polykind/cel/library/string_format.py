"""string.format(): clauses such as %s, %d and %.2f. The AST validators parse constant format strings as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from polykind.cel import arithmetic, timestamps
from polykind.cel.evaluation_errors import CostExceededError, EvalError
from polykind.cel.runtime_values import SchemaObject, kind_of, runtime_type
from polykind.golang.fmt import go_quote

_DEFAULT_PRECISION = 6
_MAX_PRECISION = 10_000
_STRING_CLAUSE_KINDS = "list map int uint double bool string timestamp bytes duration type"
_STRING_KINDS = frozenset(_STRING_CLAUSE_KINDS.split())

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
    """A formatting clause. `kind` is the clause's letter in lower case."""

    kind: str
    upper: bool
    precision: int


class FormatError(ValueError):
    """The format string is invalid."""


def parse_format(text: str, available: int, *, literal: bool = False) -> Iterator[str | Clause]:
    """Parse a format string lazily and yield its parts. Raise FormatError at the first invalid part.

    If `literal` is true (in the AST validator), an unexpected end is reported before a missing argument.
    """
    at = taken = 0
    while at < len(text):
        percent = text.find("%", at)
        if percent < 0:
            yield text[at:]
            return
        yield text[at:percent]
        if text[percent + 1 : percent + 2] == "%":
            yield "%"
            at = percent + 2
            continue
        if taken >= available and not literal:
            raise FormatError(f"index {taken} out of range")
        if percent + 1 >= len(text):
            raise FormatError("unexpected end of string")
        if taken >= available:
            raise FormatError(f"index {taken} out of range")
        clause, at = _parse_clause(text, percent + 1)
        yield clause
        taken += 1


def _parse_clause(text: str, at: int) -> tuple[Clause, int]:
    precision = _DEFAULT_PRECISION
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
    remaining = iter(args)
    try:
        parts = parse_format(text, len(args))
        return "".join([part if isinstance(part, str) else _format_clause(part, next(remaining)) for part in parts])
    except FormatError as error:
        raise EvalError(str(error)) from None


def _format_clause(clause: Clause, value: Any) -> str:
    formatted = _FORMATTERS[clause.kind](clause, value)
    if formatted is None:
        message = CLAUSE_ERRORS[clause.kind].format(runtime_type(value))
        raise EvalError(f"error during formatting: {message}")
    return formatted


def _string(clause: Clause, value: Any) -> str | None:
    kind = kind_of(value)
    if kind == "null":
        return "null"
    return format_value(value) if kind in _STRING_KINDS else None


def format_value(value: Any) -> str:
    """Format a value as the clause %s does."""
    kind = kind_of(value)
    match kind:
        case "list":
            return f"[{', '.join(_format_nested(item) for item in value)}]"
        case "map":
            return _format_map(value)
        case "double":
            return arithmetic.double_to_string(value)
        case "bool":
            return "true" if value else "false"
        case "timestamp":
            return timestamps.format_timestamp(value)
        case "duration":
            return timestamps.format_duration(value)
        case "bytes":
            return _decode_bytes(value)
        case _:
            return str(value)


def _decode_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("error during formatting: could not convert argument to string") from None


def _format_nested(value: Any) -> str:
    """Format a value inside a list or a map."""
    match kind_of(value):
        case "string":
            return go_quote(value)
        case "bytes":
            return f"b{go_quote(_decode_bytes(value))}"
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


def _format_map(value: Any) -> str:
    items = (
        [(name, value.get(name)) for name in value.names()] if isinstance(value, SchemaObject) else list(value.items())
    )
    pairs = sorted((_format_key(key), _format_nested(item)) for key, item in items)
    return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"


def _format_key(key: Any) -> str:
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
    if clause.precision > _MAX_PRECISION:
        raise CostExceededError
    return f"{number:,.{clause.precision}f}"


def _scientific(clause: Clause, value: Any) -> str | None:
    number = _float(value)
    if number is None:
        return None
    if clause.precision > _MAX_PRECISION:
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
    digits: str
    if kind == "string":
        digits = value.encode("utf-8", "replace").hex()
    elif kind == "bytes":
        digits = value.hex()
    elif kind in ("int", "uint"):
        digits = f"{int(value):x}"
    else:
        return None
    return digits.upper() if clause.upper else digits


def _octal(clause: Clause, value: Any) -> str | None:
    return f"{int(value):o}" if kind_of(value) in ("int", "uint") else None


_FORMATTERS: dict[str, Callable[[Clause, Any], str | None]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "o": _octal,
}
