"""Mutating policies and their bindings as resources: defaults, generations, tables and protobuf."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.apis.admissionregistration.types import MUTATING_ADMISSION_POLICY
from polykind.apis.machinery.protobuf_envelope import decode_envelope
from polykind.apis.machinery.protobuf_reader import decode_message
from tests.controllers.test_mutating_policy_informer import BINDINGS, GROW, POLICIES, binding, policy
from tests.support.live import Live, live
from tests.support.widgets import APPLY, MERGE

STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


async def test_defaults_are_set(running: Live) -> None:
    made = await running.ask("POST", POLICIES, policy(GROW))
    assert made["metadata"]["generation"] == 1
    assert "status" not in made
    assert made["spec"]["failurePolicy"] == "Fail"
    match = made["spec"]["matchConstraints"]
    assert (match["matchPolicy"], match["namespaceSelector"], match["objectSelector"]) == ("Equivalent", {}, {})
    assert match["resourceRules"][0]["scope"] == "*"
    bound = await running.ask("POST", BINDINGS, binding(matchResources={}))
    assert bound["spec"]["matchResources"]["matchPolicy"] == "Equivalent"


async def test_generation_counts_spec_changes(running: Live) -> None:
    await running.ask("POST", POLICIES, policy(GROW))
    same = await running.ask("PATCH", f"{POLICIES}/p", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
    assert same["metadata"]["generation"] == 1
    other = await running.ask("PATCH", f"{POLICIES}/p", {"spec": {"reinvocationPolicy": "IfNeeded"}}, kind=MERGE)
    assert other["metadata"]["generation"] == 2


async def test_invalid_policies_are_rejected(running: Live) -> None:
    refusal = await running.ask("POST", POLICIES, policy("Object.spec{}"), expect=422)
    assert refusal["message"].endswith("must evaluate to Object but got Object.spec")
    refusal = await running.ask("POST", BINDINGS, binding(""), expect=422)
    assert "spec.policyName: Required value" in refusal["message"]


async def test_match_conditions_merge_by_name_and_variables_do_not(running: Live) -> None:
    await running.ask("POST", POLICIES, policy(GROW))
    for name in ("a", "b"):
        spec = {key: [{"name": name, "expression": "true"}] for key in ("matchConditions", "variables")}
        made = await running.ask("PATCH", f"{POLICIES}/p", {"spec": spec}, kind=STRATEGIC)
    assert [one["name"] for one in made["spec"]["matchConditions"]] == ["b", "a"]
    assert [one["name"] for one in made["spec"]["variables"]] == ["b"]


async def test_mutations_are_an_atomic_list(running: Live) -> None:
    await running.ask("POST", POLICIES, policy(GROW))
    applied = {key: value for key, value in policy("Object{}").items() if key != "spec"}
    applied["spec"] = {"mutations": policy("Object{}")["spec"]["mutations"]}
    refusal = await running.ask("PATCH", f"{POLICIES}/p?fieldManager=me", applied, kind=APPLY, expect=409)
    assert refusal["details"]["causes"][0]["field"] == ".spec.mutations"


async def test_table_and_protobuf(running: Live) -> None:
    await running.ask("POST", POLICIES, policy(GROW, paramKind={"apiVersion": "v1", "kind": "X"}))
    await running.ask("POST", BINDINGS, binding(paramRef={"name": "n", "parameterNotFoundAction": "Deny"}))
    running.client.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = await running.ask("GET", POLICIES)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Mutations", "ParamKind", "Age"]
    assert table["rows"][0]["cells"][:3] == ["p", 1, "v1/X"]
    table = await running.ask("GET", BINDINGS)
    assert table["rows"][0]["cells"][:3] == ["b-p", "p", "*/n"]
    running.client.accept = "application/vnd.kubernetes.protobuf"
    _, _, message = decode_envelope(await running.ask("GET", f"{POLICIES}/p"))
    (mutation,) = decode_message(message, MUTATING_ADMISSION_POLICY)["spec"]["mutations"]
    assert mutation == {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": GROW}}
