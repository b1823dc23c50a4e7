"""Mutating policies as a step of admission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from polykind import errors
from polykind.admission.admission import Admission
from polykind.admission.attributes import Attributes
from polykind.admission.mutating_policies import MutatingBinding, MutatingPolicies, MutatingPolicy
from polykind.apply.typemodel import TypeModel
from polykind.contract import JsonObject
from polykind.metrics.metrics import Metrics
from polykind.selectors.label_selectors import LabelSelector
from tests.admission.support import NAMESPACE, asked

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


def laid(expression: str) -> JsonObject:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def done(expression: str) -> JsonObject:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(*mutations: JsonObject, name: str = "p", versions: Sequence[str] = ("v1",), **spec: Any) -> MutatingPolicy:
    rule = {"apiGroups": ["x.io"], "apiVersions": versions, "operations": ["*"], "resources": ["*/*"], "scope": "*"}
    match = {"resourceRules": [rule], "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    given = {"failurePolicy": "Fail", "reinvocationPolicy": "Never", "matchConstraints": match, "mutations": mutations}
    return MutatingPolicy({"metadata": {"name": name}, "spec": {**given, **spec}})


def bound(of: str, name: str = "", **spec: Any) -> MutatingBinding:
    return MutatingBinding({"metadata": {"name": name or f"b-{of}"}, "spec": {"policyName": of, **spec}})


class Params:
    """Two of a kind."""

    namespaced = True

    async def get(self, namespace: str, name: str) -> JsonObject | None:
        return {"metadata": {"name": name, "namespace": namespace}, "text": name} if name != "none" else None

    async def select(self, namespace: str, labels: LabelSelector) -> Sequence[JsonObject]:
        return [found for name in ("one", "two") if (found := await self.get(namespace, name)) is not None]


def write(obj: Any = None, old: Any = None, **more: Any) -> Attributes:
    return asked(obj, old, model=lambda api_version: MODEL.root, **more)


async def ask(
    given: Attributes,
    *policies: MutatingPolicy,
    bindings: Sequence[MutatingBinding] = (),
    metrics: Metrics | None = None,
) -> Any:
    step = MutatingPolicies(lambda api_version, kind: Params() if kind == "Limit" else None, metrics or Metrics())
    step.configure({one.name: one for one in policies}, bindings or [bound(one.name) for one in policies])
    assert step.active
    await Admission(mutating=(step,)).mutate(given)
    return (given.obj or {}).get("spec")


async def denied(given: Attributes, *policies: MutatingPolicy, bindings: Sequence[MutatingBinding] = ()) -> list[str]:
    with pytest.raises(errors.ForbiddenError) as refusal:
        await ask(given, *policies, bindings=bindings)
    assert refusal.value.code == 403
    causes = [cause["message"] for cause in (refusal.value.details or {})["causes"]]
    assert refusal.value.message == causes[0]
    return causes


async def test_mutations_follow_each_other() -> None:
    given = write(vat(text="a"))
    first = laid('Object{spec: Object.spec{text: object.spec.text + "b"}}')
    assert await ask(given, policy(first, done(APPEND % "c"))) == {"text": "abc"}
    assert given.changed


async def test_policies_and_bindings_come_in_the_order_of_their_names() -> None:
    policies = [policy(done(APPEND % name), name=name) for name in ("b", "a")]
    bindings = [bound("a", "y"), bound("b", "x"), bound("a", "x")]
    assert await ask(write(vat()), *policies, bindings=bindings) == {"text": "aab"}


async def test_nothing_is_done_to_what_is_deleted_or_of_other_kinds() -> None:
    gone = write(None, vat())
    await ask(gone, policy(done(APPEND % "x")))
    assert not gone.changed
    itself = write(vat(), group="admissionregistration.k8s.io", plural="mutatingadmissionpolicies")
    await ask(itself, policy(done(APPEND % "x"), matchConstraints={}))
    assert not itself.changed


async def test_who_wants_it_is_asked_again_after_its_own_change() -> None:
    once, twice = (policy(done(APPEND % name), name=name) for name in "ab")
    twice.reinvoked = True
    assert await ask(write(vat()), once, twice) == {"text": "abb"}


async def test_a_test_that_fails_leaves_the_object() -> None:
    test = '[JSONPatch{op: "remove", path: "/spec/text"}, JSONPatch{op: "test", path: "/spec", value: 1}]'
    assert await ask(write(vat(text="a")), policy(done(test))) == {"text": "a"}


async def test_all_failures_are_told() -> None:
    policies = [
        policy(laid("Object{spec: Object.spec{nope: 1}}"), done('[JSONPatch{op: "x"}]'), name="a"),
        policy(laid("Object{}"), name="b", paramKind={"apiVersion": "v1", "kind": "Nothing"}),
        policy(laid("Object{}"), name="c", matchConditions=[{"name": "c", "expression": "object.x == 1"}]),
        policy(laid("Object{spec: Object.spec{text: object.x}}"), name="d", failurePolicy="Ignore"),
    ]
    assert await denied(write(vat()), *policies) == [
        'policy "b" denied request: failed to configure policy: failed to find resource referenced by paramKind: '
        "'/v1, Kind=Nothing'",
        "policy 'a' with binding 'b-a' denied request: error applying patch: failed to convert patch object to typed "
        "object: .spec.nope: field not declared in schema",
        "policy 'a' with binding 'b-a' denied request: JSON Patch: Unexpected kind: x",
        "policy 'c' with binding 'b-c' denied request: expression 'object.x == 1' resulted in error: no such key: x",
    ]


async def test_what_fails_and_is_ignored_does_not_keep_the_rest_from_happening() -> None:
    mutations = laid("Object{spec: Object.spec{nope: 1}}"), done(APPEND % "x")
    assert await ask(write(vat()), policy(*mutations, failurePolicy="Ignore")) == {"text": "x"}


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (laid("Object{spec: Object.x{}}"), 'type mismatch: unexpected type name "Object.x", expected "Object.spec", '
         "which matches field name path from root Object type"),
        (laid("Object{spec: {1: 2}}"), "invalid return type: *dynamic.ObjectVal"),
        (laid('Object{spec: Object.spec{list: ["a"]}}'), "error applying patch: invalid ApplyConfiguration: may not "
         "mutate atomic arrays, maps or structs: .spec.list"),
        (laid("1"), "must evaluate to Object but got int"),
        (laid("Object{spec: Object.spec{text: variables.v}}"), "expression 'Object{spec: Object.spec{text: "
         "variables.v}}' resulted in error: composited variable \"v\" fails to evaluate: division by zero"),
        (done('[JSONPatch{op: "add", path: "/spec/text", value: {1: 2}}]'), "JSONPath valueExpression evaluated to a "
         "type that could not marshal to JSON: unsupported type conversion from 'int' to string"),
        (done('[JSONPatch{op: "add", path: "/spec/text", value: Object.a{b: Object.c{}}}]'), "type mismatch: "
         'unexpected type name "Object.c", expected "Object.a.b", which matches field name path from root Object type'),
        (done('[JSONPatch{op: "add", path: "/spec/\\u0001", value: 1}]'), "JSON Patch: add operation failed to decode "
         "path: missing value"),
    ],
)  # fmt: skip
async def test_what_fails(mutation: JsonObject, why: str) -> None:
    variables = [{"name": "v", "expression": "1/0"}]
    (told,) = await denied(write(vat()), policy(mutation, variables=variables))
    assert told == f"policy 'p' with binding 'b-p' denied request: {why}"


async def test_a_scale_cannot_be_changed() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "v"}, "spec": {"replicas": 1}}
    more: dict[str, Any] = {"subresource": "scale", "kind": "Scale", "kind_version": "autoscaling/v1"}
    given = asked(scale, scale, **more)
    assert await denied(given, policy(laid("Object{}"), done('[JSONPatch{op: "remove", path: "/spec/replicas"}]'))) == [
        "policy 'p' with binding 'b-p' denied request: error applying patch: failed to convert patch object to typed "
        "object: no corresponding type for autoscaling/v1, Kind=Scale",
        "policy 'p' with binding 'b-p' denied request: request to convert CR to an invalid group/version: "
        "autoscaling/v1",
    ]


async def test_a_scale_may_be_tested() -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "v"}, "spec": {"replicas": 1}}
    given = asked(scale, scale, subresource="scale", kind="Scale", kind_version="autoscaling/v1")
    untrue = '[JSONPatch{op: "test", path: "/spec/replicas", value: 7}]'
    assert await ask(given, policy(done(untrue))) == {"replicas": 1}


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ('JSONPatch{op: "remove", path: "/kind"}', "Object 'Kind' is missing in"),
        ('JSONPatch{op: "replace", path: "", value: [1]}', "couldn't get version/kind; json parse error"),
        ('JSONPatch{op: "replace", path: "/apiVersion", value: "y.io/v1"}', "failed to convert object: y.io/v1, "
         'Kind=Vat is unstructured and is not suitable for converting to "x.io/v1"'),
    ],
)  # fmt: skip
async def test_what_is_no_object_any_more_is_nobodys_to_ignore(patch: str, why: str) -> None:
    with pytest.raises(errors.InternalError) as refusal:
        await ask(asked(vat()), policy(done(f"[{patch}]"), failurePolicy="Ignore"))
    assert refusal.value.message.startswith(f"Internal error occurred: {why}")


async def test_a_strict_reader_may_have_something_against_it() -> None:
    with pytest.raises(errors.InternalError, match="not so"):
        await ask(asked(vat(), complaint=lambda made: "not so"), policy(done(APPEND % "x")))


async def test_what_is_no_number_cannot_be_stored() -> None:
    with pytest.raises(errors.UnknownReasonError, match="json: unsupported value: NaN"):
        await ask(write(vat()), policy(laid("Object{spec: Object.spec{ratio: 0.0 / 0.0}}")))


async def test_expressions_see_the_write() -> None:
    seen = (
        'request.operation + " " + request.userInfo.username + " " + namespaceObject.metadata.name + " " + '
        'string(oldObject == null) + " " + request.resource.version'
    )
    made = await ask(write(vat()), policy(laid(f"Object{{spec: Object.spec{{text: {seen}}}}}")))
    assert made == {"text": "CREATE ann default true v1"}


async def test_nobody_is_told_who_manages_the_namespace() -> None:
    managed = {**NAMESPACE, "metadata": {**NAMESPACE["metadata"], "managedFields": [{}]}}
    text = 'has(dyn(namespaceObject.metadata).managedFields) ? "told" : "kept"'
    given = write(vat(), namespace_object=lambda: managed)
    assert await ask(given, policy(laid(f"Object{{spec: Object.spec{{text: {text}}}}}"))) == {"text": "kept"}


async def test_each_param_is_asked_for() -> None:
    append = APPEND.replace('"%s"', "params.text")
    limited = policy(done(append), paramKind={"apiVersion": "x.io/v1", "kind": "Limit"})
    named = bound("p", "a", paramRef={"name": "one"})
    selected = bound("p", "b", paramRef={"selector": {}})
    assert await ask(write(vat()), limited, bindings=[named, selected]) == {"text": "oneonetwo"}
    missing = bound("p", "c", paramRef={"name": "none", "parameterNotFoundAction": "Deny"})
    why = "no params found for policy binding with `Deny` parameterNotFoundAction"
    (told,) = await denied(write(vat()), limited, bindings=[missing])
    assert told == f"policy 'p' with binding 'c' denied request: failed to configure binding: {why}"


async def test_a_write_is_told_at_the_version_that_matches_and_brought_back() -> None:
    async def convert(obj: JsonObject, api_version: str) -> JsonObject:
        return {**obj, "apiVersion": api_version}

    given = write(vat(), convert=convert)
    text = "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version"
    made = await ask(given, policy(laid(f"Object{{spec: Object.spec{{text: {text}}}}}"), versions=["v2"]))
    assert made == {"text": "x.io/v2 v2 v1"}
    assert given.obj is not None
    assert given.obj["apiVersion"] == "x.io/v1"


async def test_of_what_is_done_at_several_versions_the_last_counts() -> None:
    async def convert(obj: JsonObject, api_version: str) -> JsonObject:
        return {**obj, "apiVersion": api_version}

    policies = [policy(done(APPEND % name), name=name, versions=[name]) for name in ("v1", "v2")]
    assert await ask(write(vat(), convert=convert), *policies) == {"text": "v2"}


async def test_a_version_that_cannot_be_converted_to_is_a_fault_of_the_policy() -> None:
    async def refuse(obj: JsonObject, api_version: str) -> JsonObject:
        raise errors.BadRequestError("no way")

    (told,) = await denied(write(vat(), convert=refuse), policy(done(APPEND % "x"), versions=["v2"]))
    why = "failed to configure policy: no way"
    assert told == f'policy "p" denied request: {why}'


async def test_what_costs_too_much() -> None:
    tens = "[0,1,2,3,4,5,6,7,8,9]"
    nested = "x >= 0"
    for name in "abcdef":
        nested = f"{tens}.all({name}, {nested if name != 'a' else 'a >= 0'})"
    (told,) = await denied(write(vat()), policy(laid(f"Object{{spec: Object.spec{{text: string({nested})}}}}")))
    assert told.endswith("resulted in error: operation cancelled: actual cost limit exceeded")


async def test_mutations_are_counted() -> None:
    metrics = Metrics()
    bad = policy(done("[JSONPatch{op: object.nope}]"), name="bad", failurePolicy="Ignore")
    await ask(write(vat()), policy(done(APPEND % "x")), bad, metrics=metrics)
    page = (await metrics.render()).decode()
    name = "apiserver_mutating_admission_policy_check"
    for policy_name, error in (("p", "no_error"), ("bad", "invalid_error")):
        labels = f'error_type="{error}",policy="{policy_name}",policy_binding="{bound(policy_name).name}"'
        assert f"{name}_total{{{labels}}} 1.0\n" in page
        assert f"{name}_duration_seconds_count{{{labels}}} 1" in page
