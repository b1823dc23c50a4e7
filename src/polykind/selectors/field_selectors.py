"""Field selectors on the name, the namespace and the selectable fields that a CRD declares."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Final, NamedTuple

from polykind.errors import BadRequestError
from polykind.golang.fmt import go_quote


class FieldRequirement(NamedTuple):
    """One requirement. The text of the field must equal `value`, or must differ from `value` if `equal` is False."""

    field: str
    equal: bool
    value: str


def unsupported_field(label: str) -> str:
    """Return kube-apiserver's message for a field selector that a custom resource or Namespace does not support."""
    return f"field label not supported: {label}"


def unsupported_field_of_jobs(label: str) -> str:
    """Return kube-apiserver's message for a field selector that Jobs do not support."""
    return f"field label {go_quote(label)} not supported for Job"


def unsupported_field_of_resource_slices(label: str) -> str:
    """Return kube-apiserver's message for a field selector that ResourceSlices do not support."""
    return f"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}"


def unknown_field(label: str) -> str:
    """Return kube-apiserver's message for an unsupported field selector on most built-in kinds."""
    return f'{go_quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"'


class FieldSelector:
    """Requirements that an object must meet. `name` and `namespace` are the values that they require for metadata.name
    and metadata.namespace, or None if any value is allowed.
    """

    __slots__ = ("name", "namespace", "requirements")

    def __init__(self, requirements: tuple[FieldRequirement, ...]) -> None:
        self.requirements = requirements
        self.name = self._required_value("metadata.name")
        self.namespace = self._required_value("metadata.namespace")

    def _required_value(self, field: str) -> str | None:
        return next((r.value for r in self.requirements if r.equal and r.field == field), None)

    @property
    def empty(self) -> bool:
        """True if the selector matches every object."""
        return not self.requirements

    def matches(self, get: Callable[[str], str | None]) -> bool:
        """True if an object meets all requirements. `get` returns the text of the object's field with the given name.

        If `get` returns None, the text is empty.
        """
        return all(((get(field) or "") == value) is equal for field, equal, value in self.requirements)

    def check_fields(self, allowed: Container[str], message: Callable[[str], str] = unsupported_field) -> None:
        """Raise BadRequestError if a requirement names a field that is not in `allowed`."""
        for requirement in self.requirements:
            if requirement.field not in allowed:
                raise BadRequestError(message(requirement.field))

    def __str__(self) -> str:
        return ",".join(f"{r.field}{'=' if r.equal else '!='}{_escape(r.value)}" for r in self.requirements)


SELECT_ALL: Final = FieldSelector(())
_UNTIL_COMMA = re.compile(r"(?:[^\\,]|\\.?)*", re.DOTALL)
_requirement = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL).fullmatch


def parse_field_selector(
    text: str, allowed: Container[str] | None = None, message: Callable[[str], str] = unsupported_field
) -> FieldSelector:
    """Parse the fieldSelector parameter of a request. Raise BadRequestError if it is invalid.

    If `allowed` is None, the caller has to call `check_fields` once it knows the resource.
    """
    if not text:
        return SELECT_ALL
    requirements = []
    for part in sorted(_split(text)):
        if not part:
            continue
        match = _requirement(part)
        if match is None:
            raise BadRequestError(f"invalid selector: '{text}'; can't understand '{part}'")
        requirement = FieldRequirement(match[1], match[2] != "!=", _unescape(match[3]))
        if requirement.field or requirement.value:
            requirements.append(requirement)
    selector = FieldSelector(tuple(requirements)) if requirements else SELECT_ALL
    if allowed is not None:
        selector.check_fields(allowed, message)
    return selector


def _split(text: str) -> list[str]:
    """Split a text at commas that are not preceded by a backslash."""
    if "\\" not in text:
        return text.split(",")
    out = []
    position = 0
    while True:
        match = _UNTIL_COMMA.match(text, position)
        end = match.end() if match else position
        out.append(text[position:end])
        if end >= len(text):
            return out
        position = end + 1


def _unescape(value: str) -> str:
    if not any(c in value for c in "\\,="):
        return value
    out = []
    characters = iter(value)
    for char in characters:
        if char == "\\":
            escaped = next(characters, "")
            if escaped not in ("\\", ",", "="):
                raise BadRequestError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            out.append(escaped)
        elif char in ",=":
            raise BadRequestError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    return "".join(out)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
