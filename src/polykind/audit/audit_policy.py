"""The audit policy: finds the level of a request. The rules are those of kube-apiserver."""

from __future__ import annotations

from typing import NamedTuple

from polykind.auth.authorizer import Access
from polykind.auth.user import User
from polykind.contract import JsonObject

NONE, METADATA, REQUEST, REQUEST_RESPONSE = range(4)
"""The audit levels, in the order of `polykind.apis.audit.types.LEVELS`."""
_LEVELS = {"None": NONE, "Metadata": METADATA, "Request": REQUEST, "RequestResponse": REQUEST_RESPONSE}
LEVEL_NAMES = tuple(_LEVELS)


class AuditConfig(NamedTuple):
    """The audit level of one request, and what its events omit."""

    level: int
    omitted_stages: frozenset[str] = frozenset()
    omits_managed_fields: bool = False


class AuditPolicy:
    """A validated policy."""

    def __init__(self, policy: JsonObject) -> None:
        stages = frozenset(policy.get("omitStages") or ())
        omits = bool(policy.get("omitManagedFields"))
        self._rules = [_Rule(rule, stages, omits) for rule in policy.get("rules") or ()]
        self._default = AuditConfig(NONE, stages, omits)

    def config(self, access: Access, user: User | None) -> AuditConfig:
        """Return the configuration of the first rule that matches. `user` is None if authentication has failed."""
        for rule in self._rules:
            if rule.matches(access, user):
                return rule.config
        return self._default


class _Rule:
    def __init__(self, rule: JsonObject, stages: frozenset[str], omits_managed_fields: bool) -> None:
        own = rule.get("omitManagedFields")
        self.config = AuditConfig(
            _LEVELS[rule["level"]],
            stages | frozenset(rule.get("omitStages") or ()),
            omits_managed_fields if own is None else bool(own),
        )
        self._users = frozenset(rule.get("users") or ())
        self._groups = frozenset(rule.get("userGroups") or ())
        self._verbs = frozenset(rule.get("verbs") or ())
        self._namespaces = frozenset(rule.get("namespaces") or ())
        self._resources: list[JsonObject] = rule.get("resources") or []
        self._urls: list[str] = rule.get("nonResourceURLs") or []

    def matches(self, access: Access, user: User | None) -> bool:
        if self._users and (user is None or user.name not in self._users):
            return False
        if self._groups and (user is None or self._groups.isdisjoint(user.groups)):
            return False
        if self._verbs and access.verb not in self._verbs:
            return False
        if self._namespaces or self._resources:
            return access.path is None and self._matches_resource(access)
        if self._urls:
            return access.path is not None and any(_path_matches(access.path, url) for url in self._urls)
        return True

    def _matches_resource(self, access: Access) -> bool:
        if self._namespaces and access.namespace not in self._namespaces:
            return False
        return not self._resources or any(_group_matches(group, access) for group in self._resources)


def _path_matches(path: str, url: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _group_matches(group: JsonObject, access: Access) -> bool:
    if group.get("group", "") not in (access.group, "*"):
        return False
    resources = group.get("resources")
    if not resources:
        return True
    names = group.get("resourceNames")
    if names and access.name not in names:
        return False
    subresource = access.subresource
    accepted = {"*", f"{access.resource}/*", f"{access.resource}/{subresource}" if subresource else access.resource}
    if subresource:
        accepted.add(f"*/{subresource}")
    return not accepted.isdisjoint(resources)
