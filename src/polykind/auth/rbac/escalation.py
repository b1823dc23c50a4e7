"""What is said to those who would grant what they do not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polykind.auth.rbac.coverage import Rule, covers
from polykind.auth.user import User
from polykind.golang.text import go_quote

EVERYTHING: tuple[Rule, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_PARTS = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def refusal(user: User, held: Sequence[Rule], granted: Iterable[Rule], trouble: str) -> str:
    """Why a user who holds some rules may not grant others; empty if he may.

    `trouble` is what went wrong when those he holds were looked for.
    """
    missing = covers(held, granted)
    if not missing:
        return ""
    listed = "\n".join(sorted({_described(rule) for rule in _compacted(missing)}))
    text = (
        f"user {go_quote(user.name)} (groups={_quoted(user.groups)}) is attempting to grant RBAC permissions "
        f"not currently held:\n{listed}"
    )
    return f"{text}; resolution errors: [{trouble}]" if trouble else text


def _compacted(parts: Iterable[Rule]) -> Iterable[Rule]:
    """Rules of one verb each, those about the same resource and name in one."""
    found: list[Rule] = []
    merged: dict[tuple[str, ...], Rule] = {}
    for part in parts:
        if "nonResourceURLs" in part:
            found.append(part)
            continue
        about = (*part["apiGroups"], *part["resources"], *part.get("resourceNames", ()))
        if about in merged:
            merged[about]["verbs"] += part["verbs"]
        else:
            merged[about] = {**part, "verbs": list(part["verbs"])}
    return [*found, *merged.values()]


def _described(rule: Rule) -> str:
    parts = [f"{name}:{_quoted(rule[key])}" for name, key in _PARTS if rule.get(key)]
    return f"{{{', '.join(parts)}}}"


def _quoted(texts: Iterable[str]) -> str:
    return f"[{' '.join(map(go_quote, texts))}]"
