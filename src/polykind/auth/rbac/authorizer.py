"""Roles and their bindings: what users may do because somebody bound them, or a group of theirs, to a role.

Roles are made into look-ups by resource, bindings into look-ups by subject, when they change; a decision visits
nothing but the bindings of who asks, and is kept until something changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from polykind.auth.authorizer import Access, Decision, Rules
from polykind.auth.rbac.coverage import Rule, path_matches
from polykind.auth.union import gathered
from polykind.auth.user import User, service_account_name
from polykind.contract import JsonObject
from polykind.golang.text import go_quote

_KEPT = 8192
"""So many answers are kept; beyond it all are found anew."""

Key = tuple[str, str]
"""A namespace ("": none) and a name; of a subject "User" or "Group" and a name."""


class _Compiled(NamedTuple):
    """A rule about resources; without `names` it is about all of them."""

    verbs: frozenset[str]
    groups: frozenset[str]
    names: frozenset[str]


class _Role:
    """The rules of a role, by the resources and the paths that they name."""

    __slots__ = ("_paths", "_patterns", "_resources", "rules")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = list(rules)
        self._resources: dict[str, list[_Compiled]] = {}
        self._paths: dict[str, list[frozenset[str]]] = {}
        self._patterns: list[tuple[str, frozenset[str]]] = []
        for rule in self.rules:
            verbs, groups, names = (frozenset(rule.get(key) or ()) for key in ("verbs", "apiGroups", "resourceNames"))
            compiled = _Compiled(verbs, groups, names)
            for resource in rule.get("resources") or ():
                self._resources.setdefault(resource, []).append(compiled)
            for path in rule.get("nonResourceURLs") or ():
                if path.endswith("*"):
                    self._patterns.append((path, verbs))
                else:
                    self._paths.setdefault(path, []).append(verbs)

    def fitting(self, access: Access, wanted: Iterable[str]) -> Iterator[frozenset[str]]:
        """The names of each rule that allows it; `wanted`: under which names a rule may mention the resource."""
        for resource in wanted:
            for verbs, groups, names in self._resources.get(resource, ()):
                if (access.verb in verbs or "*" in verbs) and (access.group in groups or "*" in groups):
                    yield names

    def allows_path(self, verb: str, path: str) -> bool:
        exact = self._paths.get(path, ())
        matching = (verbs for pattern, verbs in self._patterns if path_matches(pattern, path))
        return any(verb in verbs or "*" in verbs for verbs in (*exact, *matching))


class _Binding:
    """A binding: whom it concerns, by the place of the subject, and to which role it binds them."""

    __slots__ = ("_about", "_subjects", "kind", "name", "of", "places")

    def __init__(self, namespace: str, name: str, binding: JsonObject) -> None:
        reference = binding["roleRef"]
        self.name = name
        self.kind = reference["kind"]
        # A binding of everywhere knows no role of a namespace.
        self.of: Key = ("" if self.kind == "ClusterRole" else namespace, reference["name"])
        self._subjects: list[JsonObject] = binding.get("subjects") or []
        self.places: dict[Key, int] = {}
        for place, subject in enumerate(self._subjects):
            key = _subject_key(subject, namespace)
            if key is not None:
                self.places.setdefault(key, place)
        source = (
            f"RoleBinding {go_quote(f'{name}/{namespace}')}" if namespace else f"ClusterRoleBinding {go_quote(name)}"
        )
        self._about = namespace, f"RBAC: allowed by {source} of {self.kind} {go_quote(reference['name'])} to "

    def reason(self, place: int) -> str:
        subject, (namespace, beginning) = self._subjects[place], self._about
        name = subject["name"]
        if subject["kind"] == "ServiceAccount":
            name = f"{name}/{subject.get('namespace') or namespace}"
        return f"{beginning}{subject['kind']} {go_quote(name)}"

    def missing(self) -> str:
        if self.kind not in ("Role", "ClusterRole"):
            return f"unsupported role reference kind: {go_quote(self.kind)}"
        return f"{self.kind.lower()}.rbac.authorization.k8s.io {go_quote(self.of[1])} not found"


def _subject_key(subject: JsonObject, namespace: str) -> Key | None:
    """Under what a subject is looked up: a service account as the user that it is."""
    kind, name = subject["kind"], subject["name"]
    if kind == "ServiceAccount":
        namespace = subject.get("namespace") or namespace
        return ("User", service_account_name(namespace, name)) if namespace else None
    return (kind, name) if kind in ("User", "Group") else None


class _Answer(NamedTuple):
    """What is said of some names, and what of all the others."""

    named: dict[str, Decision]
    others: Decision


class _Held(NamedTuple):
    """What a user holds in a namespace: roles with the reason to tell, and what is wrong with the others."""

    roles: list[tuple[_Role, str]]
    error: str


class RBACAuthorizer:
    """Decides by roles and bindings. Those of everywhere have the namespace ""."""

    everything = False

    def __init__(self) -> None:
        self._roles: dict[Key, _Role] = {}
        self._bindings: dict[Key, _Binding] = {}
        self._bound: dict[tuple[str, Key], dict[str, int]] = {}
        """By namespace and subject: the names of bindings, and the subject's place in each."""
        self._answers: dict[tuple[object, ...], _Answer] = {}

    # ------------------------------------------------------------------ what is stored

    def put_role(self, namespace: str, name: str, rules: Iterable[Rule]) -> None:
        self._roles[namespace, name] = _Role(rules)
        self._answers.clear()

    def drop_role(self, namespace: str, name: str) -> None:
        self._roles.pop((namespace, name), None)
        self._answers.clear()

    def put_binding(self, namespace: str, name: str, binding: JsonObject) -> None:
        self.drop_binding(namespace, name)
        made = self._bindings[namespace, name] = _Binding(namespace, name, binding)
        for subject, place in made.places.items():
            self._bound.setdefault((namespace, subject), {})[name] = place

    def drop_binding(self, namespace: str, name: str) -> None:
        self._answers.clear()
        gone = self._bindings.pop((namespace, name), None)
        for subject in gone.places if gone is not None else ():
            names = self._bound[namespace, subject]
            del names[name]
            if not names:
                del self._bound[namespace, subject]

    # ------------------------------------------------------------------ what is asked

    def decide(self, access: Access) -> Decision:
        user = access.user
        key = (
            user.name,
            user.groups,
            access.verb,
            access.group,
            access.resource,
            access.subresource,
            access.namespace,
            access.path,
        )
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _KEPT:
                self._answers.clear()
            answer = self._answers[key] = self._answer(access)
        return answer.named.get(access.name, answer.others)

    def _answer(self, access: Access) -> _Answer:
        """Of bindings that allow the same the first is told."""
        held = self._of(access.user, access.namespace)
        refused = Decision(False, f"RBAC: {held.error}" if held.error else "")
        if access.path is not None:
            reasons = (reason for role, reason in held.roles if role.allows_path(access.verb, access.path or ""))
            reason = next(reasons, None)
            return _Answer({}, refused if reason is None else Decision(True, reason))
        part, named = access.subresource, dict[str, Decision]()
        wanted = ("*", f"{access.resource}/{part}", f"*/{part}") if part else ("*", access.resource)
        for role, reason in held.roles:
            allowed = Decision(True, reason)
            for names in role.fitting(access, wanted):
                if not names:
                    return _Answer(named, allowed)
                for name in names:
                    named.setdefault(name, allowed)
        return _Answer(named, refused)

    def rules(self, user: User, namespace: str) -> Rules:
        held = self._of(user, namespace)
        rules = [rule for role, _ in held.roles for rule in role.rules]
        return Rules(
            [
                _only(rule, "verbs", "apiGroups", "resources", "resourceNames")
                for rule in rules
                if rule.get("resources")
            ],
            [_only(rule, "verbs", "nonResourceURLs") for rule in rules if rule.get("nonResourceURLs")],
            error=held.error,
        )

    def _of(self, user: User, namespace: str) -> _Held:
        """What is bound everywhere, then what is in the namespace, each in the order of the bindings' names."""
        subjects: list[Key] = [("User", user.name), *(("Group", group) for group in user.groups)]
        roles, wrong = [], []
        for where in ("", namespace) if namespace else ("",):
            places: dict[str, int] = {}
            for subject in subjects:
                for name, place in self._bound.get((where, subject), {}).items():
                    places[name] = min(place, places.get(name, place))
            for name, place in sorted(places.items()):
                binding = self._bindings[where, name]
                role = self._roles.get(binding.of) if binding.kind in ("Role", "ClusterRole") else None
                if role is None or (binding.kind == "Role" and not where):
                    wrong.append(binding.missing())
                else:
                    roles.append((role, binding.reason(place)))
        return _Held(roles, gathered(wrong))


def _only(rule: Rule, *keys: str) -> Rule:
    return {key: rule[key] for key in keys if rule.get(key)}
