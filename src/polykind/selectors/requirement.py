"""One term of a label selector: a key, an operator and the values it asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from polykind.errors import FieldError, invalid
from polykind.selectors.labelnames import key_complaints, value_complaints

Labels = Mapping[str, str]
_EXACT = frozenset({"=", "==", "!="})
_SETS = frozenset({"in", "notin"})
_BARE = frozenset({"exists", "!"})
_integer = re.compile(r"[+-]?[0-9]+").fullmatch


@dataclass(frozen=True, slots=True)
class Requirement:
    """`operator` is one of =, ==, !=, in, notin, exists, !, gt, lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def check(self) -> Callable[[Labels], bool]:
        """A function that tells whether labels satisfy this term."""
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


def validate_requirement(key: str, operator: str, values: Sequence[str] | None) -> list[FieldError]:
    """What is wrong with a term; `values` None and empty differ only in how they are shown."""
    out = []
    if said := key_complaints(key):
        out.append(invalid("key", key, "; ".join(said)))
    given = values or ()
    if operator in _SETS and not given:
        out.append(invalid("values", values, "for 'in', 'notin' operators, values set can't be empty"))
    if operator in _EXACT and len(given) != 1:
        out.append(invalid("values", values, "exact-match compatibility requires one single value"))
    if operator in _BARE and given:
        out.append(invalid("values", values, "values set must be empty for exists and does not exist"))
    if operator in ("gt", "lt"):
        if len(given) != 1:
            out.append(invalid("values", values, "for 'Gt', 'Lt' operators, exactly one value is required"))
        out += [
            invalid(f"values[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
            for i, value in enumerate(given)
            if parse_int64(value) is None
        ]
    for i, value in enumerate(given):
        if bad := value_complaints(value):
            out.append(invalid(f"values[{i}][{key}]", value, "; ".join(bad)))
    return out


def parse_int64(text: str) -> int | None:
    """The decimal number that a text spells, if it is one of 64 bits."""
    if len(text) > 4000 or not _integer(text):
        return None
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 63 else None
