"""Params of policies whose writers may not read them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live
from tests.support.widgets import GROUP, MERGE, definition

ROLES = "/apis/rbac.authorization.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
ANN = "&{ann 1 [makers system:authenticated] map[]}"
WIDGETS = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
LEAST = (
    f'to determine minimum required permissions and user {ANN} does not have "get" permission '
    "for all groups, versions and resources"
)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    """Start a server where ann may do everything with policies, and nothing else."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('anns,ann,1,"makers"\n')
    async with live(tmp_path, token_auth_file=tokens, authorization_mode=("RBAC",)) as running:
        await running.define(definition())
        await allow(running, "policies", "admissionregistration.k8s.io", "*", "*")
        running.client.token = "anns"
        yield running


async def allow(running: Live, name: str, group: str, resource: str, *verbs: str) -> None:
    async with running.another() as admin:
        rules = [{"verbs": verbs, "apiGroups": [group], "resources": [resource]}]
        await admin.call("POST", f"{ROLES}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subjects = [{"kind": "User", "name": "ann"}]
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
        assert (await admin.call("POST", f"{ROLES}/clusterrolebindings", binding)).status == 201


def policy(kind: JsonObject | None, sort: str = "validating") -> JsonObject:
    match = {"apiGroups": ["x.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    spec: JsonObject = {"matchConstraints": {"resourceRules": [match]}}
    if sort == "validating":
        spec["validations"] = [{"expression": "true"}]
    else:
        patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
        spec |= {"reinvocationPolicy": "Never", "mutations": [patch]}
    return {"metadata": {"name": "p"}, "spec": {**spec, **({"paramKind": kind} if kind else {})}}


def binding(reference: JsonObject | None, sort: str = "validating", of: str = "p") -> JsonObject:
    spec: JsonObject = {"policyName": of, **({"validationActions": ["Deny"]} if sort == "validating" else {})}
    if reference is not None:
        spec["paramRef"] = {**reference, "parameterNotFoundAction": "Deny"}
    return {"metadata": {"name": "b"}, "spec": spec}


async def error_message(running: Live, method: str, path: str, body: JsonObject, kind: str = "application/json") -> Any:
    """Return the message of the 422 response about params."""
    rejected = await running.ask(method, f"{ADMISSION}/{path}", body, kind=kind, expect=422)
    (cause,) = rejected["details"]["causes"]
    return cause["field"], cause["message"].removeprefix("Forbidden: ")


@pytest.mark.parametrize("sort", ["validating", "mutating"])
async def test_policy_writer_must_be_allowed_to_read_the_param_kind(running: Live, sort: str) -> None:
    path = f"{sort}admissionpolicies"
    reported = f"(kind=Widget, apiVersion={GROUP}/v1)"
    reason = f'user {ANN} must have "get" permission on all objects of the referenced paramKind {reported}'
    assert await error_message(running, "POST", path, policy(WIDGETS, sort)) == ("spec.paramKind", reason)
    await running.ask("POST", f"{ADMISSION}/{path}", policy(None, sort))
    change = {"spec": {"paramKind": WIDGETS}}
    assert await error_message(running, "PATCH", f"{path}/p", change, MERGE) == ("spec.paramKind", reason)
    await allow(running, "reading", GROUP, "widgets", "get")
    await running.ask("PATCH", f"{ADMISSION}/{path}/p", change, kind=MERGE)
    await running.ask("PATCH", f"{ADMISSION}/{path}/p", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)


async def test_unknown_param_kind_requires_permission_for_all_resources(running: Live) -> None:
    await allow(running, "reading", GROUP, "widgets", "get")
    for kind in ({**WIDGETS, "kind": "Nothing"}, {**WIDGETS, "apiVersion": f"{GROUP}/v9"}):
        field, _ = await error_message(running, "POST", "validatingadmissionpolicies", policy(kind))
        assert field == "spec.paramKind"


@pytest.mark.parametrize(
    ("sort", "reference", "reason"),
    [
        ("validating", {"name": "x"}, f'user {ANN} does not have "get"'),
        ("validating", {"selector": {}}, f'user {ANN} does not have "list"'),
        ("mutating", {"name": "x"}, f'user get does not have "{ANN}"'),
    ],
)
async def test_binding_writer_must_be_allowed_to_read_the_param_ref(
    running: Live, sort: str, reference: JsonObject, reason: str
) -> None:
    path = f"{sort}admissionpolicybindings"
    async with running.another() as admin:
        await admin.call("POST", f"{ADMISSION}/{sort}admissionpolicies", policy(WIDGETS, sort))
    reported = "spec.paramRef", f"{reason} permission on the object referenced by paramRef"
    assert await error_message(running, "POST", path, binding(reference, sort)) == reported
    await running.ask("POST", f"{ADMISSION}/{path}", binding(None, sort))
    assert (
        await error_message(running, "PATCH", f"{path}/b", {"spec": binding(reference, sort)["spec"]}, MERGE)
        == reported
    )
    await allow(running, "reading", GROUP, "widgets", "get", "list")
    await running.ask("PATCH", f"{ADMISSION}/{path}/b", {"spec": binding(reference, sort)["spec"]}, kind=MERGE)
    await running.ask("PATCH", f"{ADMISSION}/{path}/b", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)


async def test_binding_of_an_unknown_policy_requires_permission_for_everything(running: Live) -> None:
    created = binding({"name": "x"}, of="gone")
    reason = f"unable to get policy gone {LEAST}"
    assert await error_message(running, "POST", "validatingadmissionpolicybindings", created) == (
        "spec.paramRef",
        reason,
    )
    async with running.another() as admin:
        unknown = policy({**WIDGETS, "kind": "Nothing"})
        assert (await admin.call("POST", f"{ADMISSION}/validatingadmissionpolicies", unknown)).status == 201
    reason = f"unable to resolve paramKind &{{{GROUP}/v1 Nothing}} {LEAST}"
    created = binding({"name": "x"})
    assert await error_message(running, "POST", "validatingadmissionpolicybindings", created) == (
        "spec.paramRef",
        reason,
    )


async def test_superusers_skip_the_param_check(running: Live) -> None:
    async with running.another() as admin:
        unknown = policy({**WIDGETS, "kind": "Nothing"})
        assert (await admin.call("POST", f"{ADMISSION}/validatingadmissionpolicies", unknown)).status == 201
