"""The variable `authorizer` of expressions: whoever writes, and what else they may do."""

from __future__ import annotations

from functools import partial
from typing import Any

from polykind.admission.attributes import Attributes
from polykind.admission.patience import at_home
from polykind.auth.authorizer import Access
from polykind.auth.user import User, service_account_groups, service_account_name
from polykind.cel.cel_types import AUTHORIZER_TYPES
from polykind.cel.library.authz import AuthorizationAttributes, AuthorizationResult, Authorizer, ResourceCheck

AUTHORIZER = {
    "authorizer": AUTHORIZER_TYPES["Authorizer"],
    "authorizer.requestResource": AUTHORIZER_TYPES["ResourceCheck"],
}
"""The variables, and their types."""


def authorizer_values(asked: Attributes) -> dict[str, Any]:
    """The variables of one write; what was decided once about it stays so."""
    ask = partial(_answer, asked)
    resource = asked.resource
    written = AuthorizationAttributes(
        group=resource.group,
        resource=resource.plural,
        subresource=resource.subresource,
        namespace=asked.namespace,
        name=asked.name,
    )
    return {
        "authorizer": Authorizer(ask, AuthorizationAttributes()),
        "authorizer.requestResource": ResourceCheck(ask, written),
    }


def _answer(asked: Attributes, question: AuthorizationAttributes) -> AuthorizationResult:
    found = asked.decided.get(question)
    if found is None:
        access = _access(asked.user, question)
        decision = at_home(lambda: asked.authorizer.decide(access))
        found = asked.decided[question] = AuthorizationResult(decision.allowed, decision.reason, decision.error)
    return found


def _access(user: User, question: AuthorizationAttributes) -> Access:
    if question.service_account is not None:
        namespace, name = question.service_account
        user = User(service_account_name(namespace, name), "", service_account_groups(namespace))
    if question.path is not None:
        return Access(user, question.verb, path=question.path)
    return Access(
        user,
        question.verb,
        question.group,
        "*",
        question.resource,
        question.subresource,
        question.namespace,
        question.name,
    )
