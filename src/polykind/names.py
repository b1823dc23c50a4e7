"""Syntax of object names, label keys and label values.

A check returns a list of kube-apiserver's error messages. The list is empty if the value is valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from polykind.golang.utf8 import byte_length

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + "(\\." + _LABEL + ")*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_UNDERSCORE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN = _UNDERSCORE_LABEL + "(\\." + _UNDERSCORE_LABEL + ")*"
_HEADER = "[-A-Za-z0-9]+"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"

# These patterns match the same texts as the patterns above. They have no overlapping repetitions, so matching takes
# linear time.
_label = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*").fullmatch
_subdomain = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*").fullmatch
_label_1035 = re.compile(r"[a-z][a-z0-9]*(?:-+[a-z0-9]+)*").fullmatch
_underscore_subdomain = re.compile(r"_?[a-z0-9]+(?:[-_]+[a-z0-9]+)*(?:\._?[a-z0-9]+(?:[-_]+[a-z0-9]+)*)*").fullmatch
_key = re.compile(r"[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*").fullmatch

_SIMPLE = r"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_simple_lines = re.compile(rf"{_SIMPLE}(?:\n{_SIMPLE})*").fullmatch

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_UNDERSCORE_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_RULE = f"a valid label must be an empty string or {_KEY_RULE.removeprefix('must ')}"

_WILDCARD_SUBDOMAIN = "\\*\\." + _SUBDOMAIN
_WILDCARD_RULE = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_port_name = re.compile("[-a-z0-9]+").fullmatch

NameCheck = Callable[[str, bool], list[str]]
"""A function that checks a name and returns error messages. Its second argument is True if the first is a generateName:
only the beginning of a name.
"""


def regex_error(rule: str, pattern: str, *examples: str) -> str:
    """Return kube-apiserver's message for a text that does not match `pattern`. `rule` states the pattern in words."""
    if not examples:
        return f"{rule} (regex used for validation is '{pattern}')"
    alternatives = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {alternatives}regex used for validation is '{pattern}')"


def dns1123_label(value: str) -> list[str]:
    """Check a DNS label (RFC 1123)."""
    if len(value) <= 63 and _label(value):
        return []
    messages = [_too_long(63, "characters")] if byte_length(value) > 63 else []
    if not _label(value):
        if _subdomain(value):
            messages.append("must not contain dots")
        else:
            messages.append(regex_error(_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return messages


def dns1123_subdomain(value: str) -> list[str]:
    """Check a DNS subdomain (RFC 1123)."""
    if len(value) <= 253 and _subdomain(value):
        return []
    return _subdomain_messages(value, "characters")


def wildcard_subdomain(value: str) -> list[str]:
    """Check a DNS subdomain whose first label is '*'."""
    messages = [_too_long(253, "characters")] if byte_length(value) > 253 else []
    if not value.startswith("*.") or not _subdomain(value[2:]):
        messages.append(regex_error(_WILDCARD_RULE, _WILDCARD_SUBDOMAIN, "*.example.com"))
    return messages


def port_name(value: str) -> list[str]:
    """Check the name of a network port (RFC 6335)."""
    messages = [_too_long(15, "characters")] if byte_length(value) > 15 else []
    if not _port_name(value):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= char <= "z" for char in value):
        messages.append("must contain at least one letter (a-z)")
    if "--" in value:
        messages.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        messages.append("must not begin or end with a hyphen")
    return messages


def port_number(value: int) -> list[str]:
    """Check the number of a network port."""
    return [] if 1 <= value <= 65535 else ["must be between 1 and 65535, inclusive"]


def dns1035_label(value: str) -> list[str]:
    """Check a DNS label (RFC 1035), which starts with a letter."""
    messages = [_too_long(63, "characters")] if byte_length(value) > 63 else []
    if not _label_1035(value):
        messages.append(regex_error(_LABEL_1035_RULE, _LABEL_1035, "my-name", "abc-123"))
    return messages


def subdomain_with_underscore(value: str) -> list[str]:
    """Check a DNS subdomain (RFC 1123) whose labels may also contain underscores, such as a DNS search path."""
    messages = [_too_long(253, "characters")] if byte_length(value) > 253 else []
    if not _underscore_subdomain(value):
        messages.append(regex_error(_UNDERSCORE_SUBDOMAIN_RULE, _UNDERSCORE_SUBDOMAIN, "example.com"))
    return messages


def env_var_name(value: str) -> list[str]:
    """Check the name of an environment variable."""
    messages = [] if value else ["environment variable name must be non-empty"]
    if not value.isascii() or not value.isprintable() or "=" in value:
        messages.append(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
    return messages


def http_header_name(value: str) -> list[str]:
    """Check the name of an HTTP header."""
    if re.fullmatch(_HEADER, value):
        return []
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_error(rule, _HEADER, "X-Header-Name")]


def qualified_name(value: str) -> list[str]:
    """Check a label key, annotation key or finalizer: an optional DNS subdomain and '/', then a name."""
    if len(value) <= 63 and _key(value):
        return []
    prefix, slash, name = value.rpartition("/")
    if slash and len(prefix) <= 253 and len(name) <= 63 and _subdomain(prefix) and _key(name):
        return []
    rule = regex_error(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc")
    if "/" in prefix:
        return [f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    messages: list[str] = []
    if slash:
        problems = _subdomain_messages(prefix, "bytes") if prefix else ["must be non-empty"]
        messages.extend(f"prefix part {problem}" for problem in problems)
    if not name:
        messages.append("name part must be non-empty")
    elif byte_length(name) > 63:
        messages.append(f"name part {_too_long(63, 'bytes')}")
    if not _key(name):
        messages.append(f"name part {rule}")
    return messages


def label_value(value: str) -> list[str]:
    """Check the value of a label."""
    if len(value) <= 63 and (not value or _key(value)):
        return []
    messages = [_too_long(63, "bytes")] if byte_length(value) > 63 else []
    if value and not _key(value):
        messages.append(regex_error(_VALUE_RULE, _VALUE, "MyValue", "my_value", "12345"))
    return messages


def are_simple_labels(labels: dict[str, Any]) -> bool:
    """True if all keys are valid and have no prefix, and all values are valid and not empty. This is a fast check that
    accepts most labels. If it returns False, the labels may still be valid.
    """
    if len(labels) > _LABELS_AT_ONCE:
        # One match of a long text would hold the interpreter lock for too long.
        items = iter(labels.items())
        return all(are_simple_labels(part) for part in iter(lambda: dict(islice(items, _LABELS_AT_ONCE)), {}))
    try:
        text = "\n".join((*labels, *labels.values()))
    except TypeError:
        return False
    return text.count("\n") == 2 * len(labels) - 1 and _simple_lines(text) is not None


_LABELS_AT_ONCE = 1000


def path_segment(value: str, prefix: bool = False) -> list[str]:
    """Check an object name that may be any text that is valid as one segment of a URL path."""
    if not prefix and value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def subdomain_name(value: str, prefix: bool = False) -> list[str]:
    """Check an object name that must be a DNS subdomain."""
    return dns1123_subdomain(_mask_trailing_dash(value) if prefix else value)


def long_name(value: str, prefix: bool = False) -> list[str]:
    """Check an object name that must be a DNS subdomain, for kinds whose generateName can be any text."""
    return [] if prefix else _subdomain_messages(value, "bytes")


def label_name(value: str, prefix: bool = False) -> list[str]:
    """Check an object name that must be a DNS label."""
    return dns1123_label(_mask_trailing_dash(value) if prefix else value)


def _subdomain_messages(value: str, unit: str) -> list[str]:
    messages = [_too_long(253, unit)] if byte_length(value) > 253 else []
    if not _subdomain(value):
        messages.append(regex_error(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return messages


def _mask_trailing_dash(prefix: str) -> str:
    """Replace the last two characters by 'a' if a generateName ends with a dash, as kube-apiserver does."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _too_long(limit: int, unit: str) -> str:
    return f"must be no more than {limit} {unit}"
