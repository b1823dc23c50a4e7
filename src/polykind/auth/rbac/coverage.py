"""Whether somebody's rules cover others: nobody may grant what he has not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polykind.auth.authorizer import Authorizer
from polykind.auth.user import User

Rule = dict[str, list[str]]
"""A rule as a role has it: verbs, apiGroups, resources, resourceNames, nonResourceURLs; what is empty may lack."""


def rules_for(authorizer: Authorizer, user: User, namespace: str) -> tuple[list[Rule], str]:
    """All rules that a user has in a namespace ("": those that hold everywhere), and what went wrong to find them."""
    found = authorizer.rules(user, namespace)
    return [*found.resources, *found.paths], found.error


def covers(owner: Sequence[Rule], servant: Iterable[Rule]) -> list[Rule]:
    """What of the servant's rules the owner's do not cover, each of one verb, resource and name; empty: all of it is.

    A part is covered by a single rule of the owner's or not at all.
    """
    return [part for rule in servant for part in _parts(rule) if not any(_covers(held, part) for held in owner)]


def _parts(rule: Rule) -> Iterator[Rule]:
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                part = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                if names:
                    yield from ({**part, "resourceNames": [name]} for name in names)
                else:
                    yield part
    for path in rule.get("nonResourceURLs") or ():
        yield from ({"verbs": [verb], "nonResourceURLs": [path]} for verb in verbs)


def _covers(held: Rule, part: Rule) -> bool:
    """Whether a rule covers a part; only a rule without names covers what has none."""
    if not _any_or_same(held.get("verbs") or (), part["verbs"][0]):
        return False
    paths = part.get("nonResourceURLs")
    if paths:
        return not held.get("resourceNames") and any(
            path_matches(p, paths[0]) for p in held.get("nonResourceURLs") or ()
        )
    names, wanted = held.get("resourceNames"), part.get("resourceNames")
    return (
        _any_or_same(held.get("apiGroups") or (), part["apiGroups"][0])
        and _resource_covers(held.get("resources") or (), part["resources"][0])
        and (not names or (wanted is not None and wanted[0] in names))
    )


def _any_or_same(held: Sequence[str], wanted: str) -> bool:
    return "*" in held or wanted in held


def _resource_covers(held: Sequence[str], wanted: str) -> bool:
    if _any_or_same(held, wanted):
        return True
    _, slash, part = wanted.partition("/")
    return bool(slash) and f"*/{part}" in held


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path of a rule, which may end in an asterisk, is that of a request, or covers that of another rule."""
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
