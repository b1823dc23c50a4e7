"""The RBAC authorizer: roles and role bindings.

Roles are compiled into lookups by resource, and bindings into lookups by subject, when they change. A decision visits
only the bindings of the user, and is cached until a role or binding changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from polykind.auth.authorizer import Access, Decision, Rules
from polykind.auth.authorizer_union import join_errors
from polykind.auth.rbac.rule_coverage import Rule, path_matches
from polykind.auth.user import User, service_account_name
from polykind.bounded_cache import BoundedCache
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

_CACHED_BYTES = 8 * 1024 * 1024
"""The memory of all cached decisions: 5,000 to 10,000 of them."""
_MAX_KEY_BYTES = 16 * 1024
"""The largest access whose decision is cached, with the names of a hundred groups."""

Key = tuple[str, str]
"""A namespace ("" if cluster-scoped) and a name. Also the key of a subject: "User" or "Group", and a name."""


_decode_rules = msgspec.json.Decoder(tuple[list[Rule], list[Rule]]).decode


class _Compiled(NamedTuple):
    """A rule of a role for resources. If `names` is empty, the rule applies to objects of all names."""

    verbs: frozenset[str]
    groups: frozenset[str]
    names: frozenset[str]


class CompiledRole:
    """The rules of a role, indexed by resource and path."""

    __slots__ = ("_encoded_rules", "_paths", "_patterns", "_resources")

    def __init__(self, rules: Iterable[Rule]) -> None:
        resource_rules: list[Rule] = []
        path_rules: list[Rule] = []
        shared: dict[tuple[str, ...], frozenset[str]] = {}
        self._resources: dict[str, list[_Compiled]] = {}
        self._paths: dict[str, list[frozenset[str]]] = {}
        self._patterns: list[tuple[str, frozenset[str]]] = []
        for rule in rules:
            if rule.get("resources"):
                resource_rules.append(_pick(rule, "verbs", "apiGroups", "resources", "resourceNames"))
            if rule.get("nonResourceURLs"):
                path_rules.append(_pick(rule, "verbs", "nonResourceURLs"))
            verbs, groups, names = (
                shared.setdefault(values, frozenset(values))
                for values in (tuple(rule.get(key) or ()) for key in ("verbs", "apiGroups", "resourceNames"))
            )
            compiled = _Compiled(verbs, groups, names)
            for resource in rule.get("resources") or ():
                self._resources.setdefault(resource, []).append(compiled)
            for path in rule.get("nonResourceURLs") or ():
                if path.endswith("*"):
                    self._patterns.append((path, verbs))
                else:
                    self._paths.setdefault(path, []).append(verbs)

        # Reviews need the rules themselves, which is rare. As objects, many rules would take much memory.
        self._encoded_rules = msgspec.json.encode((resource_rules, path_rules))

    @property
    def rules(self) -> tuple[list[Rule], list[Rule]]:
        """The rules for resources, and those for paths."""
        return _decode_rules(self._encoded_rules)

    def matching_rules(self, access: Access, resource_names: Iterable[str]) -> Iterator[frozenset[str]]:
        """Yield the resourceNames of each rule that allows the access.

        `resource_names` are the entries of a rule's `resources` that cover the accessed resource.
        """
        for resource in resource_names:
            for verbs, groups, names in self._resources.get(resource, ()):
                if (access.verb in verbs or "*" in verbs) and (access.group in groups or "*" in groups):
                    yield names

    def allows_path(self, verb: str, path: str) -> bool:
        exact = self._paths.get(path, ())
        matching = (verbs for pattern, verbs in self._patterns if path_matches(pattern, path))
        return any(verb in verbs or "*" in verbs for verbs in (*exact, *matching))


class CompiledBinding:
    """A role binding: the role that it grants, and the index of each subject in its list of subjects."""

    __slots__ = ("_reason_prefix", "_subjects", "kind", "name", "role_key", "subject_indexes")

    def __init__(self, namespace: str, name: str, binding: JsonObject) -> None:
        reference = binding["roleRef"]
        self.name = name
        self.kind = reference["kind"]
        # A ClusterRoleBinding cannot refer to a Role, because the namespace "" contains no Role.
        self.role_key: Key = ("" if self.kind == "ClusterRole" else namespace, reference["name"])
        self._subjects: list[JsonObject] = binding.get("subjects") or []
        self.subject_indexes: dict[Key, int] = {}
        for index, subject in enumerate(self._subjects):
            key = _subject_key(subject, namespace)
            if key is not None:
                self.subject_indexes.setdefault(key, index)
        source = (
            f"RoleBinding {go_quote(f'{name}/{namespace}')}" if namespace else f"ClusterRoleBinding {go_quote(name)}"
        )
        self._reason_prefix = namespace, f"RBAC: allowed by {source} of {self.kind} {go_quote(reference['name'])} to "

    def reason(self, index: int) -> str:
        subject, (namespace, beginning) = self._subjects[index], self._reason_prefix
        name = subject["name"]
        if subject["kind"] == "ServiceAccount":
            name = f"{name}/{subject.get('namespace') or namespace}"
        return f"{beginning}{subject['kind']} {go_quote(name)}"

    def missing_role(self) -> str:
        if self.kind not in ("Role", "ClusterRole"):
            return f"unsupported role reference kind: {go_quote(self.kind)}"
        return f"{self.kind.lower()}.rbac.authorization.k8s.io {go_quote(self.role_key[1])} not found"


def _subject_key(subject: JsonObject, namespace: str) -> Key | None:
    """Return the lookup key of a subject, or None if no user can match it. A service account is looked up as a user."""
    kind, name = subject["kind"], subject["name"]
    if kind == "ServiceAccount":
        namespace = subject.get("namespace") or namespace
        return ("User", service_account_name(namespace, name)) if namespace else None
    return (kind, name) if kind in ("User", "Group") else None


class _CachedDecision(NamedTuple):
    """The decisions for the object names that rules list in resourceNames, and the decision for all other names."""

    named: dict[str, Decision]
    default: Decision


class _UserRoles(NamedTuple):
    """A user's roles in a namespace, each with the reason for an allowed access, and the errors of broken bindings."""

    roles: list[tuple[CompiledRole, str]]
    error: str


class RBACAuthorizer:
    """Decides by roles and bindings. The namespace of cluster-scoped roles and bindings is "" here."""

    allows_everything = False
    may_deny = False

    def __init__(self) -> None:
        self._roles: dict[Key, CompiledRole] = {}
        self._bindings: dict[Key, CompiledBinding] = {}
        self._bound: dict[str, dict[Key, dict[str, int]]] = {}
        """The names of a subject's bindings, each with the subject's index in the binding, by namespace and subject."""
        self._decisions: BoundedCache[tuple[object, ...], _CachedDecision] = BoundedCache(
            _CACHED_BYTES, max_key_bytes=_MAX_KEY_BYTES
        )

    def put_role(self, namespace: str, name: str, role: CompiledRole) -> None:
        self._roles[namespace, name] = role
        self._decisions.clear()

    def drop_role(self, namespace: str, name: str) -> None:
        self._roles.pop((namespace, name), None)
        self._decisions.clear()

    def put_binding(self, namespace: str, name: str, binding: CompiledBinding) -> None:
        self.drop_binding(namespace, name)
        self._bindings[namespace, name] = binding
        for subject, index in binding.subject_indexes.items():
            self._bound.setdefault(namespace, {}).setdefault(subject, {})[name] = index

    def drop_binding(self, namespace: str, name: str) -> None:
        self._decisions.clear()
        removed = self._bindings.pop((namespace, name), None)
        for subject in removed.subject_indexes if removed is not None else ():
            bound = self._bound[namespace]
            del bound[subject][name]
            if not bound[subject]:
                del bound[subject]

    async def decide(self, access: Access) -> Decision:
        return self.decision(access)

    def decision(self, access: Access) -> Decision:
        """Return the decision, from the cache if the same access was decided before."""
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
        cached = self._decisions[key]
        if cached is None:
            cached = self._decisions[key] = self._evaluate(access)
        return cached.named.get(access.name, cached.default)

    def _evaluate(self, access: Access) -> _CachedDecision:
        """Decide by the user's roles in order. The first role that allows the access provides the reason."""
        user_roles = self._roles_for(access.user, access.namespace)
        not_allowed = Decision(False, f"RBAC: {user_roles.error}" if user_roles.error else "")
        if access.path is not None:
            reasons = (reason for role, reason in user_roles.roles if role.allows_path(access.verb, access.path or ""))
            reason = next(reasons, None)
            return _CachedDecision({}, not_allowed if reason is None else Decision(True, reason))
        part, named = access.subresource, dict[str, Decision]()
        resource_names = ("*", f"{access.resource}/{part}", f"*/{part}") if part else ("*", access.resource)
        for role, reason in user_roles.roles:
            allowed = Decision(True, reason)
            for names in role.matching_rules(access, resource_names):
                if not names:
                    return _CachedDecision(named, allowed)
                for name in names:
                    named.setdefault(name, allowed)
        return _CachedDecision(named, not_allowed)

    def rules(self, user: User, namespace: str) -> Rules:
        user_roles = self._roles_for(user, namespace)
        resources: list[Rule] = []
        paths: list[Rule] = []
        for role, _ in user_roles.roles:
            resource_rules, path_rules = role.rules
            resources += resource_rules
            paths += path_rules
        return Rules(resources, paths, error=user_roles.error)

    def _roles_for(self, user: User, namespace: str) -> _UserRoles:
        """Return the user's roles: first those of ClusterRoleBindings, then of RoleBindings, both ordered by name."""
        groups = frozenset(user.groups)
        roles, resolution_errors = [], []
        for scope in ("", namespace) if namespace else ("",):
            subject_indexes: dict[str, int] = {}
            bound = self._bound.get(scope, {})
            subjects: list[Key] = [("User", user.name)]
            if len(groups) > len(bound):
                subjects += [subject for subject in bound if subject[0] == "Group" and subject[1] in groups]
            else:
                subjects += [("Group", group) for group in groups]
            for subject in subjects:
                for name, index in bound.get(subject, {}).items():
                    subject_indexes[name] = min(index, subject_indexes.get(name, index))
            for name, index in sorted(subject_indexes.items()):
                binding = self._bindings[scope, name]
                role = self._roles.get(binding.role_key) if binding.kind in ("Role", "ClusterRole") else None
                if role is None or (binding.kind == "Role" and not scope):
                    resolution_errors.append(binding.missing_role())
                else:
                    roles.append((role, binding.reason(index)))
        return _UserRoles(roles, join_errors(resolution_errors))


def _pick(rule: Rule, *keys: str) -> Rule:
    return {key: rule[key] for key in keys if rule.get(key)}
