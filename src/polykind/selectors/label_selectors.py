"""Label selectors: parsed from the labelSelector parameter of a request and matched against labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from polykind.errors import BadRequestError, FieldError, aggregate_message, invalid
from polykind.golang.strconv import parse_int64
from polykind.names import label_value, qualified_name

Labels = Mapping[str, str]

_NO_LABELS: Final[Labels] = {}
_IDENTIFIER = "identifier"
_END = ""
_EQUALITY_OPERATORS = frozenset({"=", "==", "!="})
_SET_OPERATORS = frozenset({"in", "notin"})
_EXISTENCE_OPERATORS = frozenset({"exists", "!"})
_BINARY_OPERATORS = ("in", "notin", "=", "==", "!=", "gt", "lt")
_OPERATOR_OF_TOKEN = {">": "gt", "<": "lt"} | {op: op for op in _BINARY_OPERATORS if op not in ("gt", "lt")}

# As in kube-apiserver's lexer, a NUL character ends the text. Directly after another token, a NUL is ignored.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])\x00?|([^ \t\r\n=!(),<>\x00]+)\x00?|(\x00|\Z))")


class Requirement(msgspec.Struct, frozen=True):
    """One requirement on a label. `operator` is one of =, ==, !=, in, notin, exists, !, gt, lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matcher(self) -> Callable[[Labels], bool]:
        """Return a function that returns True for labels that meet this requirement."""
        key, values = self.key, frozenset(self.values)
        match self.operator:
            case "=" | "==" | "in":
                return lambda labels: labels.get(key) in values
            case "!=" | "notin":
                return lambda labels: labels.get(key) not in values
            case "exists":
                return lambda labels: key in labels
            case "!":
                return lambda labels: key not in labels
        bound = parse_int64(self.values[0])
        sign = 1 if self.operator == "gt" else -1

        def compare(labels: Labels) -> bool:
            value = parse_int64(labels.get(key, ""))
            return value is not None and bound is not None and sign * value > sign * bound

        return compare

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
        sign = {"gt": ">", "lt": "<"}.get(self.operator, self.operator)
        return f"{self.key}{sign}{','.join(self.values)}"


class LabelSelector:
    """Requirements that must all be met. `matches` is a compiled function that takes an object's labels or None."""

    __slots__ = ("matches", "requirements")

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda r: r.key))
        self.matches: Callable[[Labels | None], bool] = _compile(self.requirements)

    @property
    def empty(self) -> bool:
        """True if the selector matches every object."""
        return not self.requirements

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _match_all(labels: Labels | None) -> bool:
    return True


def _compile(requirements: tuple[Requirement, ...]) -> Callable[[Labels | None], bool]:
    """Return a function that checks all requirements. It is optimized for requirements that test equality."""
    if not requirements:
        return _match_all
    equalities = {r.key: r.values[0] for r in requirements if r.operator in ("=", "==", "in") and len(r.values) == 1}
    if len(equalities) == len(requirements):
        if len(equalities) == 1:
            ((key, value),) = equalities.items()
            return lambda labels: labels is not None and labels.get(key) == value
        pairs = equalities.items()
        return lambda labels: labels is not None and pairs <= labels.items()
    if len(requirements) == 1:
        matcher = requirements[0].matcher()
        return lambda labels: matcher(labels or _NO_LABELS)
    matchers = tuple(r.matcher() for r in requirements)

    def matches(labels: Labels | None) -> bool:
        present = labels or _NO_LABELS
        return all(matcher(present) for matcher in matchers)

    return matches


SELECT_ALL: Final = LabelSelector(())


def parse_label_selector(text: str) -> LabelSelector:
    """Parse the labelSelector parameter of a request. Raise BadRequestError if it is invalid."""
    if not text:
        return SELECT_ALL
    return LabelSelector(_Parser(text).requirements())


def validate_requirement(key: str, operator: str, values: Sequence[str] | None) -> list[FieldError]:
    """Validate the parts of a requirement. `values` may be None: error messages then differ from those for []."""
    errors = []
    if key_errors := qualified_name(key):
        errors.append(invalid("key", key, "; ".join(key_errors)))
    given = values or ()
    if operator in _SET_OPERATORS and not given:
        errors.append(invalid("values", values, "for 'in', 'notin' operators, values set can't be empty"))
    if operator in _EQUALITY_OPERATORS and len(given) != 1:
        errors.append(invalid("values", values, "exact-match compatibility requires one single value"))
    if operator in _EXISTENCE_OPERATORS and given:
        errors.append(invalid("values", values, "values set must be empty for exists and does not exist"))
    if operator in ("gt", "lt"):
        if len(given) != 1:
            errors.append(invalid("values", values, "for 'Gt', 'Lt' operators, exactly one value is required"))
        errors += [
            invalid(f"values[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
            for i, value in enumerate(given)
            if parse_int64(value) is None
        ]
    for i, value in enumerate(given):
        if value_errors := label_value(value):
            errors.append(invalid(f"values[{i}][{key}]", value, "; ".join(value_errors)))
    return errors


class _RequirementError(Exception):
    """A requirement that cannot be parsed."""


class _Parser:
    """Parses requirements from `tokens`, pairs of token kind and text. `position` is the index of the next token."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.position = 0
        offset = 0
        while True:
            match = _TOKEN.match(text, offset)
            if match is None or match[3] is not None:
                break
            symbol, word = match[1], match[2]
            self.tokens.append((symbol or (word if word in ("in", "notin") else _IDENTIFIER), symbol or word))
            offset = match.end()
        self.tokens.append((_END, ""))

    def peek(self) -> tuple[str, str]:
        """Return the next token. Treat `in` and `notin` as identifiers, because they are valid keys and values."""
        kind, literal = self.tokens[self.position]
        return (_IDENTIFIER if kind in ("in", "notin") else kind), literal

    def take(self) -> tuple[str, str]:
        """Consume the next token and return it as `peek` does."""
        token = self.peek()
        self.position += 1
        return token

    def requirements(self) -> list[Requirement]:
        """Parse the whole selector."""
        out: list[Requirement] = []
        while True:
            kind, literal = self.peek()
            if kind == _END:
                return out
            if kind not in (_IDENTIFIER, "!"):
                raise BadRequestError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                out.append(self.requirement())
            except _RequirementError as error:
                raise BadRequestError(f"unable to parse requirement: {error}") from None
            kind, literal = self.take()
            if kind == _END:
                return out
            if kind != ",":
                raise BadRequestError(f"found '{literal}', expected: ',' or 'end of string'")
            kind, literal = self.peek()
            if kind not in (_IDENTIFIER, "!"):
                raise BadRequestError(f"found '{literal}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        """Parse one requirement."""
        kind, key = self.take()
        negated = kind == "!"
        if negated:
            kind, key = self.take()
        if kind != _IDENTIFIER:
            raise _RequirementError(f"found '{key}', expected: identifier")
        if key_errors := qualified_name(key):
            raise _RequirementError(invalid("<nil>", key, "; ".join(key_errors)))
        if negated:
            return Requirement(key, "!")
        if self.peek()[0] in (_END, ","):
            return Requirement(key, "exists")
        kind, literal = self.tokens[self.position]
        self.position += 1
        operator = _OPERATOR_OF_TOKEN.get(kind)
        if operator is None:
            raise _RequirementError(f"found '{literal}', expected: {', '.join(_BINARY_OPERATORS)}")
        values = sorted(self.value_set() if operator in _SET_OPERATORS else self.single_value())
        if errors := validate_requirement(key, operator, values):
            raise _RequirementError(aggregate_message(errors))
        return Requirement(key, operator, tuple(values))

    def single_value(self) -> set[str]:
        """Parse the value after =, ==, !=, > or <. The value may be empty."""
        if self.peek()[0] in (_END, ","):
            return {""}
        kind, literal = self.take()
        if kind != _IDENTIFIER:
            raise _RequirementError(f"found '{literal}', expected: identifier")
        return {literal}

    def value_set(self) -> set[str]:
        """Parse the values in parentheses after in or notin."""
        kind, literal = self.take()
        if kind != "(":
            raise _RequirementError(f"found '{literal}' expected: '('")
        kind, literal = self.peek()
        if kind == ")":
            self.position += 1
            return {""}
        if kind not in (_IDENTIFIER, ","):
            raise _RequirementError(f"found '{literal}', expected: ',', ')' or identifier")
        values = self.comma_separated()
        self.position += 1
        return values

    def comma_separated(self) -> set[str]:
        """Parse the values up to the closing parenthesis. Between two successive commas there is an empty value."""
        values: set[str] = set()
        while True:
            kind, literal = self.take()
            next_kind, next_literal = self.peek() if kind in (_IDENTIFIER, ",") else ("", "")
            if kind == _IDENTIFIER:
                values.add(literal)
                if next_kind == ")":
                    return values
                if next_kind != ",":
                    raise _RequirementError(f"found '{next_literal}', expected: ',' or ')'")
            elif kind == ",":
                if not values or next_kind in (")", ","):
                    values.add("")
                if next_kind == ")":
                    return values
            else:
                raise _RequirementError(f"found '{literal}', expected: ',', or identifier")
