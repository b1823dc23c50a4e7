"""Nobody may have a policy read what he may not read himself: its params are shown to who is refused by it."""

from __future__ import annotations

from polykind import errors
from polykind.auth.authorizer import Access
from polykind.auth.user import ADMIN_GROUP, User
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.verbs.context import RequestContext


def problems(call: RequestContext, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with the params of a policy or a binding that is fine otherwise, for who writes it."""
    user = call.request.user
    if user is None or ADMIN_GROUP in user.groups:
        return []
    spec, before = new["spec"], old["spec"] if old is not None else {}
    if "policyName" in spec:
        same = spec["policyName"] == before.get("policyName") and spec.get("paramRef") == before.get("paramRef")
        if spec.get("paramRef") is None or same:
            return []
        why = _unreadable_reference(call, user, spec)
        return [errors.forbidden("spec.paramRef", why)] if why else []
    param = spec.get("paramKind")
    if param is None or param == before.get("paramKind"):
        return []
    asked = Access(user, "get", *_resource(call, param), namespace="*", name="*")
    if call.backend.authorizer.decide(asked).allowed:
        return []
    told = f"(kind={param['kind']}, apiVersion={param['apiVersion']})"
    why = f'user {_shown(user)} must have "get" permission on all objects of the referenced paramKind {told}'
    return [errors.forbidden("spec.paramKind", why)]


def _unreadable_reference(call: RequestContext, user: User, spec: JsonObject) -> str:
    """Why somebody may not have a policy read what a binding refers to; "" if he may."""
    reference, name = spec["paramRef"], spec["policyName"]
    policies = call.backend.registry.kind(
        call.resource.group, call.resource.plural.replace("policybindings", "policies")
    )
    entry = policies.cache.get(name) if policies is not None else None
    param = entry.decode()["spec"].get("paramKind") if entry is not None else None
    group, version, resource = _resource(call, param) if param is not None else ("*", "*", "*")
    verb = "get" if reference.get("name") else "list"
    where, which = reference.get("namespace", ""), reference.get("name", "")
    if call.backend.authorizer.decide(Access(user, verb, group, version, resource, "", where, which)).allowed:
        return ""
    least = (
        f'to determine minimum required permissions and user {_shown(user)} does not have "{verb}" permission '
        "for all groups, versions and resources"
    )
    if entry is None:
        return f"unable to get policy {name} {least}"
    if param is not None and resource == "*":
        return f"unable to resolve paramKind &{{{param['apiVersion']} {param['kind']}}} {least}"
    # The reference confuses the two where policies change objects.
    who, what = (_shown(user), verb) if call.resource.plural.startswith("validating") else (verb, _shown(user))
    return f'user {who} does not have "{what}" permission on the object referenced by paramRef'


def _resource(call: RequestContext, param: JsonObject) -> tuple[str, str, str]:
    """The group, the version and the resource of a kind of params; "*" where nobody knows it."""
    group, _, version = param["apiVersion"].rpartition("/")
    kind = call.backend.registry.named(group, param["kind"])
    return group, version, kind.plural if kind is not None and version in kind.versions else "*"


def _shown(user: User) -> str:
    """As the reference shows it: the fields of a Go value."""
    extra = " ".join(f"{key}:[{' '.join(user.extra[key])}]" for key in sorted(user.extra))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
