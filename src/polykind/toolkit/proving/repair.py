"""Values made to obey the rules (CEL) of their schema: what a broken rule names is changed until it holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from polykind.cel import compile_schema
from polykind.contract import JsonObject, copy_json
from polykind.errors import FieldError
from polykind.schema.node import SchemaNode
from polykind.schema.pruning import apply_defaults
from polykind.toolkit.proving.choices import Choices, Unlucky, likely, pick
from polykind.toolkit.proving.patterns import Unsaid
from polykind.toolkit.proving.patterns import texts as texts_of

RULES = "x-kubernetes-validations"
STEPS = 40
_chains = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*(?!\s*\())*)").findall
_literals = re.compile(r"""(\w+\()?\s*(r?)(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")""").findall
_calls = re.compile(r"(\w+)\s*\(").findall
_WELCOME = {
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
"""Texts that functions of rules are glad of."""


class Repair:
    """Looks for a value near a given one that breaks fewer rules, one small change at a time."""

    def __init__(self, make: Callable[..., Any], spared: Callable[[JsonObject], bool]) -> None:
        """`make` makes a value of a node; what `spared` says of a node's value is that it had better stay."""
        self._make = make
        self._spared = spared
        self._rules: dict[int, tuple[JsonObject, Any]] = {}

    def settled(
        self, choices: Choices, raw: JsonObject, node: SchemaNode, value: Any, *, resource: bool = False
    ) -> tuple[Any, str]:
        """A value that obeys, and nothing; or the last one and the rule that it breaks."""
        broken = self._broken(raw, node, value, resource)
        for _ in range(STEPS):
            if not broken:
                return value, ""
            try:
                changed = self._changed(choices, raw, copy_json(value), str(broken[0]))
            except Unlucky:
                continue
            found = self._broken(raw, node, changed, resource)
            if len(found) <= len(broken):
                value, broken = changed, found
        return value, _told(broken[0]) if broken else ""

    def _broken(self, raw: JsonObject, node: SchemaNode, value: Any, resource: bool) -> list[FieldError]:
        kept = self._rules.get(id(raw))
        if kept is None:
            kept = self._rules[id(raw)] = (raw, compile_schema(raw, resource=resource))
        rules = kept[1]
        if rules is None or value is None:
            return []
        filled = copy_json(value)
        apply_defaults(node, filled, root=resource)
        return rules.validate(filled, None)[0]

    def _changed(self, choices: Choices, raw: JsonObject, value: Any, said: str) -> Any:
        """The value with one thing changed that a broken rule names."""
        rules = raw[RULES]
        if isinstance(value, dict):
            rules = [rule for rule in rules if (rule.get("message") or rule.get("rule") or "") in said] or rules
        told = " ".join(str(rule.get("rule")) for rule in rules)
        texts = _texts(choices, told)
        chains = list(dict.fromkeys(chain for root, rest in _chains(told) for chain in _paths(root, rest)))
        if isinstance(value, list):
            return self._changed_list(choices, raw, value, chains, texts)
        if not isinstance(value, dict):
            return self._make(choices, {k: v for k, v in raw.items() if k != RULES}, texts=_joined(choices, texts))
        known = [chain for chain in chains if chain[0] in (raw.get("properties") or {}) or chain[0] == "metadata"]
        spare = [chain[0] for chain in known if len(chain) == 1 and self._can_go(raw, value, chain[0])]
        if len(spare) > 1 and likely(choices, 60):
            # A rule that names many fields mostly wants fewer of them at once.
            del value[pick(choices, spare)]
        elif known:
            self._change_field(choices, raw, value, pick(choices, known), texts)
        elif value and isinstance(raw.get("additionalProperties"), dict):
            key = pick(choices, sorted(value))
            if texts and likely(choices, 40):
                value[pick(choices, texts)] = value.pop(key)
                return value
            self._change_in(choices, raw["additionalProperties"], value, key, chains, texts)
        else:
            return self._make(choices, {k: v for k, v in raw.items() if k != RULES}, texts=texts)
        return value

    def _can_go(self, raw: JsonObject, value: JsonObject, name: str) -> bool:
        child = (raw.get("properties") or {}).get(name)
        if child is None or name not in value or name in (raw.get("required") or ()):
            return False
        return not self._spared(child)

    def _changed_list(
        self, choices: Choices, raw: JsonObject, value: list[Any], chains: list[tuple[str, ...]], texts: list[str]
    ) -> list[Any]:
        items = raw.get("items") or {}
        least = raw.get("minItems") or 0
        if value and len(value) > least and likely(choices, 40):
            value.pop(choices.upto(len(value) - 1))
        elif value and likely(choices, 60):
            self._change_in(choices, items, value, choices.upto(len(value) - 1), chains, texts)
        elif len(value) < (raw.get("maxItems") or 5):
            value.append(self._make(choices, items, texts=texts))
        return value

    def _change_in(
        self, choices: Choices, raw: JsonObject, holder: Any, key: Any, chains: list[tuple[str, ...]], texts: list[str]
    ) -> None:
        """Change an item as a whole, or a field of it that the rule names."""
        known = [chain for chain in chains if chain[0] in (raw.get("properties") or {})]
        if known and isinstance(holder[key], dict) and likely(choices, 70):
            self._change_field(choices, raw, holder[key], pick(choices, known), texts)
        else:
            holder[key] = self._make(choices, raw, texts=texts)

    def _change_field(
        self, choices: Choices, raw: JsonObject, holder: JsonObject, chain: tuple[str, ...], texts: list[str]
    ) -> None:
        """Set, change or remove the field at the end of a chain of names, or one on the way to it."""
        for at, name in enumerate(chain):
            if name == "metadata" and "name" in chain:
                _rename(choices, holder, texts)
                return
            child = (raw.get("properties") or {}).get(name)
            if child is None:
                return
            here, inner = holder.get(name), child.get("properties") or {}
            deeper = at + 1 < len(chain) and isinstance(here, dict) and chain[at + 1] in inner
            if deeper and likely(choices, 80):
                raw, holder = child, holder[name]
                continue
            if isinstance(here, list) and here and likely(choices, 50):
                self._changed_list(choices, child, here, [chain[at + 1 :]] if at + 1 < len(chain) else [], texts)
            elif (
                name in holder
                and name not in (raw.get("required") or ())
                and likely(choices, 5 if self._spared(child) else 50)
            ):
                del holder[name]
            else:
                holder[name] = self._make(choices, child, texts=texts)
            return


def _told(error: FieldError) -> str:
    """What is said about a broken rule, without the value that broke it."""
    return f"{error.field}: {error.detail}" if error.field not in ("", "<nil>") else str(error.detail)


def _texts(choices: Choices, told: str) -> list[str]:
    """The texts that rules name, those that match the patterns they name, and those their functions are glad of."""
    out = []
    for call, raw, one, other in _literals(told):
        literal = one or other
        if not raw:
            literal = literal.replace("\\\\", "\\").replace("\\n", "\n")
        if call == "matches(" or literal.startswith("^"):
            try:
                out.append(texts_of(literal).draw(choices) or "")
            except Unsaid:
                continue
        elif literal:
            out.append(literal)
    for call in dict.fromkeys(_calls(told)):
        out.extend(_WELCOME.get(call, ()))
    return out


def _joined(choices: Choices, texts: list[str]) -> list[str]:
    """Texts that a rule names, alone and as the start or the end of others."""
    if not texts:
        return []
    one, other = pick(choices, texts), pick(choices, texts)
    return [one, one + other, one + "a", "a" + one, one + "a" * choices.upto(40) + other]


def _rename(choices: Choices, obj: Any, texts: list[str]) -> None:
    """Give an object one of the names that a rule tells."""
    if isinstance(obj.get("metadata"), dict):
        obj["metadata"]["name"] = pick(choices, _joined(choices, texts))


def _paths(root: str, rest: str) -> list[tuple[str, ...]]:
    """The names that a chain in a rule may mean: of `self`, or of a variable of a macro."""
    names = tuple(rest.split(".")[1:])
    return [names] if names else []
