"""Policies with their bindings: who is asked about a write, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from polykind.admission.policy_params import ParamStore
from polykind.admission.policy_step import Binding, Policies, Policy
from polykind.contract import JsonObject
from polykind.conversion.failure import CALL, ConversionFailedError, Failure
from polykind.errors import APIError, NotFoundError
from polykind.metrics.metrics import Metrics
from polykind.selectors.label_selectors import LabelSelector
from tests.admission.support import asked, binding, policy

VAT: JsonObject = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v", "labels": {"a": "b"}}, "litres": 5}


class _Store:
    """Params in memory."""

    def __init__(self, *objects: JsonObject, namespaced: bool = True) -> None:
        self.namespaced = namespaced
        self._objects = objects

    async def get(self, namespace: str, name: str) -> JsonObject | None:
        found = [one for one in await self.select(namespace, LabelSelector([])) if one["metadata"]["name"] == name]
        return found[0] if found else None

    async def select(self, namespace: str, labels: LabelSelector) -> Sequence[JsonObject]:
        return [
            one
            for one in self._objects
            if one["metadata"].get("namespace", "") == namespace and labels.matches(one["metadata"].get("labels", {}))
        ]


def _step(
    policies: list[JsonObject],
    bindings: list[JsonObject],
    store: ParamStore | None = None,
    metrics: Metrics | None = None,
) -> Policies:
    def find(api_version: str, kind: str) -> ParamStore | None:
        return store if (api_version, kind) == ("x.io/v1", "Limit") else None

    step = Policies(find, metrics or Metrics())
    step.configure({p["metadata"]["name"]: Policy(p) for p in policies}, [Binding(b) for b in bindings])
    return step


async def _refused(step: Policies, *about: Any, **more: Any) -> JsonObject | None:
    try:
        await step.admit(asked(*about, **more))
    except APIError as error:
        return error.status()
    return None


async def _said(step: Policies, *about: Any, **more: Any) -> str:
    status = await _refused(step, *about, **more)
    return status["message"] if status is not None else ""


def _denied(text: str) -> str:
    return f"vats.x.io \"v\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {text}"


def test_who_has_no_binding_is_not_asked() -> None:
    assert not _step([policy("false")], []).active
    assert not _step([], [binding()]).active
    assert not _step([policy("false")], [binding(of="other")]).active
    assert _step([policy("false")], [binding()]).active


async def test_a_denial() -> None:
    step = _step([policy("object.litres > 5")], [binding()])
    why = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.litres > 5"
    assert await _refused(step, VAT) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'vats.x.io "v" is forbidden: {why}',
        "reason": "Invalid",
        "details": {"name": "v", "group": "x.io", "kind": "vats", "causes": [{"message": why}]},
        "code": 422,
    }
    assert await _refused(step, {**VAT, "litres": 6}) is None


@pytest.mark.parametrize(("reason", "code"), [("Forbidden", 403), ("Invalid", 422), ("RequestEntityTooLarge", 413)])
async def test_reasons(reason: str, code: int) -> None:
    step = _step([policy(validations=[{"expression": "false", "reason": reason}])], [binding()])
    status = await _refused(step, VAT)
    assert status is not None
    assert (status["reason"], status["code"]) == (reason, code)


async def test_the_first_failure_of_the_first_policy_is_told() -> None:
    step = _step(
        [policy("object.a", "false", name="q"), policy("true", "1 == 2", "1 == 3")],
        [binding("c"), binding("b"), binding("a", "q")],
    )
    assert await _said(step, VAT) == _denied("failed expression: 1 == 2")


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        ({"message": " not so "}, "not so"),
        ({"message": "not so", "messageExpression": "' litres: ' + string(object.litres)"}, "litres: 5"),
        ({"message": "not so", "messageExpression": "object.nope"}, "not so"),
        ({"message": "not so", "messageExpression": "'a\\nb'"}, "not so"),
        ({"message": "not so", "messageExpression": "'  '"}, "not so"),
        ({"message": "not so", "messageExpression": "'%s'.format([object.long])"}, "not so"),
        ({"messageExpression": "object.nope"}, "failed expression: 1 > 2"),
        ({"messageExpression": "variables.word + '!'"}, "oh!"),
    ],
)
async def test_what_a_denial_says(validation: JsonObject, expected: str) -> None:
    spec = policy(
        validations=[{"expression": " 1 > 2 ", **validation}], variables=[{"name": "word", "expression": "'oh'"}]
    )
    assert await _said(_step([spec], [binding()]), {**VAT, "long": "x" * 6000}) == _denied(expected)


async def test_a_warning() -> None:
    warnings: list[str] = []
    step = _step([policy("false", "object.nope == 1")], [binding("b", "p", "Warn", "Audit")])
    assert await _refused(step, VAT, warnings=warnings) is None
    said = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': "
    assert warnings == [
        f"{said}failed expression: false",
        f"{said}expression 'object.nope == 1' resulted in error: no such key: nope",
    ]


async def test_an_audit_lets_all_pass() -> None:
    assert await _refused(_step([policy("false")], [binding("b", "p", "Audit")]), VAT) is None


async def test_failures_by_the_failure_policy() -> None:
    failing = "object.nope == 1"
    said = f"expression '{failing}' resulted in error: no such key: nope"
    assert await _said(_step([policy(failing)], [binding()]), VAT) == _denied(said)
    assert await _refused(_step([policy(failing, failurePolicy="Ignore")], [binding()]), VAT) is None
    still = _step([policy(failing, "1 > 2", failurePolicy="Ignore")], [binding()])
    assert await _said(still, VAT) == _denied("failed expression: 1 > 2")


async def test_match_conditions() -> None:
    def step(expression: str, **spec: Any) -> Policies:
        return _step([policy("false", matchConditions=[{"name": "c", "expression": expression}], **spec)], [binding()])

    assert await _refused(step("object.litres > 5"), VAT) is None
    assert await _refused(step("object.litres == 5"), VAT) is not None
    assert await _said(step("object.a == 5"), VAT) == _denied(
        "expression 'object.a == 5' resulted in error: no such key: a"
    )
    assert await _refused(step("object.a == 5", failurePolicy="Ignore"), VAT) is None
    assert await _refused(step("namespaceObject == null"), VAT) is not None


@pytest.mark.parametrize(
    "expression",
    [
        "request.operation == 'CREATE' && oldObject == null",
        "dyn(request.kind) == {'group': 'x.io', 'version': 'v1', 'kind': 'Vat'} && request.kind == request.requestKind",
        "dyn(request.resource) == {'group': 'x.io', 'version': 'v1', 'resource': 'vats'}",
        "!has(request.subResource) && request.name == 'v' && request.namespace == 'default' && !request.dryRun",
        "request.userInfo.username == 'ann' && request.userInfo.groups[0] == 'makers' && !has(request.userInfo.extra)",
        "request.options.kind == 'CreateOptions'",
        "namespaceObject.metadata.labels['env'] == 'test' && namespaceObject.status.phase == 'Active'",
        "has(dyn(request).uid) && dyn(request).object == null",
        "object.metadata.name == 'v' && object.apiVersion == 'x.io/v1'",
        "variables.five == 5 && variables.twice == 10 && [variables.five].all(x, x == variables.five)",
        "!has(object.spec) && object.?spec.orValue('a') == 'a'",
    ],
)
async def test_what_expressions_see(expression: str) -> None:
    variables = [
        {"name": "five", "expression": "object.litres"},
        {"name": "twice", "expression": "variables.five * 2"},
        {"name": "bad", "expression": "object.nope"},
    ]
    assert await _said(_step([policy(expression, variables=variables)], [binding()]), VAT) == ""


async def test_a_variable_that_fails() -> None:
    spec = policy("variables.bad == 1", variables=[{"name": "bad", "expression": "object.nope"}])
    assert await _said(_step([spec], [binding()]), VAT) == _denied(
        "expression 'variables.bad == 1' resulted in error: "
        'composited variable "bad" fails to evaluate: no such key: nope'
    )
    absorbed = policy("variables.bad == 1 || true", variables=[{"name": "bad", "expression": "object.nope"}])
    assert await _refused(_step([absorbed], [binding()]), VAT) is None


async def test_updates_and_deletions() -> None:
    step = _step([policy("oldObject.litres == 4", "request.operation == 'UPDATE' || object == null")], [binding()])
    assert await _refused(step, VAT, {**VAT, "litres": 4}) is None
    assert await _refused(step, None, {**VAT, "litres": 4}) is None
    assert await _refused(step, None, VAT) is not None


async def test_another_version_of_the_resource() -> None:
    match = policy()["spec"]["matchConstraints"]
    rule = {**match["resourceRules"][0], "apiVersions": ["v2"]}
    expressions = [
        "request.kind.version == 'v2' && request.resource.version == 'v2'",
        "request.requestKind.version == 'v1' && request.requestResource.version == 'v1'",
        "object.apiVersion == 'x.io/v2' && object.converted == true && oldObject.converted == true",
        "request.userInfo.username == ''",
    ]
    conditions = [{"name": "c", "expression": "request.kind.version == 'v2' && request.resource.version == 'v1'"}]
    spec = policy(*expressions, matchConstraints={**match, "resourceRules": [rule]}, matchConditions=conditions)
    step = _step([spec], [binding()])
    assert await _said(step, VAT, VAT) == _denied(f"failed expression: {expressions[-1]}")
    exact = policy("false", matchConstraints={**match, "resourceRules": [rule], "matchPolicy": "Exact"})
    assert await _refused(_step([exact], [binding()]), VAT) is None
    unserved = policy("true", matchConstraints={**match, "resourceRules": [{**rule, "apiVersions": ["v3"]}]})
    assert await _said(_step([unserved], [binding()]), VAT) == _denied(
        "failed to configure binding: failed to convert object version: x.io/v3 is not served"
    )


async def test_of_a_failed_conversion_no_more_is_quoted_than_the_reference_says() -> None:
    async def failing(obj: JsonObject, api_version: str) -> JsonObject:
        raise ConversionFailedError(Failure("told to fail", CALL, "Answer"), obj, api_version, "https://x.io")

    match = policy()["spec"]["matchConstraints"]
    rule = {**match["resourceRules"][0], "apiVersions": ["v2"]}
    step = _step([policy("true", matchConstraints={**match, "resourceRules": [rule]})], [binding()])
    assert await _said(step, VAT, convert=failing) == _denied(
        "failed to configure binding: failed to convert object version: told to fail"
    )


async def test_selectors_and_exclusions() -> None:
    match = policy()["spec"]["matchConstraints"]

    async def refused(**more: Any) -> bool:
        return (
            await _refused(_step([policy("false", matchConstraints={**match, **more})], [binding()]), VAT) is not None
        )

    assert await refused(objectSelector={"matchLabels": {"a": "b"}})
    assert not await refused(objectSelector={"matchLabels": {"a": "c"}})
    assert await refused(namespaceSelector={"matchLabels": {"env": "test"}})
    assert not await refused(namespaceSelector={"matchLabels": {"env": "prod"}})
    assert not await refused(excludeResourceRules=match["resourceRules"])
    assert await refused(excludeResourceRules=[{**match["resourceRules"][0], "resourceNames": ["w"]}])
    assert not await refused(excludeResourceRules=[{**match["resourceRules"][0], "resourceNames": ["v"]}])


async def test_what_a_binding_is_about() -> None:
    def step(**match: Any) -> Policies:
        return _step([policy("false")], [binding(matchResources={"matchPolicy": "Equivalent", **match})])

    assert await _refused(step(), VAT) is not None
    assert await _refused(step(objectSelector={"matchLabels": {"a": "c"}}), VAT) is None
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["*"]}
    assert await _refused(step(resourceRules=[rule]), VAT) is None


async def test_a_namespace_that_is_gone() -> None:
    step = _step([policy("true")], [binding()])
    with pytest.raises(NotFoundError):
        await step.admit(asked(VAT, namespace_object=lambda: None))
    match = {**policy()["spec"]["matchConstraints"], "namespaceSelector": {"matchLabels": {"a": "b"}}}
    selecting = _step([policy("true", matchConstraints=match)], [binding()])
    assert await _said(selecting, VAT, namespace_object=lambda: None) == (
        "vats.x.io \"v\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: "
        'failed to configure policy: namespaces "default" not found'
    )


async def test_the_names_of_what_has_none() -> None:
    step = _step([policy("false")], [binding()])
    unnamed = {**VAT, "metadata": {"generateName": "vat-"}}
    assert (await _said(step, unnamed)).startswith('vats.x.io "vat-" is forbidden: ')
    assert (await _said(step, None, VAT, name="")).startswith('vats.x.io "Unknown" is forbidden: ')


@pytest.mark.parametrize(
    ("group", "plural"),
    [
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    ],
)
async def test_policies_are_not_asked_about_themselves_nor_about_reviews(group: str, plural: str) -> None:
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    step = _step([policy("false", matchConstraints={"resourceRules": [every]})], [binding()])
    assert await _refused(step, VAT, group=group, plural=plural, namespace="") is None
    assert await _refused(step, VAT, group=group, plural="validatingwebhookconfigurations", namespace="") is not None


# ---------------------------------------------------------------------- params

KIND = {"apiVersion": "x.io/v1", "kind": "Limit"}
LIMITS = _Store(
    {"metadata": {"name": "low", "namespace": "default", "labels": {"t": "a"}}, "most": 4},
    {"metadata": {"name": "high", "namespace": "default", "labels": {"t": "a"}}, "most": 6},
    {"metadata": {"name": "other", "namespace": "elsewhere"}, "most": 3},
)


def _bound(store: ParamStore | None = LIMITS, action: str = "Deny", **ref: Any) -> Policies:
    spec = policy("object.litres <= params.most", paramKind=KIND)
    return _step([spec], [binding(paramRef={"parameterNotFoundAction": action, **ref})], store)


async def test_a_param_by_name() -> None:
    assert await _refused(_bound(name="high"), VAT) is None
    assert await _said(_bound(name="low"), VAT) == _denied("failed expression: object.litres <= params.most")
    assert await _refused(_bound(name="other", namespace="elsewhere"), VAT) is not None


async def test_params_by_selector_are_all_asked() -> None:
    assert await _refused(_bound(selector={"matchLabels": {"t": "a"}}), VAT) is not None
    assert await _refused(_bound(selector={"matchLabels": {"t": "a"}}), {**VAT, "litres": 4}) is None


async def test_a_param_that_is_not_there() -> None:
    assert await _said(_bound(name="nope"), VAT) == _denied(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    assert await _refused(_bound(action="Allow", name="nope"), VAT) is None
    assert await _refused(_bound(action="Allow", selector={"matchLabels": {"t": "z"}}), VAT) is None


async def test_namespaces_of_params() -> None:
    assert await _said(_bound(name="low"), VAT, namespace="") == _denied(
        "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped "
        "resources"
    )
    wide = _Store({"metadata": {"name": "low"}, "most": 4}, namespaced=False)
    assert await _refused(_bound(wide, name="low"), VAT) is not None
    assert await _said(_bound(wide, name="low", namespace="default"), VAT) == _denied(
        "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    )


async def test_a_kind_of_params_that_is_not_served() -> None:
    step = _step([policy("true", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})], [binding()])
    assert await _said(step, VAT) == (
        "vats.x.io \"v\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: "
        "failed to find resource referenced by paramKind: '/v1, Kind=ConfigMap'"
    )


async def test_a_binding_without_params() -> None:
    step = _step([policy("params == null", paramKind=KIND)], [binding()], LIMITS)
    assert await _refused(step, VAT) is None
    step = _step([policy("true")], [binding(paramRef={"name": "low"})], LIMITS)
    assert await _refused(step, VAT) is None


@pytest.mark.parametrize(
    ("given", "actions", "expected"),
    [
        (policy("true"), ("Deny",), []),
        (policy("false"), ("Deny",), [("invalid_error", "deny")]),
        (policy("false"), ("Warn", "Audit"), [("invalid_error", "audit"), ("invalid_error", "warn")]),
        (policy("object.a", failurePolicy="Ignore"), ("Deny",), [("compile_error", "allow")]),
        (policy("object.nope == 1", failurePolicy="Ignore"), ("Deny",), [("invalid_error", "allow")]),
        (
            policy("true", auditAnnotations=[{"key": "k", "valueExpression": "string(object.nope)"}]),
            ("Warn",),
            [("invalid_error", "deny")],
        ),
        (
            policy(*["authorizer.path('/').check('get').allowed()"] * 29),
            ("Deny",),
            [("out_of_budget", "deny")],
        ),
    ],
)
async def test_what_is_counted(given: JsonObject, actions: tuple[str, ...], expected: list[tuple[str, str]]) -> None:
    metrics = Metrics()
    await _refused(_step([given], [binding("b", "p", *actions)], metrics=metrics), VAT)
    page = (await metrics.render()).decode()
    found = [line for line in page.splitlines() if line.startswith("apiserver_validating_admission_policy_check_total")]
    assert sorted(found) == [
        f'apiserver_validating_admission_policy_check_total{{enforcement_action="{action}",error_type="{error}",'
        'policy="p",policy_binding="b"} 1.0'
        for error, action in expected
    ]
