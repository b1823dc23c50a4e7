"""Field selectors: terms on the name, the namespace and what a definition makes selectable."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Final, NamedTuple

from polykind.errors import BadRequestError
from polykind.golang.fmt import go_quote


class FieldRequirement(NamedTuple):
    field: str
    equal: bool
    value: str


def unsupported_field(label: str) -> str:
    """How a custom resource (and a namespace) refuses a field."""
    return f"field label not supported: {label}"


def unknown_field(label: str) -> str:
    """How other built-in kinds, such as definitions, refuse a field."""
    return f'{go_quote(label)} is not a known field selector: only "metadata.name", "metadata.namespace"'


class FieldSelector:
    """All terms together; `name` and `namespace` are what they pin, if they pin one."""

    __slots__ = ("name", "namespace", "requirements")

    def __init__(self, terms: tuple[FieldRequirement, ...]) -> None:
        self.requirements = terms
        self.name = self._pinned("metadata.name")
        self.namespace = self._pinned("metadata.namespace")

    def _pinned(self, field: str) -> str | None:
        return next((t.value for t in self.requirements if t.equal and t.field == field), None)

    @property
    def empty(self) -> bool:
        """Whether every object is selected."""
        return not self.requirements

    def matches(self, get: Callable[[str], str | None]) -> bool:
        """Whether an object is selected; `get` gives a field's text (None and "" are alike)."""
        return all(((get(field) or "") == value) is equal for field, equal, value in self.requirements)

    def check_fields(self, allowed: Container[str], refusal: Callable[[str], str] = unsupported_field) -> None:
        """Raise BadRequest if a term is on a field that is not `allowed`."""
        for term in self.requirements:
            if term.field not in allowed:
                raise BadRequestError(refusal(term.field))

    def __str__(self) -> str:
        return ",".join(f"{t.field}{'=' if t.equal else '!='}{_escape(t.value)}" for t in self.requirements)


SELECT_ALL: Final = FieldSelector(())
_TERMS = re.compile(r"(?:[^\\,]|\\.?)*", re.DOTALL)
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


def parse_field_selector(
    text: str, allowed: Container[str] | None = None, refusal: Callable[[str], str] = unsupported_field
) -> FieldSelector:
    """The selector of a fieldSelector text; without `allowed` the fields are left to `require`. Raises BadRequest."""
    if not text:
        return SELECT_ALL
    terms = []
    for part in sorted(_split(text)):
        if not part:
            continue
        found = _TERM.fullmatch(part)
        if found is None:
            raise BadRequestError(f"invalid selector: '{text}'; can't understand '{part}'")
        term = FieldRequirement(found[1], found[2] != "!=", _unescape(found[3]))
        if term.field or term.value:
            terms.append(term)
    selector = FieldSelector(tuple(terms)) if terms else SELECT_ALL
    if allowed is not None:
        selector.check_fields(allowed, refusal)
    return selector


def _split(text: str) -> list[str]:
    """The terms between commas that no backslash precedes."""
    if "\\" not in text:
        return text.split(",")
    out = []
    position = 0
    while True:
        found = _TERMS.match(text, position)
        end = found.end() if found else position
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
            following = next(characters, "")
            if following not in ("\\", ",", "="):
                raise BadRequestError(f"invalid field selector: invalid escape sequence: \\{following}")
            out.append(following)
        elif char in ",=":
            raise BadRequestError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    return "".join(out)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
