"""Nobody may grant what he does not hold: to write a role takes its rules, to write a binding those of its role.

Unless he may `escalate` roles, or `bind` that one; and whoever may do everything may do this as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polykind import errors
from polykind.auth.authorizer import Access
from polykind.auth.rbac.rule_coverage import EVERYTHING, Rule, escalation_error, user_rules
from polykind.auth.user import ADMIN_GROUP
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.schema import names
from polykind.verbs.context import RequestContext

_COLLECTED = ("ownerReferences", "finalizers", "selfLink", "managedFields")
"""What of the metadata those change who collect garbage."""
_missing_role = re.compile(r'(?:cluster)?role\.rbac\.authorization\.k8s\.io "')
_ROLES = {"Role": "roles", "ClusterRole": "clusterroles"}


async def check(call: RequestContext, new: JsonObject, old: JsonObject | None) -> None:
    """Refuse to write a role or a binding that gives more than the writer has."""
    user = call.request.user
    if user is None or ADMIN_GROUP in user.groups or (old is not None and _only_collected(new, old)):
        return
    if "roleRef" in new:
        await _check_binding(call, new)
    elif not _may(call, "escalate", call.resource.group, call.resource.plural, call.name):
        _confirm(call, new, new["rules"] or ())
        if _aggregates(new) or (old is not None and _aggregates(old)):
            _confirm(call, new, EVERYTHING, "must have cluster-admin privileges to use the aggregationRule")


async def _check_binding(call: RequestContext, new: JsonObject) -> None:
    ref = new["roleRef"]
    plural = _ROLES.get(ref["kind"])
    if plural is None:
        raise errors.UnknownReasonError(f"unsupported role reference kind: {go_quote(ref['kind'])}")
    if not _may(call, "bind", ref["apiGroup"], plural, ref["name"]):
        _confirm(call, new, await _rules_of(call, plural, ref["name"]))


async def _rules_of(call: RequestContext, plural: str, name: str) -> Sequence[Rule]:
    """The rules of a role that a binding is to give."""
    kind = call.backend.registry.kind(call.resource.group, plural)
    if kind is None:
        raise AssertionError("roles are always served")
    if kind.namespaced and not call.namespace:
        raise errors.BadRequestError("Namespace parameter required.")
    if not name:
        raise errors.BadRequestError("Name parameter required.")
    if wrong := names.path_segment(name):
        raise errors.BadRequestError(f"Name parameter invalid: {go_quote(name)}: {';'.join(wrong)}")
    await call.backend.cache.wait_until_fresh(kind.cache)
    entry = kind.cache.get(kind.key(call.namespace or "", name))
    if entry is None:
        # The reference looks for it on behalf of the request, and so names the resource of that.
        raise call.resource.not_found(name)
    rules: list[Rule] = entry.decode().get("rules") or []
    return rules


def _may(call: RequestContext, verb: str, group: str, resource: str, name: str) -> bool:
    access = Access(call.user, verb, group, "*", resource, namespace=call.namespace or "", name=name)
    return call.backend.authorizer.decide(access).allowed


def _confirm(call: RequestContext, obj: JsonObject, granted: Sequence[Rule], instead: str = "") -> None:
    """Refuse if the user lacks any of the rules; `instead`: what is said then."""
    kind = call.resource
    held, trouble = user_rules(call.backend.authorizer, call.user, call.namespace or "")
    trouble = _missing_role.sub(f'{kind.qualified} "', trouble)
    if why := escalation_error(call.user, held, granted, trouble):
        raise errors.ForbiddenError(kind.plural, kind.group, obj["metadata"].get("name", ""), instead or why)


def _aggregates(role: JsonObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_collected(new: JsonObject, old: JsonObject) -> bool:
    """Whether nothing changes but what leads to the collection of garbage."""
    return _told(new) == _told(old)


def _told(obj: JsonObject) -> JsonObject:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _COLLECTED}
    return {**{name: value or None for name, value in obj.items()}, "metadata": meta}
