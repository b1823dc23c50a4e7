"""The authz library: expressions build the attributes of an authorization check step by step, then run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel.cel_types import AUTHORIZER_TYPES
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.library.strings import trim
from polykind.cel.runtime_values import KIND_BY_CLASS, OpaqueValue
from polykind.names import dns1123_label, dns1123_subdomain


class AuthorizationAttributes(NamedTuple):
    """The attributes of an access check.

    `service_account` is a namespace and a name, None for the user of the request. `path` is None for a resource check.
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
    """The authorizer's decision with its reason, and its error if it failed."""

    allowed: bool
    reason: str = ""
    error: str = ""


Authorize = Callable[[AuthorizationAttributes], AuthorizationResult]


class _AuthorizationValue(OpaqueValue):
    """The attributes collected so far, and the function that runs the check."""

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
    """A check of an API group, to be completed with a resource."""

    __slots__ = ()


class ResourceCheck(_AuthorizationValue):
    """A check of a resource or subresource."""

    __slots__ = ()


class Decision(OpaqueValue):
    """The result of a check."""

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


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not trim(path):
        raise EvalError("path must not be empty")
    return PathCheck(authorizer.authorize, authorizer.attributes._replace(path=path))


def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer.authorize, authorizer.attributes._replace(group=group))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not trim(resource):
        raise EvalError("resource must not be empty")
    return ResourceCheck(check.authorize, check.attributes._replace(resource=resource))


def _selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    """Return the check unchanged: Polykind's authorizers ignore selectors, and kube-apiserver ignores invalid ones."""
    return check


def _check(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    return Decision(check.authorize(check.attributes._replace(verb=verb)))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "authorizer_path": _path,
    "authorizer_group": _group,
    "authorizer_serviceaccount": _service_account,
    "groupcheck_resource": _resource,
    "resourcecheck_subresource": lambda check, part: ResourceCheck(
        check.authorize, check.attributes._replace(subresource=part)
    ),
    "resourcecheck_namespace": lambda check, namespace: ResourceCheck(
        check.authorize, check.attributes._replace(namespace=namespace)
    ),
    "resourcecheck_name": lambda check, name: ResourceCheck(check.authorize, check.attributes._replace(name=name)),
    "authorizer_fieldselector": _selector,
    "authorizer_labelselector": _selector,
    "pathcheck_check": _check,
    "resourcecheck_check": _check,
    "decision_allowed": lambda decision: decision.result.allowed,
    "decision_reason": lambda decision: decision.result.reason,
    "decision_errored": lambda decision: bool(decision.result.error),
    "decision_error": lambda decision: decision.result.error,
}
