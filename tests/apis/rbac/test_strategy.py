"""Roles and bindings as resources: what they must obey, and all the ways to change them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.rbac.types import CLUSTER_ROLE
from polykind.codec.protobuf_envelope import decode_envelope, encode_object
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


async def complaints(running: Live, path: str, obj: JsonObject) -> list[tuple[str, str]]:
    """What is wrong, each with its field."""
    found = await running.ask("POST", path, obj, expect=422)
    return [(cause["field"], cause["message"]) for cause in found["details"]["causes"]]


async def test_a_role_is_kept_as_it_is_but_no_rules_are_none_at_all(running: Live) -> None:
    made = await running.ask("POST", ROLES, role(RULE, {**RULE, "resourceNames": ["a"]}))
    assert made["rules"] == [RULE, {**RULE, "resourceNames": ["a"]}]
    assert "generation" not in made["metadata"]
    assert (await running.ask("POST", CLUSTER_ROLES, role()))["rules"] is None


async def test_an_empty_list_in_a_rule_makes_its_author_the_owner_and_is_not_kept(running: Live) -> None:
    await running.ask("POST", f"{ROLES}?fieldManager=one", role(RULE))
    stated = role({**RULE, "nonResourceURLs": []})
    made = await running.ask("PUT", f"{ROLES}/r?fieldManager=two", stated)
    assert made["rules"] == [RULE]
    assert [(e["manager"], e["fieldsV1"]) for e in made["metadata"]["managedFields"]] == [("two", {"f:rules": {}})]
    again = await running.ask("PUT", f"{ROLES}/r?fieldManager=two", stated)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_an_update_that_ends_a_deletion_is_answered_as_it_came(running: Live) -> None:
    await running.ask("POST", ROLES, {"metadata": {"name": "r", "finalizers": ["a.b/c"]}, "rules": [RULE]})
    await running.ask("DELETE", f"{ROLES}/r")
    assert (await running.ask("PUT", f"{ROLES}/r", role()))["rules"] == []
    await running.ask("GET", f"{ROLES}/r", expect=404)


async def test_a_binding_is_stored_with_the_groups_of_its_role_and_its_subjects(running: Live) -> None:
    account = {"kind": "ServiceAccount", "name": "s", "namespace": "n"}
    made = await running.ask("POST", CLUSTER_BINDINGS, binding({"kind": "User", "name": "u"}, account))
    assert made["roleRef"] == {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"}
    assert made["subjects"] == [{"kind": "User", "apiGroup": GROUP, "name": "u"}, account]


async def test_names_need_only_fit_into_a_path(running: Live) -> None:
    await running.ask("POST", CLUSTER_ROLES, role(name="System:Everything"))
    assert await complaints(running, CLUSTER_ROLES, role(name="a/b%")) == [
        ("metadata.name", "Invalid value: \"a/b%\": may not contain '/'"),
        ("metadata.name", "Invalid value: \"a/b%\": may not contain '%'"),
    ]


async def test_finalizers_are_qualified(running: Live) -> None:
    ((field, message),) = await complaints(running, ROLES, {"metadata": {"name": "r", "finalizers": ["mine"]}})
    assert field == "metadata.finalizers[0]"
    assert message.endswith("name is neither a standard finalizer name nor is it fully qualified")
    await running.ask("POST", ROLES, role(), expect=201)
    mine = {"metadata": {"finalizers": ["mine"]}}
    refused = await running.ask("PATCH", f"{ROLES}/r", mine, kind=MERGE, expect=422)
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["metadata.finalizers[0]"] * 2


async def test_a_rule_is_about_resources_or_about_paths(running: Live) -> None:
    both = {"verbs": ["get"], "nonResourceURLs": ["/a", "/b"], "resources": ["x"]}
    assert await complaints(running, ROLES, role({}, both)) == [
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


async def test_a_role_that_is_put_together_says_of_which(running: Live) -> None:
    at = "aggregationRule.clusterRoleSelectors"
    assert await complaints(running, CLUSTER_ROLES, role(aggregationRule={})) == [
        (at, "Required value: at least one clusterRoleSelector required if aggregationRule is non-nil")
    ]
    wrong = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}
    assert await complaints(running, CLUSTER_ROLES, role(aggregationRule=wrong)) == [
        (f"{at}[0].matchExpressions[0].operator", 'Invalid value: "Is": not a valid selector operator'),
        (f"{at}[0]", "Invalid value: null: invalid label selector."),
    ]


async def test_a_binding_names_a_role_that_it_can_give(running: Live) -> None:
    nobody = {"metadata": {"name": "b"}, "roleRef": {"apiGroup": "x", "kind": "Role", "name": "a/b"}}
    assert await complaints(running, CLUSTER_BINDINGS, nobody) == [
        ("roleRef.apiGroup", f'Unsupported value: "x": supported values: "{GROUP}"'),
        ("roleRef.kind", 'Unsupported value: "Role": supported values: "ClusterRole"'),
        ("roleRef.name", "Invalid value: \"a/b\": may not contain '/'"),
    ]
    assert await complaints(running, BINDINGS, {"metadata": {"name": "b"}}) == [
        ("roleRef.kind", 'Unsupported value: "": supported values: "Role", "ClusterRole"'),
        ("roleRef.name", "Required value"),
    ]


async def test_subjects_are_users_groups_and_service_accounts(running: Live) -> None:
    subjects: list[JsonObject] = [
        {"kind": "User"},
        {"kind": "Group", "name": "g", "apiGroup": "x"},
        {"kind": "ServiceAccount", "name": "s", "apiGroup": GROUP},
        {"kind": "Robot", "name": "r"},
    ]
    assert await complaints(running, CLUSTER_BINDINGS, binding(*subjects)) == [
        ("subjects[0].name", "Required value"),
        ("subjects[1].apiGroup", f'Unsupported value: "x": supported values: "{GROUP}"'),
        ("subjects[2].apiGroup", f'Unsupported value: "{GROUP}": supported values: ""'),
        ("subjects[2].namespace", "Required value"),
        ("subjects[3].kind", 'Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'),
    ]
    await running.ask("POST", BINDINGS, binding({"kind": "ServiceAccount", "name": "s"}))


async def test_a_binding_keeps_its_role(running: Live) -> None:
    await running.ask("POST", BINDINGS, binding())
    refused = await running.ask("PUT", f"{BINDINGS}/b", binding(role="other"), expect=422)
    assert refused["message"] == (
        f'RoleBinding.{GROUP} "b" is invalid: roleRef: Invalid value: '
        f'{{"APIGroup":"{GROUP}","Kind":"ClusterRole","Name":"other"}}: cannot change roleRef'
    )


async def test_an_update_of_what_is_not_there_creates_it(running: Live) -> None:
    made = await running.ask("PUT", f"{ROLES}/r", {"metadata": {"name": "r", "resourceVersion": "7"}}, expect=201)
    changed = await running.ask("PUT", f"{ROLES}/r", role(RULE), expect=200)
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    await running.ask("PUT", f"{ROLES}/new?dryRun=All", role(name="new"), expect=201)
    await running.ask("GET", f"{ROLES}/new", expect=404)
    await running.ask("PATCH", f"{ROLES}/new", {}, kind=MERGE, expect=404)
    elsewhere = ROLES.replace("default", "nowhere")
    assert (await running.ask("PUT", f"{elsewhere}/r", role(), expect=404))["details"]["kind"] == "namespaces"


async def test_an_update_that_means_another_object_creates_nothing(running: Live) -> None:
    refused = await running.ask("PUT", f"{ROLES}/r", {"metadata": {"name": "r", "uid": "u"}}, expect=409)
    assert refused["message"].endswith(
        "Key: /registry/roles/default/r, ResourceVersion: 0, AdditionalErrorMsg: "
        "Precondition failed: UID in precondition: u, UID in object meta: "
    )


async def test_a_generation_is_what_it_was_at_the_beginning(running: Live) -> None:
    await running.ask("POST", ROLES, {"metadata": {"name": "r", "generation": 3}})
    changed = await running.ask("PATCH", f"{ROLES}/r", {"metadata": {"generation": 1}, "rules": [RULE]}, kind=MERGE)
    assert changed["metadata"]["generation"] == 3


async def test_rules_and_subjects_and_roles_are_owned_as_wholes(running: Live) -> None:
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


async def test_another_kind_of_the_group_cannot_be_read_as_one(running: Live) -> None:
    other = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "r"}}
    refused = await running.ask("POST", CLUSTER_ROLES, other, expect=400)
    assert refused["message"] == (
        'Role in version "v1" cannot be handled as a ClusterRole: '
        "converting (v1.Role) to (rbac.ClusterRole): unknown conversion"
    )


async def test_tables_of_bindings_tell_who_has_which_role(running: Live) -> None:
    users = [{"kind": kind, "name": name} for kind, name in (("User", "u"), ("User", "v"), ("Group", "g"))]
    await running.ask("POST", BINDINGS, binding(*users, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}))
    running.client.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = await running.ask("GET", BINDINGS)
    columns = [(column["name"], column["priority"]) for column in table["columnDefinitions"]]
    assert columns == [("Name", 0), ("Role", 0), ("Age", 0), ("Users", 1), ("Groups", 1), ("ServiceAccounts", 1)]
    (row,) = table["rows"]
    assert [*row["cells"][:2], *row["cells"][3:]] == ["b", "ClusterRole/r", "u, v", "g", "n/s"]
    assert [c["name"] for c in (await running.ask("GET", ROLES))["columnDefinitions"]] == ["Name", "Created At"]


async def test_they_travel_as_protobuf(running: Live) -> None:
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
