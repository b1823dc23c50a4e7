"""Rules files, which declare conversions without code: `--converter crontabs.yaml`.

    kind: CronTab.stable.example.com
    between:
    - versions: [v1, v2]
      rules:
      - move: [spec.cronSpec, spec.schedule]
      - renameValues: {path: spec.mode, values: {"On": Enabled, "Off": Disabled}}
      - first: [spec.host, spec.hosts]
      - only: {version: v2, path: spec.timeZone, default: UTC}
      - drop: {version: v2, path: spec.debug, why: it is unused}

The rules are those of `polykind.toolkit.declare.field_rules`. In a pair of paths or versions, the older comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.toolkit.declare.conversions import Conversions
from polykind.toolkit.declare.field_rules import FieldRule, drop, first, move, only, rename_values

_RULES: dict[str, tuple[Callable[..., FieldRule], frozenset[str], frozenset[str]]] = {
    "move": (move, frozenset(), frozenset()),
    "first": (first, frozenset(), frozenset()),
    "renameValues": (rename_values, frozenset({"path", "values"}), frozenset()),
    "only": (only, frozenset({"version", "path"}), frozenset({"default"})),
    "drop": (drop, frozenset({"version", "path", "why"}), frozenset()),
}
"""For each rule, its function, its required fields and its optional fields. A rule without fields has two paths."""


def parse_rules_file(document: Any) -> Conversions:
    """Return the conversions that a decoded rules file declares.

    Raise ValueError if the content is invalid. The message names the place of the first error.
    """
    fields = _fields("the document", document, frozenset({"kind", "between"}))
    if not isinstance(fields["kind"], str):
        raise ValueError("kind must name a kind and its group, such as CronTab.stable.example.com")
    out = Conversions(fields["kind"])
    for number, entry in enumerate(_list("between", fields["between"])):
        place = f"between[{number}]"
        parts = _fields(place, entry, frozenset({"versions", "rules"}))
        old, new = _pair(f"{place}.versions", parts["versions"])
        rules = [_rule(f"{place}.rules[{n}]", rule) for n, rule in enumerate(_list(f"{place}.rules", parts["rules"]))]
        try:
            out.between(old, new, *rules)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    return out


def _rule(place: str, entry: Any) -> FieldRule:
    if not isinstance(entry, dict) or len(entry) != 1:
        raise ValueError(f"{place} must be exactly one rule of: {', '.join(_RULES)}")
    ((name, value),) = entry.items()
    if name not in _RULES:
        raise ValueError(f"{place}: {name!r} is not a rule; the rules are {', '.join(_RULES)}")
    build, required, optional = _RULES[name]
    place = f"{place}.{name}"
    try:
        if not required:
            return build(*_pair(place, value))
        fields = _fields(place, value, required, optional)
        _check(place, fields)
        return build(**fields)
    except ValueError as error:
        raise ValueError(str(error) if str(error).startswith(place) else f"{place}: {error}") from None


def _check(place: str, fields: dict[str, Any]) -> None:
    for field, value in fields.items():
        if field == "values":
            if not isinstance(value, dict) or not all(isinstance(x, str) for pair in value.items() for x in pair):
                raise ValueError(
                    f"{place}.values must map strings to strings: quote values such as on, off and numbers"
                )
        elif field != "default" and not isinstance(value, str):
            raise ValueError(f"{place}.{field} must be a string")


def _fields(place: str, value: Any, required: frozenset[str], optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    if not isinstance(value, dict) or not required <= value.keys() <= required | optional:
        wanted = ", ".join(sorted(required)) + "".join(f" and optionally {field}" for field in sorted(optional))
        raise ValueError(f"{place} must have {wanted}, and nothing else")
    return value


def _pair(place: str, value: Any) -> tuple[str, str]:
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(item, str) for item in value)):
        raise ValueError(f"{place} must be a list of two strings, the older first")
    return value[0], value[1]


def _list(place: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{place} must be a list")
    return value
