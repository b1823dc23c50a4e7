"""What may be a label's key and what its value, and the words for what may not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"

# Of the same languages as the texts above, in a form that cannot backtrack at length.
_is_name = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?").fullmatch
_is_subdomain = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*").fullmatch

_CHARACTERS = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"


def _pattern(says: str, pattern: str, examples: Iterable[str]) -> str:
    shown = " or ".join(f"'{e}', " for e in examples)
    return f"{says} (e.g. {shown}regex used for validation is '{pattern}')"


_NAME_TEXT = _pattern(f"must consist of {_CHARACTERS}", _NAME, ("MyName", "my.name", "123-abc"))
_VALUE_TEXT = _pattern(
    f"a valid label must be an empty string or consist of {_CHARACTERS}", _VALUE, ("MyValue", "my_value", "12345")
)
_SUBDOMAIN_TEXT = _pattern(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    ("example.com",),
)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def subdomain_complaints(value: str) -> list[str]:
    """Why the text is no DNS-1123 subdomain; nothing if it is one."""
    out = []
    if _size(value) > 253:
        out.append("must be no more than 253 bytes")
    if not _is_subdomain(value):
        out.append(_SUBDOMAIN_TEXT)
    return out


@lru_cache(maxsize=1024)
def key_complaints(key: str) -> tuple[str, ...]:
    """Why the text is no label key (a qualified name); nothing if it is one."""
    prefix, slash, name = key.partition("/")
    if not slash:
        prefix, name = "", key
    elif "/" in name:
        return (
            f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    out = []
    if slash:
        out = [f"prefix part {c}" for c in (subdomain_complaints(prefix) if prefix else ["must be non-empty"])]
    if not name:
        out.append("name part must be non-empty")
    elif _size(name) > 63:
        out.append("name part must be no more than 63 bytes")
    if not _is_name(name):
        out.append(f"name part {_NAME_TEXT}")
    return tuple(out)


def value_complaints(value: str) -> list[str]:
    """Why the text is no label value; nothing if it is one."""
    out = []
    if _size(value) > 63:
        out.append("must be no more than 63 bytes")
    if value and not _is_name(value):
        out.append(_VALUE_TEXT)
    return out
