"""The syntax of names, labels and qualified names; each check gives the reference's complaints, none if all is well."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from polykind.golang.utf8 import byte_length

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + "(\\." + _LABEL + ")*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"

# Spelled without overlapping repetitions, so that no name can make the matching slow.
_label = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*").fullmatch
_subdomain = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*(?:\.[a-z0-9]+(?:-+[a-z0-9]+)*)*").fullmatch
_label_1035 = re.compile(r"[a-z][a-z0-9]*(?:-+[a-z0-9]+)*").fullmatch
_key = re.compile(r"[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*").fullmatch

_SHORT = r"[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?"
_short_lines = re.compile(rf"{_SHORT}(?:\n{_SHORT})*").fullmatch

_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
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

NameCheck = Callable[[str, bool], list[str]]
"""Takes a name and whether it is only the beginning of one (generateName)."""


def regex_error(rule: str, pattern: str, *examples: str) -> str:
    """The reference's words for a mismatch, its odd commas included."""
    if not examples:
        return f"{rule} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def dns1123_label(value: str) -> list[str]:
    if len(value) <= 63 and _label(value):
        return []
    problems = [_too_long(63, "characters")] if byte_length(value) > 63 else []
    if not _label(value):
        if _subdomain(value):
            problems.append("must not contain dots")
        else:
            problems.append(regex_error(_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return problems


def dns1123_subdomain(value: str) -> list[str]:
    if len(value) <= 253 and _subdomain(value):
        return []
    return _subdomain_problems(value, "characters")


def dns1035_label(value: str) -> list[str]:
    problems = [_too_long(63, "characters")] if byte_length(value) > 63 else []
    if not _label_1035(value):
        problems.append(regex_error(_LABEL_1035_RULE, _LABEL_1035, "my-name", "abc-123"))
    return problems


def qualified_name(value: str) -> list[str]:
    """A label key, annotation key or finalizer: an optional DNS prefix and '/', then a name."""
    if len(value) <= 63 and _key(value):
        return []
    prefix, slash, name = value.rpartition("/")
    if slash and len(prefix) <= 253 and len(name) <= 63 and _subdomain(prefix) and _key(name):
        return []
    rule = regex_error(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc")
    if "/" in prefix:
        return [f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems.extend(f"prefix part {problem}" for problem in _subdomain_problems(prefix, "bytes"))
    if not name:
        problems.append("name part must be non-empty")
    elif byte_length(name) > 63:
        problems.append(f"name part {_too_long(63, 'bytes')}")
    if not _key(name):
        problems.append(f"name part {rule}")
    return problems


def label_value(value: str) -> list[str]:
    if len(value) <= 63 and (not value or _key(value)):
        return []
    problems = [_too_long(63, "bytes")] if byte_length(value) > 63 else []
    if value and not _key(value):
        problems.append(regex_error(_VALUE_RULE, _VALUE, "MyValue", "my_value", "12345"))
    return problems


def are_usual_labels(labels: dict[str, Any]) -> bool:
    """Whether labels have keys without a prefix and values as nearly all have, and so nothing wrong with them."""
    try:
        text = "\n".join((*labels, *labels.values()))
    except TypeError:
        return False
    return text.count("\n") == 2 * len(labels) - 1 and _short_lines(text) is not None


def path_segment(value: str, prefix: bool = False) -> list[str]:
    """A name that only has to fit between two slashes of a URL."""
    if not prefix and value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def subdomain_name(value: str, prefix: bool = False) -> list[str]:
    return dns1123_subdomain(_masked(value) if prefix else value)


def label_name(value: str, prefix: bool = False) -> list[str]:
    return dns1123_label(_masked(value) if prefix else value)


def _subdomain_problems(value: str, unit: str) -> list[str]:
    problems = [_too_long(253, unit)] if byte_length(value) > 253 else []
    if not _subdomain(value):
        problems.append(regex_error(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return problems


def _masked(prefix: str) -> str:
    """A generateName may end with a dash; the reference replaces its last two characters by one letter to check it."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _too_long(most: int, unit: str) -> str:
    return f"must be no more than {most} {unit}"
