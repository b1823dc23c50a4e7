"""Label selectors, from the text of a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from polykind.errors import BadRequestError, aggregate_message, invalid
from polykind.selectors.labelnames import key_complaints
from polykind.selectors.requirement import Labels, Requirement, validate_requirement

_EMPTY: Final[Labels] = {}
_IDENTIFIER = "identifier"
_END = ""
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")
_OPERATORS = {">": "gt", "<": "lt"} | {op: op for op in _BINARY if op not in ("gt", "lt")}

# As in the reference's scanner a NUL ends the text, except right behind another token, where it is swallowed.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])\x00?|([^ \t\r\n=!(),<>\x00]+)\x00?|(\x00|\Z))")


class LabelSelector:
    """All requirements together; `matches` is compiled once and takes an object's labels (None: it has none)."""

    __slots__ = ("matches", "requirements")

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda r: r.key))
        self.matches: Callable[[Labels | None], bool] = _compile(self.requirements)

    @property
    def empty(self) -> bool:
        """Whether every object is selected."""
        return not self.requirements

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _everything(labels: Labels | None) -> bool:
    return True


def _compile(requirements: tuple[Requirement, ...]) -> Callable[[Labels | None], bool]:
    if not requirements:
        return _everything
    wanted = {r.key: r.values[0] for r in requirements if r.operator in ("=", "==", "in") and len(r.values) == 1}
    if len(wanted) == len(requirements):
        if len(wanted) == 1:
            ((key, value),) = wanted.items()
            return lambda labels: labels is not None and labels.get(key) == value
        pairs = wanted.items()
        return lambda labels: labels is not None and pairs <= labels.items()
    if len(requirements) == 1:
        check = requirements[0].check()
        return lambda labels: check(labels or _EMPTY)
    checks = tuple(r.check() for r in requirements)

    def matches(labels: Labels | None) -> bool:
        given = labels or _EMPTY
        return all(check(given) for check in checks)

    return matches


SELECT_ALL: Final = LabelSelector(())


def parse_label_selector(text: str) -> LabelSelector:
    """The selector a labelSelector parameter spells. Raises BadRequest."""
    if not text:
        return SELECT_ALL
    return LabelSelector(_Parser(text).requirements())


class _RequirementError(Exception):
    """A requirement that cannot be read."""


class _Parser:
    """Reads requirements from the tokens of a selector, pairs of sort and text; `at` is the next one."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        position = 0
        while True:
            found = _TOKEN.match(text, position)
            if found is None or found[3] is not None:
                break
            symbol, word = found[1], found[2]
            self.tokens.append((symbol or (word if word in ("in", "notin") else _IDENTIFIER), symbol or word))
            position = found.end()
        self.tokens.append((_END, ""))

    def look(self) -> tuple[str, str]:
        """The next token as a value: there `in` and `notin` are words like others."""
        sort, literal = self.tokens[self.at]
        return (_IDENTIFIER if sort in ("in", "notin") else sort), literal

    def take(self) -> tuple[str, str]:
        sort = self.look()
        self.at += 1
        return sort

    def requirements(self) -> list[Requirement]:
        out: list[Requirement] = []
        while True:
            sort, literal = self.look()
            if sort == _END:
                return out
            if sort not in (_IDENTIFIER, "!"):
                raise BadRequestError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                out.append(self.requirement())
            except _RequirementError as refused:
                raise BadRequestError(f"unable to parse requirement: {refused}") from None
            sort, literal = self.take()
            if sort == _END:
                return out
            if sort != ",":
                raise BadRequestError(f"found '{literal}', expected: ',' or 'end of string'")
            sort, literal = self.look()
            if sort not in (_IDENTIFIER, "!"):
                raise BadRequestError(f"found '{literal}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        sort, key = self.take()
        absent = sort == "!"
        if absent:
            sort, key = self.take()
        if sort != _IDENTIFIER:
            raise _RequirementError(f"found '{key}', expected: identifier")
        if said := key_complaints(key):
            raise _RequirementError(invalid("<nil>", key, "; ".join(said)))
        if absent:
            return Requirement(key, "!")
        if self.look()[0] in (_END, ","):
            return Requirement(key, "exists")
        sort, literal = self.tokens[self.at]
        self.at += 1
        operator = _OPERATORS.get(sort)
        if operator is None:
            raise _RequirementError(f"found '{literal}', expected: {', '.join(_BINARY)}")
        values = sorted(self.values() if operator in ("in", "notin") else self.value())
        if errors := validate_requirement(key, operator, values):
            raise _RequirementError(aggregate_message(errors))
        return Requirement(key, operator, tuple(values))

    def value(self) -> set[str]:
        if self.look()[0] in (_END, ","):
            return {""}
        sort, literal = self.take()
        if sort != _IDENTIFIER:
            raise _RequirementError(f"found '{literal}', expected: identifier")
        return {literal}

    def values(self) -> set[str]:
        sort, literal = self.take()
        if sort != "(":
            raise _RequirementError(f"found '{literal}' expected: '('")
        sort, literal = self.look()
        if sort == ")":
            self.at += 1
            return {""}
        if sort not in (_IDENTIFIER, ","):
            raise _RequirementError(f"found '{literal}', expected: ',', ')' or identifier")
        out = self.members()
        self.at += 1
        return out

    def members(self) -> set[str]:
        """The words up to the closing parenthesis, where nothing between two commas is a word too."""
        out: set[str] = set()
        while True:
            sort, literal = self.take()
            following, follower = self.look() if sort in (_IDENTIFIER, ",") else ("", "")
            if sort == _IDENTIFIER:
                out.add(literal)
                if following == ")":
                    return out
                if following != ",":
                    raise _RequirementError(f"found '{follower}', expected: ',' or ')'")
            elif sort == ",":
                if not out or following in (")", ","):
                    out.add("")
                if following == ")":
                    return out
            else:
                raise _RequirementError(f"found '{literal}', expected: ',', or identifier")
