"""The plugin for ValidatingAdmissionPolicies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from polykind.admission.policy_plugin import ParamStore
from polykind.admission.validating_policies import ValidatingBinding, ValidatingPolicies, ValidatingPolicy
from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import CALL, AttemptError, ConversionFailedError
from polykind.errors import APIError, NotFoundError
from polykind.metrics.metrics import Metrics
from polykind.selectors.label_selectors import LabelSelector
from tests.admission.support import attributes_for, binding, policy

VAT: JsonObject = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v", "labels": {"a": "b"}}, "litres": 5}


class _Store:
    """A param store in memory."""

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


def plugin_with(
    policies: list[JsonObject],
    bindings: list[JsonObject],
    store: ParamStore | None = None,
    metrics: Metrics | None = None,
) -> ValidatingPolicies:
    def find(api_version: str, kind: str) -> ParamStore | None:
        return store if (api_version, kind) == ("x.io/v1", "Limit") else None

    plugin = ValidatingPolicies(find, metrics or Metrics())
    plugin.configure(
        {p["metadata"]["name"]: ValidatingPolicy(p) for p in policies}, [ValidatingBinding(b) for b in bindings]
    )
    return plugin


async def _error_status(plugin: ValidatingPolicies, *objects: Any, **more: Any) -> JsonObject | None:
    try:
        await plugin.admit(attributes_for(*objects, **more))
    except APIError as error:
        return error.status()
    return None


async def _error_message(plugin: ValidatingPolicies, *objects: Any, **more: Any) -> str:
    status = await _error_status(plugin, *objects, **more)
    return status["message"] if status is not None else ""


def _denied(text: str) -> str:
    return f"vats.x.io \"v\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {text}"


def test_policy_without_binding_is_inactive() -> None:
    assert not plugin_with([policy("false")], []).active
    assert not plugin_with([], [binding()]).active
    assert not plugin_with([policy("false")], [binding(of="other")]).active
    assert plugin_with([policy("false")], [binding()]).active


async def test_denial_status() -> None:
    plugin = plugin_with([policy("object.litres > 5")], [binding()])
    why = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.litres > 5"
    assert await _error_status(plugin, VAT) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'vats.x.io "v" is forbidden: {why}',
        "reason": "Invalid",
        "details": {"name": "v", "group": "x.io", "kind": "vats", "causes": [{"message": why}]},
        "code": 422,
    }
    assert await _error_status(plugin, {**VAT, "litres": 6}) is None


@pytest.mark.parametrize(("reason", "code"), [("Forbidden", 403), ("Invalid", 422), ("RequestEntityTooLarge", 413)])
async def test_reason_sets_the_code(reason: str, code: int) -> None:
    plugin = plugin_with([policy(validations=[{"expression": "false", "reason": reason}])], [binding()])
    status = await _error_status(plugin, VAT)
    assert status is not None
    assert (status["reason"], status["code"]) == (reason, code)


async def test_first_denial_is_reported() -> None:
    plugin = plugin_with(
        [policy("object.a", "false", name="q"), policy("true", "1 == 2", "1 == 3")],
        [binding("c"), binding("b"), binding("a", "q")],
    )
    assert await _error_message(plugin, VAT) == _denied("failed expression: 1 == 2")


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
async def test_denial_message(validation: JsonObject, expected: str) -> None:
    spec = policy(
        validations=[{"expression": " 1 > 2 ", **validation}], variables=[{"name": "word", "expression": "'oh'"}]
    )
    assert await _error_message(plugin_with([spec], [binding()]), {**VAT, "long": "x" * 6000}) == _denied(expected)


async def test_warn_action_adds_warnings() -> None:
    warnings: list[str] = []
    plugin = plugin_with([policy("false", "object.nope == 1")], [binding("b", "p", "Warn", "Audit")])
    assert await _error_status(plugin, VAT, warnings=warnings) is None
    prefix = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': "
    assert warnings == [
        f"{prefix}failed expression: false",
        f"{prefix}expression 'object.nope == 1' resulted in error: no such key: nope",
    ]


async def test_audit_action_allows() -> None:
    assert await _error_status(plugin_with([policy("false")], [binding("b", "p", "Audit")]), VAT) is None


async def test_errors_follow_the_failure_policy() -> None:
    failing = "object.nope == 1"
    prefix = f"expression '{failing}' resulted in error: no such key: nope"
    assert await _error_message(plugin_with([policy(failing)], [binding()]), VAT) == _denied(prefix)
    assert await _error_status(plugin_with([policy(failing, failurePolicy="Ignore")], [binding()]), VAT) is None
    still = plugin_with([policy(failing, "1 > 2", failurePolicy="Ignore")], [binding()])
    assert await _error_message(still, VAT) == _denied("failed expression: 1 > 2")


async def test_match_conditions() -> None:
    def plugin(expression: str, **spec: Any) -> ValidatingPolicies:
        return plugin_with(
            [policy("false", matchConditions=[{"name": "c", "expression": expression}], **spec)], [binding()]
        )

    assert await _error_status(plugin("object.litres > 5"), VAT) is None
    assert await _error_status(plugin("object.litres == 5"), VAT) is not None
    assert await _error_message(plugin("object.a == 5"), VAT) == _denied(
        "expression 'object.a == 5' resulted in error: no such key: a"
    )
    assert await _error_status(plugin("object.a == 5", failurePolicy="Ignore"), VAT) is None
    assert await _error_status(plugin("namespaceObject == null"), VAT) is not None


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
async def test_expressions_see_the_request(expression: str) -> None:
    variables = [
        {"name": "five", "expression": "object.litres"},
        {"name": "twice", "expression": "variables.five * 2"},
        {"name": "bad", "expression": "object.nope"},
    ]
    assert await _error_message(plugin_with([policy(expression, variables=variables)], [binding()]), VAT) == ""


async def test_failing_variable_is_reported() -> None:
    spec = policy("variables.bad == 1", variables=[{"name": "bad", "expression": "object.nope"}])
    assert await _error_message(plugin_with([spec], [binding()]), VAT) == _denied(
        "expression 'variables.bad == 1' resulted in error: "
        'composited variable "bad" fails to evaluate: no such key: nope'
    )
    absorbed = policy("variables.bad == 1 || true", variables=[{"name": "bad", "expression": "object.nope"}])
    assert await _error_status(plugin_with([absorbed], [binding()]), VAT) is None


async def test_updates_and_deletions_are_evaluated() -> None:
    plugin = plugin_with(
        [policy("oldObject.litres == 4", "request.operation == 'UPDATE' || object == null")], [binding()]
    )
    assert await _error_status(plugin, VAT, {**VAT, "litres": 4}) is None
    assert await _error_status(plugin, None, {**VAT, "litres": 4}) is None
    assert await _error_status(plugin, None, VAT) is not None


async def test_object_is_converted_to_the_matching_version() -> None:
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
    plugin = plugin_with([spec], [binding()])
    assert await _error_message(plugin, VAT, VAT) == _denied(f"failed expression: {expressions[-1]}")
    exact = policy("false", matchConstraints={**match, "resourceRules": [rule], "matchPolicy": "Exact"})
    assert await _error_status(plugin_with([exact], [binding()]), VAT) is None
    unserved = policy("true", matchConstraints={**match, "resourceRules": [{**rule, "apiVersions": ["v3"]}]})
    assert await _error_message(plugin_with([unserved], [binding()]), VAT) == _denied(
        "failed to configure binding: failed to convert object version: x.io/v3 is not served"
    )


async def test_failed_conversion_quotes_only_kube_apiservers_message() -> None:
    async def failing(obj: JsonObject, api_version: str) -> JsonObject:
        raise ConversionFailedError(AttemptError("told to fail", CALL, "Answer"), obj, api_version, "https://x.io")

    match = policy()["spec"]["matchConstraints"]
    rule = {**match["resourceRules"][0], "apiVersions": ["v2"]}
    plugin = plugin_with([policy("true", matchConstraints={**match, "resourceRules": [rule]})], [binding()])
    assert await _error_message(plugin, VAT, convert=failing) == _denied(
        "failed to configure binding: failed to convert object version: told to fail"
    )


async def test_selectors_and_exclusions() -> None:
    match = policy()["spec"]["matchConstraints"]

    async def is_denied(**more: Any) -> bool:
        return (
            await _error_status(plugin_with([policy("false", matchConstraints={**match, **more})], [binding()]), VAT)
            is not None
        )

    assert await is_denied(objectSelector={"matchLabels": {"a": "b"}})
    assert not await is_denied(objectSelector={"matchLabels": {"a": "c"}})
    assert await is_denied(namespaceSelector={"matchLabels": {"env": "test"}})
    assert not await is_denied(namespaceSelector={"matchLabels": {"env": "prod"}})
    assert not await is_denied(excludeResourceRules=match["resourceRules"])
    assert await is_denied(excludeResourceRules=[{**match["resourceRules"][0], "resourceNames": ["w"]}])
    assert not await is_denied(excludeResourceRules=[{**match["resourceRules"][0], "resourceNames": ["v"]}])


async def test_binding_match_resources() -> None:
    def plugin(**match: Any) -> ValidatingPolicies:
        return plugin_with([policy("false")], [binding(matchResources={"matchPolicy": "Equivalent", **match})])

    assert await _error_status(plugin(), VAT) is not None
    assert await _error_status(plugin(objectSelector={"matchLabels": {"a": "c"}}), VAT) is None
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["*"]}
    assert await _error_status(plugin(resourceRules=[rule]), VAT) is None


async def test_missing_namespace_is_reported() -> None:
    plugin = plugin_with([policy("true")], [binding()])
    with pytest.raises(NotFoundError):
        await plugin.admit(attributes_for(VAT, namespace_object=lambda: None))
    match = {**policy()["spec"]["matchConstraints"], "namespaceSelector": {"matchLabels": {"a": "b"}}}
    selecting = plugin_with([policy("true", matchConstraints=match)], [binding()])
    assert await _error_message(selecting, VAT, namespace_object=lambda: None) == (
        "vats.x.io \"v\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: "
        'failed to configure policy: namespaces "default" not found'
    )


async def test_error_names_objects_without_a_name() -> None:
    plugin = plugin_with([policy("false")], [binding()])
    unnamed = {**VAT, "metadata": {"generateName": "vat-"}}
    assert (await _error_message(plugin, unnamed)).startswith('vats.x.io "vat-" is forbidden: ')
    assert (await _error_message(plugin, None, VAT, name="")).startswith('vats.x.io "Unknown" is forbidden: ')


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
async def test_policies_and_reviews_are_exempt(group: str, plural: str) -> None:
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    plugin = plugin_with([policy("false", matchConstraints={"resourceRules": [every]})], [binding()])
    assert await _error_status(plugin, VAT, group=group, plural=plural, namespace="") is None
    assert (
        await _error_status(plugin, VAT, group=group, plural="validatingwebhookconfigurations", namespace="")
        is not None
    )


# ---------------------------------------------------------------------- params

KIND = {"apiVersion": "x.io/v1", "kind": "Limit"}
LIMITS = _Store(
    {"metadata": {"name": "low", "namespace": "default", "labels": {"t": "a"}}, "most": 4},
    {"metadata": {"name": "high", "namespace": "default", "labels": {"t": "a"}}, "most": 6},
    {"metadata": {"name": "other", "namespace": "elsewhere"}, "most": 3},
)


def _plugin_with_params(store: ParamStore | None = LIMITS, action: str = "Deny", **ref: Any) -> ValidatingPolicies:
    spec = policy("object.litres <= params.most", paramKind=KIND)
    return plugin_with([spec], [binding(paramRef={"parameterNotFoundAction": action, **ref})], store)


async def test_param_by_name() -> None:
    assert await _error_status(_plugin_with_params(name="high"), VAT) is None
    assert await _error_message(_plugin_with_params(name="low"), VAT) == _denied(
        "failed expression: object.litres <= params.most"
    )
    assert await _error_status(_plugin_with_params(name="other", namespace="elsewhere"), VAT) is not None


async def test_all_params_of_a_selector_are_evaluated() -> None:
    assert await _error_status(_plugin_with_params(selector={"matchLabels": {"t": "a"}}), VAT) is not None
    assert await _error_status(_plugin_with_params(selector={"matchLabels": {"t": "a"}}), {**VAT, "litres": 4}) is None


async def test_missing_param_follows_parameter_not_found_action() -> None:
    assert await _error_message(_plugin_with_params(name="nope"), VAT) == _denied(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    assert await _error_status(_plugin_with_params(action="Allow", name="nope"), VAT) is None
    assert await _error_status(_plugin_with_params(action="Allow", selector={"matchLabels": {"t": "z"}}), VAT) is None


async def test_namespace_of_params() -> None:
    assert await _error_message(_plugin_with_params(name="low"), VAT, namespace="") == _denied(
        "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped "
        "resources"
    )
    wide = _Store({"metadata": {"name": "low"}, "most": 4}, namespaced=False)
    assert await _error_status(_plugin_with_params(wide, name="low"), VAT) is not None
    assert await _error_message(_plugin_with_params(wide, name="low", namespace="default"), VAT) == _denied(
        "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    )


async def test_unserved_param_kind_is_reported() -> None:
    plugin = plugin_with([policy("true", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})], [binding()])
    assert await _error_message(plugin, VAT) == (
        "vats.x.io \"v\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: "
        "failed to find resource referenced by paramKind: '/v1, Kind=ConfigMap'"
    )


async def test_binding_without_param_ref() -> None:
    plugin = plugin_with([policy("params == null", paramKind=KIND)], [binding()], LIMITS)
    assert await _error_status(plugin, VAT) is None
    plugin = plugin_with([policy("true")], [binding(paramRef={"name": "low"})], LIMITS)
    assert await _error_status(plugin, VAT) is None


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
async def test_checks_are_counted_in_metrics(
    given: JsonObject, actions: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    metrics = Metrics()
    await _error_status(plugin_with([given], [binding("b", "p", *actions)], metrics=metrics), VAT)
    page = (await metrics.render()).decode()
    found = [line for line in page.splitlines() if line.startswith("apiserver_validating_admission_policy_check_total")]
    assert sorted(found) == [
        f'apiserver_validating_admission_policy_check_total{{enforcement_action="{action}",error_type="{error}",'
        'policy="p",policy_binding="b"} 1.0'
        for error, action in expected
    ]
