"""The authz library. Expressions set the attributes of an authorization check one by one and then run the check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel.cel_types import AUTHORIZER_TYPES
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.library.strings import trim
from polykind.cel.runtime_values import KIND_BY_CLASS, OpaqueValue
from polykind.names import dns1123_label, dns1123_subdomain


class AuthorizationAttributes(NamedTuple):
    """The attributes of an authorization check.

    `service_account` is a namespace and a name, or None to check the user of the request. `path` is None if the check
    is about a resource.
    """

    service_account: tuple[str, str] | None = None
    verb: str = ""
    path: str | None = None
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class AuthorizationResult(NamedTuple):
    """The authorizer's decision and reason, and an error if the authorizer failed."""

    allowed: bool
    reason: str = ""
    error: str = ""


Authorize = Callable[[AuthorizationAttributes], AuthorizationResult]


class _AuthorizationValue(OpaqueValue):
    """The attributes of a check that are set so far, and the function that runs the check."""

    __slots__ = ("attributes", "authorize")

    def __init__(self, authorize: Authorize, attributes: AuthorizationAttributes) -> None:
        self.authorize = authorize
        self.attributes = attributes


class Authorizer(_AuthorizationValue):
    """The value of the variable `authorizer`."""

    __slots__ = ()


class PathCheck(_AuthorizationValue):
    """A check of a non-resource path."""

    __slots__ = ()


class GroupCheck(_AuthorizationValue):
    """A check of an API group. A resource must be added before the check can run."""

    __slots__ = ()


class ResourceCheck(_AuthorizationValue):
    """A check of a resource or subresource."""

    __slots__ = ()


class Decision(OpaqueValue):
    """The result of an authorization check."""

    __slots__ = ("result",)

    def __init__(self, result: AuthorizationResult) -> None:
        self.result = result


for _class in (Authorizer, PathCheck, GroupCheck, ResourceCheck, Decision):
    KIND_BY_CLASS[_class] = AUTHORIZER_TYPES[_class.__name__].name


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if dns1123_subdomain(name):
        raise EvalError("Invalid service account name")
    if dns1123_label(namespace):
        raise EvalError("Invalid service account namespace")
    return Authorizer(authorizer.authorize, authorizer.attributes._replace(service_account=(namespace, name)))


def _setter(
    check_class: type[_AuthorizationValue], attribute: str, *, required: bool = False
) -> Callable[[_AuthorizationValue, str], _AuthorizationValue]:
    """Return a function that sets one attribute of a check. A `required` attribute must not be blank."""

    def set_attribute(check: _AuthorizationValue, value: str) -> _AuthorizationValue:
        if required and not trim(value):
            raise EvalError(f"{attribute} must not be empty")
        changes: dict[str, Any] = {attribute: value}
        return check_class(check.authorize, check.attributes._replace(**changes))

    return set_attribute


def _selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    """Return the check unchanged, because Polykind's authorizers ignore selectors."""
    return check


def _check(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    return Decision(check.authorize(check.attributes._replace(verb=verb)))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    ".path authorizer_path Authorizer string -> PathCheck": _setter(PathCheck, "path", required=True),
    ".group authorizer_group Authorizer string -> GroupCheck": _setter(GroupCheck, "group"),
    ".serviceAccount authorizer_serviceaccount Authorizer string string -> Authorizer": _service_account,
    ".resource groupcheck_resource GroupCheck string -> ResourceCheck": _setter(
        ResourceCheck, "resource", required=True
    ),
    **{
        f".{name} resourcecheck_{name} ResourceCheck string -> ResourceCheck": _setter(ResourceCheck, name)
        for name in ("subresource", "namespace", "name")
    },
    ".fieldSelector authorizer_fieldselector ResourceCheck string -> ResourceCheck": _selector,
    ".labelSelector authorizer_labelselector ResourceCheck string -> ResourceCheck": _selector,
    ".check pathcheck_check PathCheck string -> Decision": _check,
    ".check resourcecheck_check ResourceCheck string -> Decision": _check,
    ".allowed decision_allowed Decision -> bool": lambda decision: decision.result.allowed,
    ".reason decision_reason Decision -> string": lambda decision: decision.result.reason,
    ".errored decision_errored Decision -> bool": lambda decision: bool(decision.result.error),
    ".error decision_error Decision -> string": lambda decision: decision.result.error,
}
"""The functions of the authz library, declared in every environment as in kube-apiserver. In a validation rule, a call
fails because no overload matches.
"""
