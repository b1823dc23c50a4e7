"""The variable `authorizer` of expressions: whoever writes, and what else they may do."""

from __future__ import annotations

from functools import partial
from typing import Any

from polykind.admission.attributes import Attributes
from polykind.admission.patience import at_home
from polykind.auth.authorizer import Access
from polykind.auth.user import User, service_account_groups, service_account_name
from polykind.cel.library.authorization import Answer, Authorizer, Question, ResourceCheck
from polykind.cel.types import AUTHORIZATION

AUTHORIZER = {
    "authorizer": AUTHORIZATION["Authorizer"],
    "authorizer.requestResource": AUTHORIZATION["ResourceCheck"],
}
"""The variables, and their types."""


def authorizer_values(asked: Attributes) -> dict[str, Any]:
    """The variables of one write; what was decided once about it stays so."""
    ask = partial(_answer, asked)
    resource = asked.resource
    written = Question(
        group=resource.group,
        resource=resource.plural,
        subresource=resource.subresource,
        namespace=asked.namespace,
        name=asked.name,
    )
    return {"authorizer": Authorizer(ask, Question()), "authorizer.requestResource": ResourceCheck(ask, written)}


def _answer(asked: Attributes, question: Question) -> Answer:
    found = asked.decided.get(question)
    if found is None:
        access = _access(asked.user, question)
        decision = at_home(lambda: asked.authorizer.decide(access))
        found = asked.decided[question] = Answer(decision.allowed, decision.reason, decision.error)
    return found


def _access(user: User, question: Question) -> Access:
    if question.account is not None:
        namespace, name = question.account
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
