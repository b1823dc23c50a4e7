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
      - split: {text: spec.address, parts: [spec.host, spec.port], separator: ":", integers: [spec.port]}
      - duration: {paths: [spec.timeoutSeconds, spec.timeout], units: [s, text]}
      - quantity: {paths: [spec.memoryMb, spec.memory], units: [Mi, text]}
      - absentMeans: {path: spec.policy, old: Always}
      - listToMap: {paths: [spec.ports, spec.portsByName], key: name}
      - wrap: [spec.image, spec.image.name]

The rules are those of `polykind.declare.field_rules`. In a pair of paths or versions, the older comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from polykind.declare.conversions import Conversions
from polykind.declare.field_rules import FieldRule, drop, first, move, only, rename_values
from polykind.declare.structure_rules import list_to_map, map_to_list, unwrap, wrap
from polykind.declare.translations import absent_means, duration, join, quantity, split

Pointer = tuple[str | int, ...]
FindPlace = Callable[[Pointer], str]
"""A function that returns the file and line of a field of the rules file."""


class _RuleSyntax(NamedTuple):
    """A rule in a rules file: its function, and its fields. A rule without fields is a list of two paths."""

    build: Callable[..., FieldRule]
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


def _paired(build: Callable[..., FieldRule]) -> Callable[..., FieldRule]:
    """Return a function that takes the older and the newer path as one list, `paths`."""

    def build_pair(paths: Sequence[str], **fields: Any) -> FieldRule:
        return build(*paths, **{**fields, **({"units": tuple(fields["units"])} if "units" in fields else {})})

    return build_pair


def _split(text: str, parts: Sequence[str], **fields: Any) -> FieldRule:
    return split(text, *parts, **fields)


def _join(text: str, parts: Sequence[str], **fields: Any) -> FieldRule:
    return join(*parts, into=text, **fields)


_UNITS = frozenset({"paths", "units"})
_TEXT = (frozenset({"text", "parts", "separator"}), frozenset({"at", "integers"}))
_KEYED = (frozenset({"paths", "key"}), frozenset({"value"}))
_RULES: dict[str, _RuleSyntax] = {
    "move": _RuleSyntax(move),
    "first": _RuleSyntax(first),
    "wrap": _RuleSyntax(wrap),
    "unwrap": _RuleSyntax(unwrap),
    "renameValues": _RuleSyntax(rename_values, frozenset({"path", "values"})),
    "only": _RuleSyntax(only, frozenset({"version", "path"}), frozenset({"default"})),
    "drop": _RuleSyntax(drop, frozenset({"version", "path", "why"})),
    "split": _RuleSyntax(_split, *_TEXT),
    "join": _RuleSyntax(_join, *_TEXT),
    "duration": _RuleSyntax(_paired(duration), _UNITS),
    "quantity": _RuleSyntax(_paired(quantity), _UNITS),
    "absentMeans": _RuleSyntax(absent_means, frozenset({"path"}), frozenset({"old", "new"})),
    "listToMap": _RuleSyntax(_paired(list_to_map), *_KEYED),
    "mapToList": _RuleSyntax(_paired(map_to_list), *_KEYED),
}
_ANY_VALUE = frozenset({"default", "old", "new"})
_PAIRS = frozenset({"paths", "units"})
_LISTS = frozenset({"parts", "integers"})


def parse_rules_file(document: Any, find_place: FindPlace | None = None) -> Conversions:
    """Return the conversions that a decoded rules file declares. `find_place` returns the lines of its rules.

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
        rules = []
        for n, entry in enumerate(_list(f"{place}.rules", parts["rules"])):
            rule = parse_rule(f"{place}.rules[{n}]", entry)
            line = find_place(("between", number, "rules", n)) if find_place is not None else ""
            rules.append(rule._replace(place=line))
        try:
            out.between(old, new, *rules)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    return out


def parse_rule(place: str, entry: Any) -> FieldRule:
    """Return the rule in an entry of a rules file. Raise ValueError, which names the place, if it is invalid."""
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


def _check(place: str, fields: Mapping[str, Any]) -> None:
    for field, value in fields.items():
        if field == "values":
            if not isinstance(value, dict) or not all(isinstance(x, str) for pair in value.items() for x in pair):
                raise ValueError(
                    f"{place}.values must map strings to strings: quote values such as on, off and numbers"
                )
        elif field in _PAIRS:
            _pair(f"{place}.{field}", value)
        elif field in _LISTS:
            if not all(isinstance(item, str) for item in _list(f"{place}.{field}", value)):
                raise ValueError(f"{place}.{field} must be a list of strings")
        elif field not in _ANY_VALUE and not isinstance(value, str):
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
