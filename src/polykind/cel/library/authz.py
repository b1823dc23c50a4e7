"""Authorizers in expressions: a question is put together step by step, and a check asks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel.cel_types import AUTHORIZER_TYPES
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.library.strings import trim
from polykind.cel.runtime_values import KIND_BY_CLASS, OpaqueValue
from polykind.schema.names import dns1123_label, dns1123_subdomain


class AuthorizationAttributes(NamedTuple):
    """May somebody do this? `account` is the namespace and name of a service account; None is whoever asks."""

    service_account: tuple[str, str] | None = None
    verb: str = ""
    path: str | None = None
    """The path, where the question is of no resource."""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class AuthorizationResult(NamedTuple):
    """Whether it is allowed, and why; `error` is what went wrong with the answer."""

    allowed: bool
    reason: str = ""
    error: str = ""


Ask = Callable[[AuthorizationAttributes], AuthorizationResult]


class _Asking(OpaqueValue):
    """A question that is not complete yet, and whom it will be put to."""

    __slots__ = ("ask", "question")

    def __init__(self, ask: Ask, question: AuthorizationAttributes) -> None:
        self.ask = ask
        self.question = question


class Authorizer(_Asking):
    """Of somebody."""

    __slots__ = ()


class PathCheck(_Asking):
    """Of a path."""

    __slots__ = ()


class GroupCheck(_Asking):
    """Of a group of resources."""

    __slots__ = ()


class ResourceCheck(_Asking):
    """Of a resource, or of a part of it."""

    __slots__ = ()


class Decision(OpaqueValue):
    """What came of a check."""

    __slots__ = ("answer",)

    def __init__(self, answer: AuthorizationResult) -> None:
        self.answer = answer


for _class in (Authorizer, PathCheck, GroupCheck, ResourceCheck, Decision):
    KIND_BY_CLASS[_class] = AUTHORIZER_TYPES[_class.__name__].name


def _account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if dns1123_subdomain(name):
        raise EvalError("Invalid service account name")
    if dns1123_label(namespace):
        raise EvalError("Invalid service account namespace")
    return Authorizer(authorizer.ask, authorizer.question._replace(service_account=(namespace, name)))


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not trim(path):
        raise EvalError("path must not be empty")
    return PathCheck(authorizer.ask, authorizer.question._replace(path=path))


def _group(authorizer: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(authorizer.ask, authorizer.question._replace(group=group))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not trim(resource):
        raise EvalError("resource must not be empty")
    return ResourceCheck(check.ask, check.question._replace(resource=resource))


def _selector(check: ResourceCheck, selector: str) -> ResourceCheck:
    """The same: no authorizer looks at selectors, and what is none is passed over in the reference as well."""
    return check


def _check(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    return Decision(check.ask(check.question._replace(verb=verb)))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "authorizer_path": _path,
    "authorizer_group": _group,
    "authorizer_serviceaccount": _account,
    "groupcheck_resource": _resource,
    "resourcecheck_subresource": lambda on, part: ResourceCheck(on.ask, on.question._replace(subresource=part)),
    "resourcecheck_namespace": lambda on, namespace: ResourceCheck(on.ask, on.question._replace(namespace=namespace)),
    "resourcecheck_name": lambda on, name: ResourceCheck(on.ask, on.question._replace(name=name)),
    "authorizer_fieldselector": _selector,
    "authorizer_labelselector": _selector,
    "pathcheck_check": _check,
    "resourcecheck_check": _check,
    "decision_allowed": lambda decision: decision.answer.allowed,
    "decision_reason": lambda decision: decision.answer.reason,
    "decision_errored": lambda decision: bool(decision.answer.error),
    "decision_error": lambda decision: decision.answer.error,
}
