"""The functions of authorizers: what is asked, what it costs, and what cannot be done with them."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import CompilationError, compile_expression
from polykind.cel.activation import PER_CALL_LIMIT
from polykind.cel.cel_types import AUTHORIZER_TYPES, DYN
from polykind.cel.library.authz import AuthorizationAttributes, AuthorizationResult, Authorizer, ResourceCheck

_VARIABLES = {
    "object": DYN,
    "authorizer": AUTHORIZER_TYPES["Authorizer"],
    "authorizer.requestResource": AUTHORIZER_TYPES["ResourceCheck"],
}
ALLOWED = AuthorizationResult(True)
_WRITTEN = AuthorizationAttributes(group="x.io", resource="vats", namespace="default", name="v")


def _run(
    text: str, answer: AuthorizationResult = ALLOWED, **values: Any
) -> tuple[Any, int, list[AuthorizationAttributes]]:
    asked: list[AuthorizationAttributes] = []

    def ask(question: AuthorizationAttributes) -> AuthorizationResult:
        asked.append(question)
        return answer

    given = {
        "authorizer": Authorizer(ask, AuthorizationAttributes()),
        "authorizer.requestResource": ResourceCheck(ask, _WRITTEN),
    }
    outcome = compile_expression(text, _VARIABLES, results=()).run({**given, **values})
    return outcome.value if outcome.error is None else f"error: {outcome.error}", outcome.cost, asked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("authorizer.path('/healthz').check('get')", AuthorizationAttributes(verb="get", path="/healthz")),
        ("authorizer.group('').resource('pods').check('list')", AuthorizationAttributes(verb="list", resource="pods")),
        (
            "authorizer.group('apps').resource('deployments').subresource('scale').namespace('a').name('b').check('*')",
            AuthorizationAttributes(None, "*", None, "apps", "deployments", "scale", "a", "b"),
        ),
        ("authorizer.serviceAccount('a', 'b.c').path('x').check('')", AuthorizationAttributes(("a", "b.c"), "", "x")),
        ("authorizer.requestResource.check('create')", _WRITTEN._replace(verb="create")),
        (".authorizer.requestResource.name('w').check('get')", _WRITTEN._replace(verb="get", name="w")),
        (
            "[1].all(authorizer, authorizer.requestResource.check('get').allowed())",
            _WRITTEN._replace(verb="get"),
        ),
        (
            "authorizer.group('').resource('pods').fieldSelector('no selector').labelSelector('a in (').check('list')",
            AuthorizationAttributes(verb="list", resource="pods"),
        ),
        ("dyn(authorizer.path('/a')).check('get')", AuthorizationAttributes(verb="get", path="/a")),
    ],
)
def test_what_is_asked(text: str, expected: AuthorizationAttributes) -> None:
    assert _run(text)[2] == [expected]


@pytest.mark.parametrize(
    ("function", "expected"), [("allowed", False), ("reason", "why"), ("errored", True), ("error", "what")]
)
def test_what_a_decision_tells(function: str, expected: Any) -> None:
    assert (
        _run(f"authorizer.path('/').check('get').{function}()", AuthorizationResult(False, "why", "what"))[0]
        == expected
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("authorizer.path(' ')", "error: path must not be empty"),
        ("authorizer.group('').resource('\t')", "error: resource must not be empty"),
        ("authorizer.serviceAccount('a.b', 'c')", "error: Invalid service account namespace"),
        ("authorizer.serviceAccount('A', '')", "error: Invalid service account name"),
        ("object.check('get')", "error: no such overload: check(string, string)"),
        ("authorizer.path(object)", "error: no such overload: path(kubernetes.authorization.Authorizer, int)"),
    ],
)
def test_what_cannot_be_asked(text: str, expected: str) -> None:
    found, _, asked = _run(text, object=5 if "path" in text else "a")
    assert (found, asked) == (expected, [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("authorizer == authorizer", "error: no such overload"),
        ("authorizer != authorizer", True),
        ("dyn(authorizer) == dyn(1)", "error: no such overload"),
        ("dyn(1) == dyn(authorizer)", False),
        ("authorizer == null", False),
        ("[authorizer] == [authorizer]", True),
        ("{'a': authorizer} != {'a': authorizer}", False),
        ("authorizer in [authorizer]", False),
        ("optional.of(authorizer) == optional.of(authorizer)", "error: no such overload"),
        ("[authorizer, authorizer].distinct().size()", 2),
        ("type(authorizer) == type(authorizer.requestResource)", False),
    ],
)
def test_nothing_equals_an_authorizer(text: str, expected: Any) -> None:
    assert _run(text)[0] == expected


def test_a_check_costs_so_much_that_two_can_be_paid() -> None:
    check = "authorizer.path('/').check('get').allowed()"
    assert _run(check)[:2] == (True, 350_003)
    assert _run(f"{check} && {check}")[:2] == (True, 700_006)
    found, cost, _ = _run(f"{check} && {check} && {check}")
    assert (found, cost > PER_CALL_LIMIT) == ("error: operation cancelled: actual cost limit exceeded", True)


def test_a_check_that_fails_costs_the_same() -> None:
    check = "authorizer.path('').check('get').allowed()"
    assert _run(check)[:2] == ("error: path must not be empty", 350_003)
    assert _run(f"{check} && {check} && {check}")[0] == "error: operation cancelled: actual cost limit exceeded"


def test_a_selector_costs_what_its_terms_may_cost() -> None:
    assert _run("authorizer.group('').resource('a').fieldSelector(object)", object="a=b" * 7)[1] == 4 + 10 + 3 + 550


def test_where_no_authorizer_is_given() -> None:
    for name in ("authorizer", "authorizer.requestResource"):
        outcome = compile_expression(f"type({name}) == type(1)", _VARIABLES).run({})
        assert outcome.error == f"no such attribute(s): {name}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("authorizer.foo", "unexpected failed resolution of 'kubernetes.authorization.Authorizer'"),
        ("has(authorizer.requestResource)", "unexpected failed resolution of 'kubernetes.authorization.Authorizer'"),
        (
            "authorizer.check('get')",
            "found no matching overload for 'check' applied to 'kubernetes.authorization.Authorizer.(string)'",
        ),
        (
            "kubernetes.authorization.Authorizer{}",
            "undeclared reference to 'kubernetes.authorization.Authorizer' (in container '')",
        ),
    ],
)
def test_what_is_ill_typed(text: str, expected: str) -> None:
    with pytest.raises(CompilationError) as refusal:
        compile_expression(text, _VARIABLES)
    assert expected in str(refusal.value)
