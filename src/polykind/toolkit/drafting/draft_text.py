"""A draft as a rules file or as Python, with comments for what a person must decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from polykind.toolkit.drafting.rule_draft import DraftRule, RuleDraft

_PYTHON_NAMES = {
    "renameValues": "rename_values",
    "absentMeans": "absent_means",
    "listToMap": "list_to_map",
    "mapToList": "map_to_list",
}


def rules_file(draft: RuleDraft) -> str:
    """Return the draft as a rules file."""
    lines = [*_head(draft), f"kind: {draft.kind}", "between:", f"- versions: [{draft.old}, {draft.new}]"]
    lines.append("  rules:" if draft.rules else "  rules: []")
    for rule in draft.rules:
        lines += [f"  {comment}" for comment in _comments(rule)]
        lines.append(f"  - {rule.name}: {_flow(rule.value)}")
    return "\n".join(lines) + "\n"


def python_module(draft: RuleDraft) -> str:
    """Return the draft as a Python module with the object `conversions`."""
    names = sorted({_PYTHON_NAMES.get(rule.name, rule.name) for rule in draft.rules})
    lines = [*_head(draft), f"from polykind.convert import {', '.join(['Conversions', *names])}", ""]
    lines += [f"conversions = Conversions({draft.kind!r})", "conversions.between(", f"    {draft.old!r},"]
    lines.append(f"    {draft.new!r},")
    for rule in draft.rules:
        lines += [f"    {comment}" for comment in _comments(rule)]
        lines.append(f"    {_call(rule)},")
    lines.append(")")
    return "\n".join(lines) + "\n"


def _head(draft: RuleDraft) -> Iterator[str]:
    yield f"# Rules between {draft.old} and {draft.new}. Decide what is marked DECIDE. Then run polykind prove."
    if draft.passes:
        yield f"# The draft passes its proof with {draft.tested} objects."
    for text in draft.decisions:
        yield f"# DECIDE: {_line(text)}"
    for text in draft.failures:
        yield f"# FAILS ITS PROOF: {_line(text)}"


def _comments(rule: DraftRule) -> Iterator[str]:
    for text in rule.decisions:
        yield f"# DECIDE: {_line(text)}"
    for text in rule.failures:
        yield f"# FAILS ITS PROOF: {_line(text)}"


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _flow(value: Any) -> str:
    """Return a value as JSON, which is also YAML in flow style."""
    return orjson.dumps(value).decode()


def _call(rule: DraftRule) -> str:
    name = _PYTHON_NAMES.get(rule.name, rule.name)
    value = rule.value
    if isinstance(value, list):
        positional, named = value, {}
    else:
        named = dict(value)
        positional = [named.pop(key) for key in ("version", "path") if key in named]
        positional += named.pop("paths", [])
        if "text" in named:
            text, parts = named.pop("text"), named.pop("parts")
            positional = [text, *parts] if name == "split" else parts
            if name == "join":
                named["into"] = text
        if "units" in named:
            named["units"] = tuple(named["units"])
        if name == "rename_values":
            positional.append(named.pop("values"))
    arguments = [repr(item) for item in positional] + [f"{key}={item!r}" for key, item in named.items()]
    return f"{name}({', '.join(arguments)})"
