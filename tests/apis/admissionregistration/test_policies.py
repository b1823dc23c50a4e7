"""Validating policies and bindings as resources: defaults, generations, status, tables and protobuf."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.controllers.test_policy_informer import BINDINGS, POLICIES, binding, policy
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, MERGE

STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


async def test_defaults_are_set(running: Live) -> None:
    made = await running.ask("POST", POLICIES, policy("true"))
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {}
    assert made["spec"] == {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "resourceRules": [
                {
                    "apiGroups": [GROUP],
                    "apiVersions": ["*"],
                    "operations": ["*"],
                    "resources": ["widgets", "widgets/*"],
                    "scope": "*",
                }
            ],
        },
        "validations": [{"expression": "true"}],
    }
    bound = await running.ask("POST", BINDINGS, binding(matchResources={}))
    assert bound["spec"]["matchResources"] == {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    }
    assert "status" not in bound


async def test_generation_counts_spec_changes(running: Live) -> None:
    await running.ask("POST", POLICIES, policy("true"))
    one = f"{POLICIES}/p"
    labelled = await running.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}, "generation": 9}}, kind=MERGE)
    assert labelled["metadata"]["generation"] == 1
    changed = await running.ask("PATCH", one, {"spec": {"failurePolicy": "Ignore"}}, kind=MERGE)
    assert changed["metadata"]["generation"] == 2


async def test_status_is_written_through_its_subresource(running: Live) -> None:
    await running.ask("POST", POLICIES, {**policy("true"), "status": {"observedGeneration": 5}})
    one = f"{POLICIES}/p"
    ignored = await running.ask("PATCH", one, {"status": {"observedGeneration": 5}}, kind=MERGE)
    assert ignored["status"] == {}
    condition = {"type": "Ready", "status": "True", "reason": "Fine", "message": "", "lastTransitionTime": None}
    change: JsonObject = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"failurePolicy": "Ignore"},
        "status": {"observedGeneration": 1, "conditions": [condition | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    }
    told = await running.ask("PATCH", f"{one}/status", change, kind=MERGE)
    assert told["status"] == change["status"]
    assert told["spec"]["failurePolicy"] == "Fail"
    assert "labels" not in told["metadata"]
    bad: JsonObject = {
        "status": {"conditions": [condition], "typeChecking": {"expressionWarnings": [{"fieldRef": "["}]}}
    }
    refused = await running.ask("PATCH", f"{one}/status", bad, kind=MERGE, expect=422)
    assert [cause["field"] for cause in refused["details"]["causes"]] == [
        "status.typeChecking.expressionWarnings[0].warning",
        "status.typeChecking.expressionWarnings[0].fieldRef",
        "status.conditions[0].lastTransitionTime",
    ]
    assert refused["details"]["causes"][1]["message"] == 'Invalid value: "[": invalid JSONPath: unterminated array'


async def test_empty_resource_names_are_owned_but_not_stored(running: Live) -> None:
    made = await running.ask("POST", f"{POLICIES}?fieldManager=one", policy("true"))
    add = {"op": "add", "path": "/spec/matchConstraints/resourceRules/0/resourceNames", "value": []}
    changed = await running.ask("PATCH", f"{POLICIES}/p?fieldManager=two", [add], kind="application/json-patch+json")
    assert changed["spec"] == made["spec"]
    assert changed["metadata"]["generation"] == 1
    owned = {entry["manager"]: entry["fieldsV1"] for entry in changed["metadata"]["managedFields"]}
    assert owned["two"] == {"f:spec": {"f:matchConstraints": {}}}


async def test_lists_merge_by_name(running: Live) -> None:
    variables = [{"name": "a", "expression": "1"}]
    await running.ask("POST", POLICIES, policy("true", variables=variables))
    one = f"{POLICIES}/p"
    more = {"spec": {"variables": [{"name": "b", "expression": "2"}]}}
    merged = await running.ask("PATCH", one, more, kind=STRATEGIC)
    assert [variable["name"] for variable in merged["spec"]["variables"]] == ["b", "a"]
    applied = {"apiVersion": merged["apiVersion"], "kind": merged["kind"], "metadata": {"name": "p"}}
    third = {"spec": {"variables": [{"name": "c", "expression": "3"}]}}
    result = await running.ask("PATCH", f"{one}?fieldManager=me", applied | third, kind=APPLY)
    assert [variable["name"] for variable in result["spec"]["variables"]] == ["b", "a", "c"]
    fields = next(entry for entry in result["metadata"]["managedFields"] if entry["manager"] == "me")
    assert fields["fieldsV1"] == {"f:spec": {"f:variables": {'k:{"name":"c"}': {}}}}


async def test_names_of_static_configurations_cause_warnings(running: Live) -> None:
    reply = await running.client.call("POST", POLICIES, policy("true", name="a.static.k8s.io"))
    assert reply.headers[b"warning"] == (
        b'299 - "metadata.name: names ending with \\".static.k8s.io\\" are reserved for static manifest-based '
        b'configurations and cannot be managed via the API"'
    )


async def test_table_and_protobuf(running: Live) -> None:
    kind = {"apiVersion": "x.io/v1", "kind": "Limit"}
    await running.ask("POST", POLICIES, policy("true", "false", paramKind=kind))
    running.client.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = await running.ask("GET", POLICIES)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Validations", "ParamKind", "Age"]
    assert table["rows"][0]["cells"][:3] == ["p", 2, "x.io/v1/Limit"]
    running.client.accept = "application/vnd.kubernetes.protobuf"
    message: bytes = await running.ask("GET", f"{POLICIES}/p")
    assert message.startswith(b"k8s\x00")
    assert b"x.io/v1" in message
