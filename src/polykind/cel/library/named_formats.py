"""Named formats: names of Kubernetes, URIs, UUIDs, dates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel.runtime_values import KIND_BY_CLASS, NONE, Optional
from polykind.golang.url import URLError, parse_url
from polykind.schema import names, string_formats

_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
_DATE_TIME = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"


class Format(NamedTuple):
    """A way to judge texts; `regex_size` tells how dear it is."""

    name: str
    validate: Callable[[str], list[str]]
    regex_size: int


KIND_BY_CLASS[Format] = "kubernetes.NamedFormat"


def _known(name: str, complaint: str) -> Callable[[str], list[str]]:
    accepts = string_formats.format_check(name)
    return lambda text: [] if accepts is None or accepts(text) else [complaint]


def _uri(text: str) -> list[str]:
    try:
        parse_url(text, request=True)
    except URLError as wrong:
        return [str(wrong)]
    return []


def _masked(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix may end in a dash, since more will follow."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


_FORMATS = {
    "dns1123Label": Format("DNS1123Label", names.label_name, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", names.subdomain_name, 60),
    "dns1035Label": Format("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": Format("QualifiedName", names.qualified_name, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", lambda text: names.label_name(text, True), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", lambda text: names.subdomain_name(text, True), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _masked(names.dns1035_label), 30),
    "labelValue": Format("LabelValue", names.label_value, 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _known("uuid", "does not match the UUID format"), len(_UUID)),
    "byte": Format("byte", _known("byte", "invalid base64"), 84),
    "date": Format("date", _known("date", "invalid date"), len(_DATE_TIME)),
    "datetime": Format("datetime", _known("datetime", "invalid datetime"), len(_DATE_TIME)),
}


def _validate(wanted: Format, text: str) -> Optional:
    found = wanted.validate(text)
    return Optional(True, found) if found else NONE


def _named(name: str) -> Optional:
    found = _FORMATS.get(name)
    return Optional(True, found) if found else NONE


def _constant(wanted: Format) -> Callable[[], Format]:
    return lambda: wanted


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "format-validate": _validate,
    "format-named": _named,
    **{f"format.{name}": _constant(wanted) for name, wanted in _FORMATS.items()},
}
