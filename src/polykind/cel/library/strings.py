"""The strings library: functions such as replace(), split(), join() and trim()."""

from __future__ import annotations

import string as ascii_sets
from collections.abc import Callable
from typing import Any

from polykind.cel.evaluation_errors import CostExceededError, EvalError
from polykind.cel.library.standard import error_text
from polykind.cel.library.string_format import format_string

_MAX_RESULT_SIZE = 2**26
"""Maximum size of a string that replace() or join() may create, in characters."""
_WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_LOWER = str.maketrans(ascii_sets.ascii_uppercase, ascii_sets.ascii_lowercase)
_UPPER = str.maketrans(ascii_sets.ascii_lowercase, ascii_sets.ascii_uppercase)
_CONTROLS = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_QUOTE_ESCAPES = str.maketrans(_CONTROLS | {"\\": "\\\\", '"': '\\"'})


def trim(text: str) -> str:
    """Remove leading and trailing white space as Go's strings.TrimSpace does."""
    return text.strip(_WHITE_SPACE)


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        if not part:
            return len(text)
        return text.rfind(part)
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    if start >= len(text):
        return -1
    return text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    if len(new) > len(old):
        count = text.count(old) if old else len(text) + 1
        if len(text) + min(count, limit if limit >= 0 else count) * len(new) > _MAX_RESULT_SIZE:
            raise CostExceededError
    return text.replace(old, new, limit) if limit >= 0 else text.replace(old, new)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        if limit < 0 or limit >= len(text):
            return list(text)
        return [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1) if limit > 0 else text.split(separator)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end is not None and end > len(text):
        raise _out_of_range(end)
    return text[start:end]


def _join(items: list[Any], separator: str = "") -> str:
    total = len(separator) * len(items)
    for item in items:
        if not isinstance(item, str):
            raise EvalError(f"join: invalid input: {0 if item is None else error_text(item)}")
        total += len(item)
    if total > _MAX_RESULT_SIZE:
        raise CostExceededError
    return separator.join(items)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTE_ESCAPES)}"'


def _escape_json_pointer(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    ".contains contains_string string string -> bool": lambda text, part: part in text,
    ".startsWith starts_with_string string string -> bool": str.startswith,
    ".endsWith ends_with_string string string -> bool": str.endswith,
    ".charAt string_char_at_int string int -> string": _char_at,
    ".indexOf string_index_of_string string string -> int": _index_of,
    ".indexOf string_index_of_string_int string string int -> int": _index_of,
    ".lastIndexOf string_last_index_of_string string string -> int": _last_index_of,
    ".lastIndexOf string_last_index_of_string_int string string int -> int": _last_index_of,
    ".lowerAscii string_lower_ascii string -> string": lambda text: text.translate(_LOWER),
    ".upperAscii string_upper_ascii string -> string": lambda text: text.translate(_UPPER),
    ".replace string_replace_string_string string string string -> string": _replace,
    ".replace string_replace_string_string_int string string string int -> string": _replace,
    ".split string_split_string string string -> list(string)": _split,
    ".split string_split_string_int string string int -> list(string)": _split,
    ".substring string_substring_int string int -> string": _substring,
    ".substring string_substring_int_int string int int -> string": _substring,
    ".trim string_trim string -> string": trim,
    ".format string_format string list(dyn) -> string": format_string,
    "strings.quote strings_quote string -> string": _quote,
    ".join list_join list(string) -> string": _join,
    ".join list_join_string list(string) string -> string": _join,
}

MUTATION_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "jsonpatch.escapeKey string_jsonpatch_escapeKey_string string -> string": _escape_json_pointer,
}
"""Functions that are declared only for mutating admission policies."""
