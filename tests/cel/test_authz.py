"""The authz library: attributes of checks, costs and errors."""

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
_REQUEST_RESOURCE = AuthorizationAttributes(group="x.io", resource="vats", namespace="default", name="v")


def _run(
    text: str, authorization: AuthorizationResult = ALLOWED, **values: Any
) -> tuple[Any, int, list[AuthorizationAttributes]]:
    checks: list[AuthorizationAttributes] = []

    def authorize(attributes: AuthorizationAttributes) -> AuthorizationResult:
        checks.append(attributes)
        return authorization

    given = {
        "authorizer": Authorizer(authorize, AuthorizationAttributes()),
        "authorizer.requestResource": ResourceCheck(authorize, _REQUEST_RESOURCE),
    }
    result = compile_expression(text, _VARIABLES, results=()).run({**given, **values})
    return result.value if result.error is None else f"error: {result.error}", result.cost, checks


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
        ("authorizer.requestResource.check('create')", _REQUEST_RESOURCE._replace(verb="create")),
        (".authorizer.requestResource.name('w').check('get')", _REQUEST_RESOURCE._replace(verb="get", name="w")),
        (
            "[1].all(authorizer, authorizer.requestResource.check('get').allowed())",
            _REQUEST_RESOURCE._replace(verb="get"),
        ),
        (
            "authorizer.group('').resource('pods').fieldSelector('no selector').labelSelector('a in (').check('list')",
            AuthorizationAttributes(verb="list", resource="pods"),
        ),
        ("dyn(authorizer.path('/a')).check('get')", AuthorizationAttributes(verb="get", path="/a")),
    ],
)
def test_check_passes_attributes_to_authorizer(text: str, expected: AuthorizationAttributes) -> None:
    assert _run(text)[2] == [expected]


@pytest.mark.parametrize(
    ("function", "expected"), [("allowed", False), ("reason", "why"), ("errored", True), ("error", "what")]
)
def test_decision_accessors(function: str, expected: Any) -> None:
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
def test_invalid_check_is_an_error(text: str, expected: str) -> None:
    value, _, checks = _run(text, object=5 if "path" in text else "a")
    assert (value, checks) == (expected, [])


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
def test_authorizer_equals_nothing(text: str, expected: Any) -> None:
    assert _run(text)[0] == expected


def test_third_check_exceeds_the_cost_limit() -> None:
    check = "authorizer.path('/').check('get').allowed()"
    assert _run(check)[:2] == (True, 350_003)
    assert _run(f"{check} && {check}")[:2] == (True, 700_006)
    value, cost, _ = _run(f"{check} && {check} && {check}")
    assert (value, cost > PER_CALL_LIMIT) == ("error: operation cancelled: actual cost limit exceeded", True)


def test_failed_check_has_the_same_cost() -> None:
    check = "authorizer.path('').check('get').allowed()"
    assert _run(check)[:2] == ("error: path must not be empty", 350_003)
    assert _run(f"{check} && {check} && {check}")[0] == "error: operation cancelled: actual cost limit exceeded"


def test_selector_cost_depends_on_its_length() -> None:
    assert _run("authorizer.group('').resource('a').fieldSelector(object)", object="a=b" * 7)[1] == 4 + 10 + 3 + 550


def test_missing_authorizer_is_no_such_attribute() -> None:
    for name in ("authorizer", "authorizer.requestResource"):
        result = compile_expression(f"type({name}) == type(1)", _VARIABLES).run({})
        assert result.error == f"no such attribute(s): {name}"


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
def test_ill_typed_authorizer_calls_do_not_compile(text: str, expected: str) -> None:
    with pytest.raises(CompilationError) as refusal:
        compile_expression(text, _VARIABLES)
    assert expected in str(refusal.value)
