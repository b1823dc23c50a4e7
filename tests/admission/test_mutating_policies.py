"""The plugin for MutatingAdmissionPolicies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from polykind import errors
from polykind.admission.admission_chain import AdmissionChain
from polykind.admission.attributes import Attributes
from polykind.admission.mutating_policies import MutatingBinding, MutatingPolicies, MutatingPolicy
from polykind.apply.typemodel import TypeModel
from polykind.contract import JsonObject
from polykind.metrics.metrics import Metrics
from polykind.selectors.label_selectors import LabelSelector
from tests.admission.support import NAMESPACE, attributes_for

MODEL = TypeModel(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "ratio": {"type": "number"},
                    "list": {"type": "array", "items": {"type": "string"}},
                },
            }
        },
    }
)
APPEND = '[JSONPatch{op: "add", path: "/spec/text", value: (has(object.spec.text) ? object.spec.text : "") + "%s"}]'


def vat(**spec: Any) -> JsonObject:
    return {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}, "spec": spec}


def merge(expression: str) -> JsonObject:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patch(expression: str) -> JsonObject:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(*mutations: JsonObject, name: str = "p", versions: Sequence[str] = ("v1",), **spec: Any) -> MutatingPolicy:
    rule = {"apiGroups": ["x.io"], "apiVersions": versions, "operations": ["*"], "resources": ["*/*"], "scope": "*"}
    match = {"resourceRules": [rule], "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    attributes = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": match,
        "mutations": mutations,
    }
    return MutatingPolicy({"metadata": {"name": name}, "spec": {**attributes, **spec}})


def binding(of: str, name: str = "", **spec: Any) -> MutatingBinding:
    return MutatingBinding({"metadata": {"name": name or f"b-{of}"}, "spec": {"policyName": of, **spec}})


class Params:
    """A param store with two objects."""

    namespaced = True

    async def get(self, namespace: str, name: str) -> JsonObject | None:
        return {"metadata": {"name": name, "namespace": namespace}, "text": name} if name != "none" else None

    async def select(self, namespace: str, labels: LabelSelector) -> Sequence[JsonObject]:
        return [found for name in ("one", "two") if (found := await self.get(namespace, name)) is not None]


def attributes_of(obj: Any = None, old: Any = None, **more: Any) -> Attributes:
    return attributes_for(obj, old, apply_type=lambda api_version: MODEL.root, **more)


async def admit(
    attributes: Attributes,
    *policies: MutatingPolicy,
    bindings: Sequence[MutatingBinding] = (),
    metrics: Metrics | None = None,
) -> Any:
    step = MutatingPolicies(lambda api_version, kind: Params() if kind == "Limit" else None, metrics or Metrics())
    step.configure({one.name: one for one in policies}, bindings or [binding(one.name) for one in policies])
    assert step.active
    await AdmissionChain(mutating=(step,)).mutate(attributes)
    return (attributes.obj or {}).get("spec")


async def denial_messages(
    attributes: Attributes, *policies: MutatingPolicy, bindings: Sequence[MutatingBinding] = ()
) -> list[str]:
    with pytest.raises(errors.ForbiddenError) as caught:
        await admit(attributes, *policies, bindings=bindings)
    assert caught.value.code == 403
    causes = [cause["message"] for cause in (caught.value.details or {})["causes"]]
    assert caught.value.message == causes[0]
    return causes


async def test_mutations_are_applied_in_order() -> None:
    attributes = attributes_of(vat(text="a"))
    first = merge('Object{spec: Object.spec{text: object.spec.text + "b"}}')
    assert await admit(attributes, policy(first, patch(APPEND % "c"))) == {"text": "abc"}
    assert attributes.changed


async def test_policies_and_bindings_are_ordered_by_name() -> None:
    policies = [policy(patch(APPEND % name), name=name) for name in ("b", "a")]
    bindings = [binding("a", "y"), binding("b", "x"), binding("a", "x")]
    assert await admit(attributes_of(vat()), *policies, bindings=bindings) == {"text": "aab"}


async def test_deletions_and_other_resources_are_not_mutated() -> None:
    gone = attributes_of(None, vat())
    await admit(gone, policy(patch(APPEND % "x")))
    assert not gone.changed
    itself = attributes_of(vat(), group="admissionregistration.k8s.io", plural="mutatingadmissionpolicies")
    await admit(itself, policy(patch(APPEND % "x"), matchConstraints={}))
    assert not itself.changed


async def test_policy_is_reinvoked_after_its_own_change() -> None:
    once, twice = (policy(patch(APPEND % name), name=name) for name in "ab")
    twice.reinvoke_if_needed = True
    assert await admit(attributes_of(vat()), once, twice) == {"text": "abb"}


async def test_failed_json_patch_test_leaves_the_object() -> None:
    test = '[JSONPatch{op: "remove", path: "/spec/text"}, JSONPatch{op: "test", path: "/spec", value: 1}]'
    assert await admit(attributes_of(vat(text="a")), policy(patch(test))) == {"text": "a"}


async def test_all_failures_are_reported() -> None:
    policies = [
        policy(merge("Object{spec: Object.spec{nope: 1}}"), patch('[JSONPatch{op: "x"}]'), name="a"),
        policy(merge("Object{}"), name="b", paramKind={"apiVersion": "v1", "kind": "Nothing"}),
        policy(merge("Object{}"), name="c", matchConditions=[{"name": "c", "expression": "object.x == 1"}]),
        policy(merge("Object{spec: Object.spec{text: object.x}}"), name="d", failurePolicy="Ignore"),
    ]
    assert await denial_messages(attributes_of(vat()), *policies) == [
        'policy "b" denied request: failed to configure policy: failed to find resource referenced by paramKind: '
        "'/v1, Kind=Nothing'",
        "policy 'a' with binding 'b-a' denied request: error applying patch: failed to convert patch object to typed "
        "object: .spec.nope: field not declared in schema",
        "policy 'a' with binding 'b-a' denied request: JSON Patch: Unexpected kind: x",
        "policy 'c' with binding 'b-c' denied request: expression 'object.x == 1' resulted in error: no such key: x",
    ]


async def test_ignored_failure_does_not_stop_other_mutations() -> None:
    mutations = merge("Object{spec: Object.spec{nope: 1}}"), patch(APPEND % "x")
    assert await admit(attributes_of(vat()), policy(*mutations, failurePolicy="Ignore")) == {"text": "x"}


@pytest.mark.parametrize(
    ("mutation", "error"),
    [
        (merge("Object{spec: Object.x{}}"), 'type mismatch: unexpected type name "Object.x", expected "Object.spec", '
         "which matches field name path from root Object type"),
        (merge("Object{spec: {1: 2}}"), "invalid return type: *dynamic.ObjectVal"),
        (merge('Object{spec: Object.spec{list: ["a"]}}'), "error applying patch: invalid ApplyConfiguration: may not "
         "mutate atomic arrays, maps or structs: .spec.list"),
        (merge("1"), "must evaluate to Object but got int"),
        (merge("Object{spec: Object.spec{text: variables.v}}"), "expression 'Object{spec: Object.spec{text: "
         "variables.v}}' resulted in error: composited variable \"v\" fails to evaluate: division by zero"),
        (patch('[JSONPatch{op: "add", path: "/spec/text", value: {1: 2}}]'), "JSONPath valueExpression evaluated to a "
         "type that could not marshal to JSON: unsupported type conversion from 'int' to string"),
        (patch('[JSONPatch{op: "add", path: "/spec/text", value: Object.a{b: Object.c{}}}]'), "type mismatch: "
         'unexpected type name "Object.c", expected "Object.a.b", which matches field name path from root Object type'),
        (patch('[JSONPatch{op: "add", path: "/spec/\\u0001", value: 1}]'), "JSON Patch: add operation failed to decode "
         "path: missing value"),
    ],
)  # fmt: skip
async def test_failing_mutation_is_reported(mutation: JsonObject, error: str) -> None:
    variables = [{"name": "v", "expression": "1/0"}]
    (message,) = await denial_messages(attributes_of(vat()), policy(mutation, variables=variables))
    assert message == f"policy 'p' with binding 'b-p' denied request: {error}"


async def test_scale_cannot_be_mutated() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "v"}, "spec": {"replicas": 1}}
    more: dict[str, Any] = {"subresource": "scale", "kind": "Scale", "kind_version": "autoscaling/v1"}
    attributes = attributes_for(scale, scale, **more)
    assert await denial_messages(
        attributes,
        policy(merge("Object{}"), patch('[JSONPatch{op: "remove", path: "/spec/replicas"}]')),
    ) == [
        "policy 'p' with binding 'b-p' denied request: error applying patch: failed to convert patch object to typed "
        "object: no corresponding type for autoscaling/v1, Kind=Scale",
        "policy 'p' with binding 'b-p' denied request: request to convert CR to an invalid group/version: "
        "autoscaling/v1",
    ]


async def test_json_patch_test_on_scale_is_allowed() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "v"}, "spec": {"replicas": 1}}
    attributes = attributes_for(scale, scale, subresource="scale", kind="Scale", kind_version="autoscaling/v1")
    untrue = '[JSONPatch{op: "test", path: "/spec/replicas", value: 7}]'
    assert await admit(attributes, policy(patch(untrue))) == {"replicas": 1}


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ('JSONPatch{op: "remove", path: "/kind"}', "Object 'Kind' is missing in"),
        ('JSONPatch{op: "replace", path: "", value: [1]}', "couldn't get version/kind; json parse error"),
        ('JSONPatch{op: "replace", path: "/apiVersion", value: "y.io/v1"}', "failed to convert object: y.io/v1, "
         'Kind=Vat is unstructured and is not suitable for converting to "x.io/v1"'),
    ],
)  # fmt: skip
async def test_failure_policy_does_not_cover_invalid_objects(operation: str, error: str) -> None:
    with pytest.raises(errors.InternalError) as caught:
        await admit(attributes_for(vat()), policy(patch(f"[{operation}]"), failurePolicy="Ignore"))
    assert caught.value.message.startswith(f"Internal error occurred: {error}")


async def test_strict_decoding_error_is_an_internal_error() -> None:
    with pytest.raises(errors.InternalError, match="not so"):
        await admit(attributes_for(vat(), strict_error=lambda spec: "not so"), policy(patch(APPEND % "x")))


async def test_not_a_number_is_rejected() -> None:
    with pytest.raises(errors.UnknownReasonError, match="json: unsupported value: NaN"):
        await admit(attributes_of(vat()), policy(merge("Object{spec: Object.spec{ratio: 0.0 / 0.0}}")))


async def test_expressions_see_the_request() -> None:
    expression = (
        'request.operation + " " + request.userInfo.username + " " + namespaceObject.metadata.name + " " + '
        'string(oldObject == null) + " " + request.resource.version'
    )
    spec = await admit(attributes_of(vat()), policy(merge(f"Object{{spec: Object.spec{{text: {expression}}}}}")))
    assert spec == {"text": "CREATE ann default true v1"}


async def test_namespace_object_has_no_managed_fields() -> None:
    managed = {**NAMESPACE, "metadata": {**NAMESPACE["metadata"], "managedFields": [{}]}}
    text = 'has(dyn(namespaceObject.metadata).managedFields) ? "told" : "kept"'
    attributes = attributes_of(vat(), namespace_object=lambda: managed)
    assert await admit(attributes, policy(merge(f"Object{{spec: Object.spec{{text: {text}}}}}"))) == {"text": "kept"}


async def test_policy_is_evaluated_for_each_param() -> None:
    append = APPEND.replace('"%s"', "params.text")
    limited = policy(patch(append), paramKind={"apiVersion": "x.io/v1", "kind": "Limit"})
    named = binding("p", "a", paramRef={"name": "one"})
    selected = binding("p", "b", paramRef={"selector": {}})
    assert await admit(attributes_of(vat()), limited, bindings=[named, selected]) == {"text": "oneonetwo"}
    missing = binding("p", "c", paramRef={"name": "none", "parameterNotFoundAction": "Deny"})
    error = "no params found for policy binding with `Deny` parameterNotFoundAction"
    (message,) = await denial_messages(attributes_of(vat()), limited, bindings=[missing])
    assert message == f"policy 'p' with binding 'c' denied request: failed to configure binding: {error}"


async def test_object_is_converted_to_the_matching_version_and_back() -> None:
    async def convert(obj: JsonObject, api_version: str) -> JsonObject:
        return {**obj, "apiVersion": api_version}

    attributes = attributes_of(vat(), convert=convert)
    text = "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version"
    spec = await admit(attributes, policy(merge(f"Object{{spec: Object.spec{{text: {text}}}}}"), versions=["v2"]))
    assert spec == {"text": "x.io/v2 v2 v1"}
    assert attributes.obj is not None
    assert attributes.obj["apiVersion"] == "x.io/v1"


async def test_last_changed_version_wins() -> None:
    async def convert(obj: JsonObject, api_version: str) -> JsonObject:
        return {**obj, "apiVersion": api_version}

    policies = [policy(patch(APPEND % name), name=name, versions=[name]) for name in ("v1", "v2")]
    assert await admit(attributes_of(vat(), convert=convert), *policies) == {"text": "v2"}


async def test_failed_conversion_is_a_configuration_error() -> None:
    async def refuse(obj: JsonObject, api_version: str) -> JsonObject:
        raise errors.BadRequestError("no way")

    (message,) = await denial_messages(
        attributes_of(vat(), convert=refuse), policy(patch(APPEND % "x"), versions=["v2"])
    )
    error = "failed to configure policy: no way"
    assert message == f'policy "p" denied request: {error}'


async def test_cost_budget_is_enforced() -> None:
    tens = "[0,1,2,3,4,5,6,7,8,9]"
    nested = "x >= 0"
    for name in "abcdef":
        nested = f"{tens}.all({name}, {nested if name != 'a' else 'a >= 0'})"
    (message,) = await denial_messages(
        attributes_of(vat()), policy(merge(f"Object{{spec: Object.spec{{text: string({nested})}}}}"))
    )
    assert message.endswith("resulted in error: operation cancelled: actual cost limit exceeded")


async def test_mutations_are_counted_in_metrics() -> None:
    metrics = Metrics()
    bad = policy(patch("[JSONPatch{op: object.nope}]"), name="bad", failurePolicy="Ignore")
    await admit(attributes_of(vat()), policy(patch(APPEND % "x")), bad, metrics=metrics)
    page = (await metrics.render()).decode()
    name = "apiserver_mutating_admission_policy_check"
    for policy_name, error in (("p", "no_error"), ("bad", "invalid_error")):
        labels = f'error_type="{error}",policy="{policy_name}",policy_binding="{binding(policy_name).name}"'
        assert f"{name}_total{{{labels}}} 1.0\n" in page
        assert f"{name}_duration_seconds_count{{{labels}}} 1" in page
