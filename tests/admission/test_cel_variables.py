"""The CEL variable authorizer in policies and webhooks."""

from __future__ import annotations

from typing import Any

from polykind.admission.cel_variables import authorizer_values
from polykind.admission.mutating_policies import MutatingBinding, MutatingPolicies, MutatingPolicy
from polykind.admission.validating_policies import ValidatingBinding, ValidatingPolicies, ValidatingPolicy
from polykind.auth.authorizer import Access, AlwaysDeny, Decision, Rules
from polykind.auth.user import User
from polykind.cel.library.authz import AuthorizationAttributes, AuthorizationResult
from polykind.contract import JsonObject
from polykind.errors import APIError
from polykind.metrics.metrics import Metrics
from tests.admission.support import attributes_for, binding, policy

VAT: JsonObject = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}, "spec": {}}
ANN = User("ann", "u-1", ("makers", "system:authenticated"))


class _Authorizer(AlwaysDeny):
    """Allows reads only, and records the accesses."""

    def __init__(self) -> None:
        self.accesses: list[Access] = []

    async def decide(self, access: Access) -> Decision:
        self.accesses.append(access)
        return Decision(access.verb in ("get", "list"), f"{access.user.name} {access.verb}", error="oh")

    def rules(self, user: User, namespace: str) -> Rules:
        raise AssertionError("nobody asks for rules")


async def _denial_message(*policies: JsonObject, authorizer: Any = None) -> str:
    step = ValidatingPolicies(lambda api_version, kind: None, Metrics())
    step.configure({p["metadata"]["name"]: ValidatingPolicy(p) for p in policies}, [ValidatingBinding(binding())])
    try:
        await step.admit(attributes_for(VAT, authorizer=authorizer or _Authorizer()))
    except APIError as error:
        return str(error.status()["message"]).partition("denied request: ")[2]
    return ""


def test_check_becomes_an_access() -> None:
    authorizer = _Authorizer()
    write = attributes_for(VAT, subresource="status", authorizer=authorizer)
    values = authorizer_values(write)
    authorize, written = values["authorizer"], values["authorizer.requestResource"]
    written.authorize(written.attributes._replace(verb="get"))
    authorize.authorize(AuthorizationAttributes(("a", "b"), "get", "/healthz"))
    account = User("system:serviceaccount:a:b", "", ("system:serviceaccounts", "system:serviceaccounts:a"))
    assert authorizer.accesses == [
        Access(ANN, "get", "x.io", "*", "vats", "status", "default", "v"),
        Access(account, "get", path="/healthz"),
    ]


def test_repeated_check_returns_the_same_result() -> None:
    authorizer = _Authorizer()
    write = attributes_for(VAT, authorizer=authorizer)
    attributes = AuthorizationAttributes(verb="get")
    answers = [authorizer_values(write)["authorizer"].authorize(attributes) for _ in range(3)]
    assert answers == [AuthorizationResult(True, "ann get", "oh")] * 3
    assert len(authorizer.accesses) == 1


async def test_validations_use_the_authorizer() -> None:
    assert await _denial_message(policy("authorizer.requestResource.check('get').allowed()")) == ""
    text = "authorizer.requestResource.check('create').allowed()"
    assert await _denial_message(policy(text)) == f"failed expression: {text}"


async def test_match_conditions_use_the_authorizer() -> None:
    for verb, expected in (("get", "failed expression: false"), ("create", "")):
        condition = {"name": "c", "expression": f"authorizer.path('/x').check('{verb}').allowed()"}
        assert await _denial_message(policy("false", matchConditions=[condition])) == expected


async def test_variables_may_hold_authorizer_checks() -> None:
    variables = [
        {"name": "who", "expression": "authorizer.serviceAccount('a', 'b')"},
        {"name": "check", "expression": "variables.who.path('/x').check('get')"},
    ]
    text = "variables.check.reason() != 'system:serviceaccount:a:b get'"
    assert await _denial_message(policy(text, variables=variables)) == f"failed expression: {text}"


async def test_messages_and_annotations_cannot_use_the_authorizer() -> None:
    variable = {"name": "ok", "expression": "authorizer.path('/x').check('get').allowed()"}
    validation = {"expression": "!variables.ok", "messageExpression": "string(variables.ok)", "message": "instead"}
    assert await _denial_message(policy(variables=[variable], validations=[validation])) == "instead"
    annotation = {"key": "k", "valueExpression": "authorizer.path('/x').check('get').reason()"}
    assert await _denial_message(policy("true", auditAnnotations=[annotation])) == (
        "expression 'authorizer.path('/x').check('get').reason()' resulted in error: no such attribute(s): authorizer"
    )


async def test_match_conditions_can_afford_seven_checks() -> None:
    check = "authorizer.path('/x').check('get').allowed()"
    for count, expected in (
        (7, "failed expression: false"),
        (8, "validation failed due to running out of cost budget, no further validation rules will be run"),
    ):
        conditions = [{"name": f"c{index}", "expression": check} for index in range(count)]
        assert await _denial_message(policy("false", matchConditions=conditions)) == expected


async def test_mutations_use_the_authorizer() -> None:
    check = "authorizer.path('/x').check('get').allowed()"
    text = f"[JSONPatch{{op: 'add', path: '/spec/reads', value: {check}}}]"
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": text}}]
    step = MutatingPolicies(lambda api_version, kind: None, Metrics())
    step.configure({"p": MutatingPolicy(policy(mutations=mutations))}, [MutatingBinding(binding())])
    write = attributes_for(VAT, authorizer=_Authorizer())
    await step.admit(write)
    assert write.obj is not None
    assert write.obj["spec"] == {"reads": True}
