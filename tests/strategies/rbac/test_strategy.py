"""Roles and bindings as resources: validation, updates, ownership, tables and protobuf."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.apis.machinery.protobuf_envelope import decode_envelope, encode_object
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.rbac.types import CLUSTER_ROLE
from polykind.contract import JsonObject
from tests.support.live import Live, live
from tests.support.widgets import APPLY, MERGE

GROUP = "rbac.authorization.k8s.io"
ROOT = f"/apis/{GROUP}/v1"
ROLES, BINDINGS = f"{ROOT}/namespaces/default/roles", f"{ROOT}/namespaces/default/rolebindings"
CLUSTER_ROLES, CLUSTER_BINDINGS = f"{ROOT}/clusterroles", f"{ROOT}/clusterrolebindings"
RULE: JsonObject = {"verbs": ["get"], "apiGroups": [""], "resources": ["services"]}
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


def role(*rules: Any, name: str = "r", **more: Any) -> JsonObject:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(*subjects: JsonObject, role: str = "r", kind: str = "ClusterRole") -> JsonObject:
    return {"metadata": {"name": "b"}, "roleRef": {"kind": kind, "name": role}, "subjects": list(subjects)}


async def field_errors(running: Live, path: str, obj: JsonObject) -> list[tuple[str, str]]:
    """Create an invalid object and return the field and the message of each error."""
    found = await running.ask("POST", path, obj, expect=422)
    return [(cause["field"], cause["message"]) for cause in found["details"]["causes"]]


async def test_role_without_rules_is_stored_with_null(running: Live) -> None:
    made = await running.ask("POST", ROLES, role(RULE, {**RULE, "resourceNames": ["a"]}))
    assert made["rules"] == [RULE, {**RULE, "resourceNames": ["a"]}]
    assert "generation" not in made["metadata"]
    assert (await running.ask("POST", CLUSTER_ROLES, role()))["rules"] is None


async def test_empty_lists_of_rules_are_owned_but_not_stored(running: Live) -> None:
    await running.ask("POST", f"{ROLES}?fieldManager=one", role(RULE))
    stated = role({**RULE, "nonResourceURLs": []})
    made = await running.ask("PUT", f"{ROLES}/r?fieldManager=two", stated)
    assert made["rules"] == [RULE]
    assert [(e["manager"], e["fieldsV1"]) for e in made["metadata"]["managedFields"]] == [("two", {"f:rules": {}})]
    again = await running.ask("PUT", f"{ROLES}/r?fieldManager=two", stated)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_update_that_finishes_a_deletion_returns_the_object(running: Live) -> None:
    await running.ask("POST", ROLES, {"metadata": {"name": "r", "finalizers": ["a.b/c"]}, "rules": [RULE]})
    await running.ask("DELETE", f"{ROLES}/r")
    assert (await running.ask("PUT", f"{ROLES}/r", role()))["rules"] == []
    await running.ask("GET", f"{ROLES}/r", expect=404)


async def test_binding_defaults_api_groups(running: Live) -> None:
    account = {"kind": "ServiceAccount", "name": "s", "namespace": "n"}
    made = await running.ask("POST", CLUSTER_BINDINGS, binding({"kind": "User", "name": "u"}, account))
    assert made["roleRef"] == {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"}
    assert made["subjects"] == [{"kind": "User", "apiGroup": GROUP, "name": "u"}, account]


async def test_names_are_path_segments(running: Live) -> None:
    await running.ask("POST", CLUSTER_ROLES, role(name="System:Everything"))
    assert await field_errors(running, CLUSTER_ROLES, role(name="a/b%")) == [
        ("metadata.name", "Invalid value: \"a/b%\": may not contain '/'"),
        ("metadata.name", "Invalid value: \"a/b%\": may not contain '%'"),
    ]


async def test_finalizers_must_be_qualified(running: Live) -> None:
    ((field, message),) = await field_errors(running, ROLES, {"metadata": {"name": "r", "finalizers": ["mine"]}})
    assert field == "metadata.finalizers[0]"
    assert message.endswith("name is neither a standard finalizer name nor is it fully qualified")
    await running.ask("POST", ROLES, role(), expect=201)
    mine = {"metadata": {"finalizers": ["mine"]}}
    refused = await running.ask("PATCH", f"{ROLES}/r", mine, kind=MERGE, expect=422)
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["metadata.finalizers[0]"] * 2


async def test_rule_errors(running: Live) -> None:
    both = {"verbs": ["get"], "nonResourceURLs": ["/a", "/b"], "resources": ["x"]}
    assert await field_errors(running, ROLES, role({}, both)) == [
        ("rules[0].verbs", "Required value: verbs must contain at least one value"),
        ("rules[0].apiGroups", "Required value: resource rules must supply at least one api group"),
        ("rules[0].resources", "Required value: resource rules must supply at least one resource"),
        (
            "rules[1].nonResourceURLs",
            'Invalid value: ["/a","/b"]: namespaced rules cannot apply to non-resource URLs',
        ),
        (
            "rules[1].nonResourceURLs",
            'Invalid value: ["/a","/b"]: rules cannot apply to both regular resources and non-resource URLs',
        ),
    ]
    await running.ask("POST", CLUSTER_ROLES, role({"verbs": ["get"], "nonResourceURLs": ["/a"]}))


async def test_aggregation_rule_errors(running: Live) -> None:
    at = "aggregationRule.clusterRoleSelectors"
    assert await field_errors(running, CLUSTER_ROLES, role(aggregationRule={})) == [
        (at, "Required value: at least one clusterRoleSelector required if aggregationRule is non-nil")
    ]
    wrong = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}
    assert await field_errors(running, CLUSTER_ROLES, role(aggregationRule=wrong)) == [
        (f"{at}[0].matchExpressions[0].operator", 'Invalid value: "Is": not a valid selector operator'),
        (f"{at}[0]", "Invalid value: null: invalid label selector."),
    ]


async def test_role_ref_errors(running: Live) -> None:
    nobody = {"metadata": {"name": "b"}, "roleRef": {"apiGroup": "x", "kind": "Role", "name": "a/b"}}
    assert await field_errors(running, CLUSTER_BINDINGS, nobody) == [
        ("roleRef.apiGroup", f'Unsupported value: "x": supported values: "{GROUP}"'),
        ("roleRef.kind", 'Unsupported value: "Role": supported values: "ClusterRole"'),
        ("roleRef.name", "Invalid value: \"a/b\": may not contain '/'"),
    ]
    assert await field_errors(running, BINDINGS, {"metadata": {"name": "b"}}) == [
        ("roleRef.kind", 'Unsupported value: "": supported values: "Role", "ClusterRole"'),
        ("roleRef.name", "Required value"),
    ]


async def test_subject_errors(running: Live) -> None:
    subjects: list[JsonObject] = [
        {"kind": "User"},
        {"kind": "Group", "name": "g", "apiGroup": "x"},
        {"kind": "ServiceAccount", "name": "s", "apiGroup": GROUP},
        {"kind": "Robot", "name": "r"},
    ]
    assert await field_errors(running, CLUSTER_BINDINGS, binding(*subjects)) == [
        ("subjects[0].name", "Required value"),
        ("subjects[1].apiGroup", f'Unsupported value: "x": supported values: "{GROUP}"'),
        ("subjects[2].apiGroup", f'Unsupported value: "{GROUP}": supported values: ""'),
        ("subjects[2].namespace", "Required value"),
        ("subjects[3].kind", 'Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'),
    ]
    await running.ask("POST", BINDINGS, binding({"kind": "ServiceAccount", "name": "s"}))


async def test_role_ref_cannot_change(running: Live) -> None:
    await running.ask("POST", BINDINGS, binding())
    refused = await running.ask("PUT", f"{BINDINGS}/b", binding(role="other"), expect=422)
    assert refused["message"] == (
        f'RoleBinding.{GROUP} "b" is invalid: roleRef: Invalid value: '
        f'{{"APIGroup":"{GROUP}","Kind":"ClusterRole","Name":"other"}}: cannot change roleRef'
    )


async def test_update_creates_a_missing_object(running: Live) -> None:
    made = await running.ask("PUT", f"{ROLES}/r", {"metadata": {"name": "r", "resourceVersion": "7"}}, expect=201)
    changed = await running.ask("PUT", f"{ROLES}/r", role(RULE), expect=200)
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    await running.ask("PUT", f"{ROLES}/new?dryRun=All", role(name="new"), expect=201)
    await running.ask("GET", f"{ROLES}/new", expect=404)
    await running.ask("PATCH", f"{ROLES}/new", {}, kind=MERGE, expect=404)
    elsewhere = ROLES.replace("default", "nowhere")
    assert (await running.ask("PUT", f"{elsewhere}/r", role(), expect=404))["details"]["kind"] == "namespaces"


async def test_update_with_a_precondition_creates_nothing(running: Live) -> None:
    refused = await running.ask("PUT", f"{ROLES}/r", {"metadata": {"name": "r", "uid": "u"}}, expect=409)
    assert refused["message"].endswith(
        "Key: /registry/roles/default/r, ResourceVersion: 0, AdditionalErrorMsg: "
        "Precondition failed: UID in precondition: u, UID in object meta: "
    )


async def test_generation_never_changes(running: Live) -> None:
    await running.ask("POST", ROLES, {"metadata": {"name": "r", "generation": 3}})
    changed = await running.ask("PATCH", f"{ROLES}/r", {"metadata": {"generation": 1}, "rules": [RULE]}, kind=MERGE)
    assert changed["metadata"]["generation"] == 3


async def test_rules_subjects_and_role_refs_are_atomic(running: Live) -> None:
    base = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": "b"}}
    applied = {**binding({"kind": "User", "name": "u"}), "kind": "ClusterRoleBinding", **base}
    made = await running.ask("PATCH", f"{CLUSTER_BINDINGS}/b?fieldManager=m", applied, kind=APPLY)
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:roleRef": {}, "f:subjects": {}}
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    whole = {**role(RULE, aggregationRule=selectors), "kind": "ClusterRole", **base}
    made = await running.ask("PATCH", f"{CLUSTER_ROLES}/b?fieldManager=m", whole, kind=APPLY)
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {"f:aggregationRule": {"f:clusterRoleSelectors": {}}, "f:rules": {}}


async def test_another_kind_of_the_group_is_rejected(running: Live) -> None:
    other = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "r"}}
    refused = await running.ask("POST", CLUSTER_ROLES, other, expect=400)
    assert refused["message"] == (
        'Role in version "v1" cannot be handled as a ClusterRole: '
        "converting (v1.Role) to (rbac.ClusterRole): unknown conversion"
    )


async def test_tables_of_bindings(running: Live) -> None:
    users = [{"kind": kind, "name": name} for kind, name in (("User", "u"), ("User", "v"), ("Group", "g"))]
    await running.ask("POST", BINDINGS, binding(*users, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}))
    running.client.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = await running.ask("GET", BINDINGS)
    columns = [(column["name"], column["priority"]) for column in table["columnDefinitions"]]
    assert columns == [("Name", 0), ("Role", 0), ("Age", 0), ("Users", 1), ("Groups", 1), ("ServiceAccounts", 1)]
    (row,) = table["rows"]
    assert [*row["cells"][:2], *row["cells"][3:]] == ["b", "ClusterRole/r", "u, v", "g", "n/s"]
    assert [c["name"] for c in (await running.ask("GET", ROLES))["columnDefinitions"]] == ["Name", "Created At"]


async def test_protobuf(running: Live) -> None:
    whole = {
        **role(RULE, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}),
        "kind": "ClusterRole",
    }
    message = encode_object({**whole, "apiVersion": f"{GROUP}/v1"}, CLUSTER_ROLE)
    reply = await running.client.send("POST", CLUSTER_ROLES, message, PROTOBUF)
    assert reply[0] == 201
    running.client.close()
    running.client.accept = PROTOBUF
    api_version, kind, read = decode_envelope((await running.client.call("GET", f"{CLUSTER_ROLES}/r")).body)
    assert (api_version, kind) == (f"{GROUP}/v1", "ClusterRole")
    found = decode_message(read, CLUSTER_ROLE)
    assert (found["rules"], found["aggregationRule"]) == (whole["rules"], whole["aggregationRule"])
