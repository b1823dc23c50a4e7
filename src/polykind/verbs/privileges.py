"""Checks that a writer does not gain privileges through RBAC objects or through the params of admission policies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polykind import errors, names
from polykind.auth.authorizer import Access
from polykind.auth.rbac.rule_coverage import EVERYTHING, Rule, escalation_error, user_rules
from polykind.auth.user import ADMIN_GROUP, User
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.operations.operation import Operation

_GARBAGE_COLLECTED = ("ownerReferences", "finalizers", "selfLink", "managedFields")
"""Metadata fields that the garbage collector changes. Changing them needs no privileges."""
_MAX_INLINE_RULES = 1_000
"""More rules than this are compared in a worker thread."""
_missing_role = re.compile(r'(?:cluster)?role\.rbac\.authorization\.k8s\.io "')
_ROLE_PLURALS = {"Role": "roles", "ClusterRole": "clusterroles"}

# ---------------------------------------------------------------------- RBAC


async def check_escalation(op: Operation, new: JsonObject, old: JsonObject | None) -> None:
    """Raise ForbiddenError if a role or binding grants permissions that its writer does not hold.

    Users with the verb `escalate` on the role, or `bind` on the bound role, need not hold these permissions.
    """
    user = op.user
    if user is None or ADMIN_GROUP in user.groups or (old is not None and _only_garbage_collected(new, old)):
        return
    if "roleRef" in new:
        await _check_binding(op, new)
    elif not await _may(op, "escalate", op.resource.group, op.resource.plural, op.name):
        await _require_rules(op, new, new["rules"] or ())
        if _aggregates(new) or (old is not None and _aggregates(old)):
            await _require_rules(op, new, EVERYTHING, "must have cluster-admin privileges to use the aggregationRule")


async def _check_binding(op: Operation, new: JsonObject) -> None:
    ref = new["roleRef"]
    plural = _ROLE_PLURALS.get(ref["kind"])
    if plural is None:
        raise errors.UnknownReasonError(f"unsupported role reference kind: {go_quote(ref['kind'])}")
    if not await _may(op, "bind", ref["apiGroup"], plural, ref["name"]):
        await _require_rules(op, new, await _role_rules(op, plural, ref["name"]))


async def _role_rules(op: Operation, plural: str, name: str) -> Sequence[Rule]:
    """Return the rules of the role that a binding refers to. Raise NotFoundError if there is no such role."""
    roles = op.backend.registry.resource(op.resource.group, plural)
    if roles is None:
        raise AssertionError("roles are always served")
    if roles.namespaced and not op.namespace:
        raise errors.BadRequestError("Namespace parameter required.")
    if not name:
        raise errors.BadRequestError("Name parameter required.")
    if reasons := names.path_segment(name):
        raise errors.BadRequestError(f"Name parameter invalid: {go_quote(name)}: {';'.join(reasons)}")
    await op.backend.cache.wait_until_fresh(roles.cache)
    cached = roles.cache.get(roles.key(op.namespace or "", name))
    if cached is None:
        # kube-apiserver reads the role within the binding's request, so its error names the binding's resource.
        raise op.resource.not_found(name)
    rules: list[Rule] = cached.decode().get("rules") or []
    return rules


async def _may(op: Operation, verb: str, group: str, resource: str, name: str) -> bool:
    access = Access(op.client, verb, group, "*", resource, namespace=op.namespace or "", name=name)
    return (await op.backend.authorizer.decide(access)).allowed


async def _require_rules(op: Operation, obj: JsonObject, granted: Sequence[Rule], message: str = "") -> None:
    """Raise ForbiddenError if the user does not hold all rules in `granted`. A nonempty `message` is the error text."""
    resource = op.resource
    held, resolution_error = user_rules(op.backend.authorizer, op.client, op.namespace or "")
    resolution_error = _missing_role.sub(f'{resource.qualified} "', resolution_error)
    many = len(held) + len(granted) > _MAX_INLINE_RULES
    if reason := await op.lane.run_long_if(many, escalation_error, op.client, held, granted, resolution_error):
        name = obj["metadata"].get("name", "")
        raise errors.ForbiddenError(resource.plural, resource.group, name, message or reason)


def _aggregates(role: JsonObject) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _only_garbage_collected(new: JsonObject, old: JsonObject) -> bool:
    """True if an update changes only metadata that the garbage collector changes."""
    return _without_garbage_collected(new) == _without_garbage_collected(old)


def _without_garbage_collected(obj: JsonObject) -> JsonObject:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _GARBAGE_COLLECTED}
    return {**{name: value or None for name, value in obj.items()}, "metadata": meta}


# ---------------------------------------------------------------------- params of admission policies


async def param_errors(op: Operation, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Return an error if the writer of a policy or binding has no permission to read its params."""
    user = op.user
    if user is None or ADMIN_GROUP in user.groups:
        return []
    spec, before = new["spec"], old["spec"] if old is not None else {}
    if "policyName" in spec:
        same = spec["policyName"] == before.get("policyName") and spec.get("paramRef") == before.get("paramRef")
        if spec.get("paramRef") is None or same:
            return []
        reason = await _param_ref_error(op, user, spec)
        return [errors.forbidden("spec.paramRef", reason)] if reason else []
    param = spec.get("paramKind")
    if param is None or param == before.get("paramKind"):
        return []
    access = Access(user, "get", *_param_resource(op, param), namespace="*", name="*")
    if (await op.backend.authorizer.decide(access)).allowed:
        return []
    kind = f"(kind={param['kind']}, apiVersion={param['apiVersion']})"
    reason = f'user {_go_text(user)} must have "get" permission on all objects of the referenced paramKind {kind}'
    return [errors.forbidden("spec.paramKind", reason)]


async def _param_ref_error(op: Operation, user: User, spec: JsonObject) -> str:
    """Return the reason why the user may not read the objects that a paramRef refers to. Return "" if the user may."""
    reference, name = spec["paramRef"], spec["policyName"]
    policies = op.backend.registry.resource(op.resource.group, op.resource.plural.replace("policybindings", "policies"))
    cached = policies.cache.get(name) if policies is not None else None
    param = cached.decode()["spec"].get("paramKind") if cached is not None else None
    group, version, resource = _param_resource(op, param) if param is not None else ("*", "*", "*")
    verb = "get" if reference.get("name") else "list"
    where, which = reference.get("namespace", ""), reference.get("name", "")
    access = Access(user, verb, group, version, resource, "", where, which)
    if (await op.backend.authorizer.decide(access)).allowed:
        return ""
    least = (
        f'to determine minimum required permissions and user {_go_text(user)} does not have "{verb}" permission '
        "for all groups, versions and resources"
    )
    if cached is None:
        return f"unable to get policy {name} {least}"
    if param is not None and resource == "*":
        return f"unable to resolve paramKind &{{{param['apiVersion']} {param['kind']}}} {least}"
    # kube-apiserver swaps user and verb in the message for mutating policies.
    validating = op.resource.plural.startswith("validating")
    who, what = (_go_text(user), verb) if validating else (verb, _go_text(user))
    return f'user {who} does not have "{what}" permission on the object referenced by paramRef'


def _param_resource(op: Operation, param: JsonObject) -> tuple[str, str, str]:
    """Return the group, version and plural of a paramKind. The plural is "*" if the kind is unknown."""
    group, _, version = param["apiVersion"].rpartition("/")
    resource = op.backend.registry.resource_of_kind(group, param["kind"])
    return group, version, resource.plural if resource is not None and version in resource.versions else "*"


def _go_text(user: User) -> str:
    """Return the user as Go's %v prints a pointer to its struct."""
    extra = " ".join(f"{key}:[{' '.join(user.extra[key])}]" for key in sorted(user.extra))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
