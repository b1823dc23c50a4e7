"""Repair of generated values that violate CEL rules. Fields that a rule names are changed until the rule holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel import compile_schema
from polykind.contract import JsonObject, copy_json
from polykind.errors import FieldError
from polykind.schema.node import SchemaNode
from polykind.schema.pruning import apply_defaults
from polykind.toolkit.proving.choices import Choices, GenerationError, chance, pick
from polykind.toolkit.proving.pattern_generator import UnsupportedPatternError, pattern_generator

RULES = "x-kubernetes-validations"
_MAX_CHANGES = 40
_chains = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*(?!\s*\())*)").findall
_literals = re.compile(r"""(\w+\()?\s*(r?)(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")""").findall
_calls = re.compile(r"(\w+)\s*\(").findall
_FUNCTION_ARGUMENTS = {
    "isCIDR": ("10.0.0.0/16", "2001:db8::/48"),
    "cidr": ("10.0.0.0/16", "2001:db8::/48"),
    "isIP": ("10.0.0.1", "2001:db8::1"),
    "ip": ("10.0.0.1", "2001:db8::1"),
    "isURL": ("https://example.com/a", "http://example.com:8080"),
    "url": ("https://example.com/a", "http://example.com:8080"),
    "quantity": ("1", "1Gi", "100m"),
    "isQuantity": ("1", "1Gi", "100m"),
    "duration": ("1s", "10s", "1h"),
    "timestamp": ("2026-01-02T03:04:05Z",),
    "uuid": ("00000001-1111-4222-8333-444455556666",),
    "int": ("1", "80", "443"),
    "dns1123Label": ("a", "web"),
    "dns1123Subdomain": ("a.example.com",),
    "semver": ("1.2.3",),
    "isSemver": ("1.2.3",),
}
"""Strings that are valid arguments of CEL functions, by function name."""


Chain = tuple[str, ...]
"""The names of the fields in an expression such as `self.spec.size`."""


class _Hints(NamedTuple):
    """The fields that violated rules name, and strings that may satisfy these rules."""

    chains: list[Chain]
    strings: list[str]


class CelRepair:
    """Changes a value step by step until it violates no rule, or the maximum number of changes is reached."""

    def __init__(self, generate: Callable[..., Any], keep: Callable[[JsonObject], bool]) -> None:
        """`generate` makes a value for a schema node. `keep` returns True for a node whose value must stay."""
        self._generate = generate
        self._keep = keep
        self._rules: dict[int, tuple[JsonObject, Any]] = {}

    def fix(
        self, choices: Choices, raw: JsonObject, node: SchemaNode, value: Any, *, resource: bool = False
    ) -> tuple[Any, str]:
        """Change `value` until it satisfies the rules of the schema `raw`. Return the changed value and "".

        If that does not succeed, return the last value and the description of a rule that it violates.
        """
        violations = self._violations(raw, node, value, resource)
        for _ in range(_MAX_CHANGES):
            if not violations:
                return value, ""
            try:
                changed = self._change_value(choices, raw, copy_json(value), str(violations[0]))
            except GenerationError:
                continue
            remaining = self._violations(raw, node, changed, resource)
            if len(remaining) <= len(violations):
                value, violations = changed, remaining
        return value, _describe_error(violations[0]) if violations else ""

    def _violations(self, raw: JsonObject, node: SchemaNode, value: Any, resource: bool) -> list[FieldError]:
        compiled = self._rules.get(id(raw))
        if compiled is None:
            compiled = self._rules[id(raw)] = (raw, compile_schema(raw, resource=resource))
        rules = compiled[1]
        if rules is None or value is None:
            return []
        defaulted = copy_json(value)
        apply_defaults(node, defaulted, root=resource)
        return rules.validate(defaulted, None)[0]

    def _change_value(self, choices: Choices, raw: JsonObject, value: Any, message: str) -> Any:
        """Return `value` with one random change, if possible to a field that a violated rule names.

        `message` is the error message of the violated rule.
        """
        rules = raw[RULES]
        if isinstance(value, dict):
            rules = [rule for rule in rules if (rule.get("message") or rule.get("rule") or "") in message] or rules
        hints = _read_rules(choices, " ".join(str(rule.get("rule")) for rule in rules))
        strings = hints.strings
        if isinstance(value, list):
            return self._change_list(choices, raw, value, hints)
        if not isinstance(value, dict):
            strings = _combine_strings(choices, strings)
        elif self._change_object(choices, raw, value, hints):
            return value
        return self._generate(choices, {k: v for k, v in raw.items() if k != RULES}, strings=strings)

    def _change_object(self, choices: Choices, raw: JsonObject, value: JsonObject, hints: _Hints) -> bool:
        """Change one field of an object in place. Return False if the rules and the schema name no field."""
        known = [chain for chain in hints.chains if chain[0] in (raw.get("properties") or {}) or chain[0] == "metadata"]
        removable = [chain[0] for chain in known if len(chain) == 1 and self._removable(raw, value, chain[0])]
        if len(removable) > 1 and chance(choices, 60):
            # A rule that names several fields often forbids setting them together, so remove one of them.
            del value[pick(choices, removable)]
        elif known:
            self._change_field(choices, raw, value, pick(choices, known), hints.strings)
        elif value and isinstance(raw.get("additionalProperties"), dict):
            key = pick(choices, sorted(value))
            if hints.strings and chance(choices, 40):
                value[pick(choices, hints.strings)] = value.pop(key)
            else:
                self._change_in(choices, raw["additionalProperties"], value, key, hints)
        else:
            return False
        return True

    def _removable(self, raw: JsonObject, value: JsonObject, name: str) -> bool:
        child = (raw.get("properties") or {}).get(name)
        if child is None or name not in value or name in (raw.get("required") or ()):
            return False
        return not self._keep(child)

    def _change_list(self, choices: Choices, raw: JsonObject, value: list[Any], hints: _Hints) -> list[Any]:
        items = raw.get("items") or {}
        least = raw.get("minItems") or 0
        if value and len(value) > least and chance(choices, 40):
            value.pop(choices.up_to(len(value) - 1))
        elif value and chance(choices, 60):
            self._change_in(choices, items, value, choices.up_to(len(value) - 1), hints)
        elif len(value) < (raw.get("maxItems") or 5):
            value.append(self._generate(choices, items, strings=hints.strings))
        return value

    def _change_in(self, choices: Choices, raw: JsonObject, holder: Any, key: Any, hints: _Hints) -> None:
        """Replace `holder[key]`, or change a field in it that the violated rule names."""
        known = [chain for chain in hints.chains if chain[0] in (raw.get("properties") or {})]
        if known and isinstance(holder[key], dict) and chance(choices, 70):
            self._change_field(choices, raw, holder[key], pick(choices, known), hints.strings)
        else:
            holder[key] = self._generate(choices, raw, strings=hints.strings)

    def _change_field(
        self, choices: Choices, raw: JsonObject, holder: JsonObject, chain: Chain, strings: list[str]
    ) -> None:
        """Set, change or remove the field whose path in `holder` is `chain`, or one of its parent fields."""
        for at, name in enumerate(chain):
            if name == "metadata" and "name" in chain:
                _rename(choices, holder, strings)
                return
            child = (raw.get("properties") or {}).get(name)
            if child is None:
                return
            rest = chain[at + 1 :]
            if not _leads_on(child, holder.get(name), rest) or not chance(choices, 80):
                required = name in (raw.get("required") or ())
                self._change_here(choices, child, holder, name, _Hints([rest] if rest else [], strings), required)
                return
            raw, holder = child, holder[name]

    def _change_here(
        self, choices: Choices, raw: JsonObject, holder: JsonObject, name: str, hints: _Hints, required: bool
    ) -> None:
        """Set, change or remove a field of `holder`. `raw` is the schema of the field."""
        here = holder.get(name)
        if isinstance(here, list) and here and chance(choices, 50):
            self._change_list(choices, raw, here, hints)
        elif name in holder and not required and chance(choices, 5 if self._keep(raw) else 50):
            del holder[name]
        else:
            holder[name] = self._generate(choices, raw, strings=hints.strings)


def _leads_on(raw: JsonObject, value: Any, rest: Chain) -> bool:
    """True if the value is an object, and the next field of a chain is one of its schema's fields."""
    return bool(rest) and isinstance(value, dict) and rest[0] in (raw.get("properties") or {})


def _read_rules(choices: Choices, text: str) -> _Hints:
    """Return the fields and strings in the text of rules."""
    strings = _candidate_strings(choices, text)
    return _Hints(list(dict.fromkeys(chain for root, rest in _chains(text) for chain in _paths(root, rest))), strings)


def _describe_error(error: FieldError) -> str:
    """Return the error message of a violated rule without the value that violates the rule."""
    return f"{error.field}: {error.detail}" if error.field not in ("", "<nil>") else str(error.detail)


def _candidate_strings(choices: Choices, rule_text: str) -> list[str]:
    """Return strings that may satisfy CEL rules with the text `rule_text`.

    These are string literals in the rules, strings that match their patterns, and valid arguments of their functions.
    """
    out = []
    for call, raw, single_quoted, double_quoted in _literals(rule_text):
        literal = single_quoted or double_quoted
        if not raw:
            literal = literal.replace("\\\\", "\\").replace("\\n", "\n")
        if call == "matches(" or literal.startswith("^"):
            try:
                out.append(pattern_generator(literal).draw(choices) or "")
            except UnsupportedPatternError:
                continue
        elif literal:
            out.append(literal)
    for call in dict.fromkeys(_calls(rule_text)):
        out.extend(_FUNCTION_ARGUMENTS.get(call, ()))
    return out


def _combine_strings(choices: Choices, strings: list[str]) -> list[str]:
    """Choose one of the strings. Return it alone, and joined with another string or with letters."""
    if not strings:
        return []
    first, second = pick(choices, strings), pick(choices, strings)
    return [first, first + second, first + "a", "a" + first, first + "a" * choices.up_to(40) + second]


def _rename(choices: Choices, obj: Any, strings: list[str]) -> None:
    """Set metadata.name of an object to a string that a rule mentions, or to a combination of such strings."""
    if isinstance(obj.get("metadata"), dict):
        obj["metadata"]["name"] = pick(choices, _combine_strings(choices, strings))


def _paths(root: str, rest: str) -> list[Chain]:
    """Return the field names of an expression such as `self.spec.size`, without `self` or a macro's variable."""
    names = tuple(rest.split(".")[1:])
    return [names] if names else []
