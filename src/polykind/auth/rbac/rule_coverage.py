"""Coverage of RBAC rules by other rules, and the privilege escalation check that uses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polykind.auth.authorizer import Authorizer
from polykind.auth.user import User
from polykind.golang.fmt import go_quote

Rule = dict[str, list[str]]
"""A rule of a role: verbs, apiGroups, resources, resourceNames, nonResourceURLs. Empty fields may be absent."""

EVERYTHING: tuple[Rule, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_GO_FIELDS = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def user_rules(authorizer: Authorizer, user: User, namespace: str) -> tuple[list[Rule], str]:
    """Return all rules of a user in a namespace ("" for cluster-scoped rules), and the error of looking them up."""
    rules = authorizer.rules(user, namespace)
    return [*rules.resources, *rules.paths], rules.error


def uncovered(held: Sequence[Rule], granted: Iterable[Rule]) -> list[Rule]:
    """Split `granted` into rules with one verb, resource and name. Return those that no rule in `held` covers.

    As in kube-apiserver, a single rule must cover each of them.
    """
    index: dict[str, list[Rule]] = {}
    for rule in held:
        for resource in dict.fromkeys(rule.get("resources") or ()):
            index.setdefault(resource, []).append(rule)
    with_paths = [rule for rule in held if rule.get("nonResourceURLs")]
    return [
        single
        for rule in granted
        for single in _single_rules(rule)
        if not any(
            _covers(rule_held, single)
            for rule_held in (with_paths if "nonResourceURLs" in single else _candidates(index, single["resources"][0]))
        )
    ]


def _candidates(index: dict[str, list[Rule]], resource: str) -> Iterator[Rule]:
    """Yield the rules that may cover a resource. `index` has the rules by the entries of their `resources`."""
    _, slash, subresource = resource.partition("/")
    for entry in (resource, "*", f"*/{subresource}") if slash else (resource, "*"):
        yield from index.get(entry, ())


def _single_rules(rule: Rule) -> Iterator[Rule]:
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                single = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                if names:
                    yield from ({**single, "resourceNames": [name]} for name in names)
                else:
                    yield single
    for path in rule.get("nonResourceURLs") or ():
        yield from ({"verbs": [verb], "nonResourceURLs": [path]} for verb in verbs)


def _covers(held: Rule, single: Rule) -> bool:
    """True if `held` covers `single`. Only a rule without resourceNames covers a rule without resourceNames."""
    if not _matches(held.get("verbs") or (), single["verbs"][0]):
        return False
    paths = single.get("nonResourceURLs")
    if paths:
        return not held.get("resourceNames") and any(
            path_matches(p, paths[0]) for p in held.get("nonResourceURLs") or ()
        )
    names, requested = held.get("resourceNames"), single.get("resourceNames")
    return (
        _matches(held.get("apiGroups") or (), single["apiGroups"][0])
        and _resource_covers(held.get("resources") or (), single["resources"][0])
        and (not names or (requested is not None and requested[0] in names))
    )


def _matches(held: Sequence[str], requested: str) -> bool:
    return "*" in held or requested in held


def _resource_covers(held: Sequence[str], requested: str) -> bool:
    if _matches(held, requested):
        return True
    _, slash, single = requested.partition("/")
    return bool(slash) and f"*/{single}" in held


def path_matches(pattern: str, path: str) -> bool:
    """True if `pattern`, a nonResourceURL that may end in an asterisk, covers a path or another nonResourceURL."""
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


def escalation_error(user: User, held: Sequence[Rule], granted: Iterable[Rule], resolution_error: str) -> str:
    """Return the reason why a user with the rules `held` may not grant the rules `granted`. Return "" if the user may.

    `resolution_error` is the error of looking up the held rules.
    """
    missing = uncovered(held, granted)
    if not missing:
        return ""
    listed = "\n".join(sorted({_describe(rule) for rule in _compact(missing)}))
    text = (
        f"user {go_quote(user.name)} (groups={_quoted(user.groups)}) is attempting to grant RBAC permissions "
        f"not currently held:\n{listed}"
    )
    return f"{text}; resolution errors: [{resolution_error}]" if resolution_error else text


def _compact(parts: Iterable[Rule]) -> Iterable[Rule]:
    """Merge rules for the same resource and name into one rule with all their verbs."""
    paths: list[Rule] = []
    merged: dict[tuple[str, ...], Rule] = {}
    for part in parts:
        if "nonResourceURLs" in part:
            paths.append(part)
            continue
        key = (*part["apiGroups"], *part["resources"], *part.get("resourceNames", ()))
        if key in merged:
            merged[key]["verbs"] += part["verbs"]
        else:
            merged[key] = {**part, "verbs": list(part["verbs"])}
    return [*paths, *merged.values()]


def _describe(rule: Rule) -> str:
    parts = [f"{name}:{_quoted(rule[field])}" for name, field in _GO_FIELDS if rule.get(field)]
    return f"{{{', '.join(parts)}}}"


def _quoted(texts: Iterable[str]) -> str:
    return f"[{' '.join(map(go_quote, texts))}]"
