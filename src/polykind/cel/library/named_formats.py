"""The format library: named formats for Kubernetes names, URIs, UUIDs and dates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polykind import names
from polykind.cel.runtime_values import KIND_BY_CLASS, NONE, Optional
from polykind.golang.url import URLError, parse_url
from polykind.schema import string_formats

_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
_DATE_TIME = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"


class Format(NamedTuple):
    """A named format. `validate` returns error messages, and `regex_size` determines the cost of a validation."""

    name: str
    validate: Callable[[str], list[str]]
    regex_size: int


KIND_BY_CLASS[Format] = "kubernetes.NamedFormat"


def _schema_format(name: str, message: str) -> Callable[[str], list[str]]:
    accepts = string_formats.format_check(name)
    return lambda text: [] if accepts is None or accepts(text) else [message]


def _uri(text: str) -> list[str]:
    try:
        parse_url(text, request=True)
    except URLError as error:
        return [str(error)]
    return []


def _prefix_check(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return a check for a name prefix. Unlike a name, a prefix may end in a dash."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


_FORMATS = {
    "dns1123Label": Format("DNS1123Label", names.label_name, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", names.subdomain_name, 60),
    "dns1035Label": Format("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": Format("QualifiedName", names.qualified_name, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", lambda text: names.label_name(text, True), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", lambda text: names.subdomain_name(text, True), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix_check(names.dns1035_label), 30),
    "labelValue": Format("LabelValue", names.label_value, 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _schema_format("uuid", "does not match the UUID format"), len(_UUID)),
    "byte": Format("byte", _schema_format("byte", "invalid base64"), 84),
    "date": Format("date", _schema_format("date", "invalid date"), len(_DATE_TIME)),
    "datetime": Format("datetime", _schema_format("datetime", "invalid datetime"), len(_DATE_TIME)),
}


def _validate(format_: Format, text: str) -> Optional:
    errors = format_.validate(text)
    return Optional(True, errors) if errors else NONE


def _named(name: str) -> Optional:
    format_ = _FORMATS.get(name)
    return Optional(True, format_) if format_ else NONE


def _constant(format_: Format) -> Callable[[], Format]:
    return lambda: format_


FUNCTIONS: dict[str, Callable[..., Any]] = {
    ".validate format-validate format string -> optional(list(string))": _validate,
    "format.named format-named string -> optional(format)": _named,
    **{f"format.{name} format.{name} -> format": _constant(format_) for name, format_ in _FORMATS.items()},
}
