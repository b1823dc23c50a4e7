"""Escalation checks for roles and bindings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live
from tests.support.widgets import APPLY, MERGE

GROUP = "rbac.authorization.k8s.io"
ROOT = f"/apis/{GROUP}/v1"
NAMESPACE = f"{ROOT}/namespaces/default"
CLUSTER_ROLES, CLUSTER_BINDINGS = f"{ROOT}/clusterroles", f"{ROOT}/clusterrolebindings"
TOKENS = 'anns,ann,1,"makers"\nbobs,bob,2\ncals,cal,3\n'
"""ann writes roles and reads services, bob may escalate, cal may bind the role `wide`."""
LACKS = '{APIGroups:["example.com"], Resources:["pens"], Verbs:["get"]}'


def rule(*verbs: str, group: str = "example.com", resource: str = "pens") -> JsonObject:
    return {"verbs": list(verbs), "apiGroups": [group], "resources": [resource]}


def role(name: str, *rules: JsonObject, **more: Any) -> JsonObject:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name: str, role: str, *users: str, kind: str = "ClusterRole") -> JsonObject:
    subjects = [{"kind": "User", "name": user} for user in users]
    return {"metadata": {"name": name}, "roleRef": {"kind": kind, "name": role}, "subjects": subjects}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(TOKENS)
    async with live(tmp_path, token_auth_file=tokens, authorization_mode=("RBAC",)) as running:
        writing = rule("create", "update", "patch", "get", group=GROUP, resource="*")
        await running.ask("POST", CLUSTER_ROLES, role("writer", writing, rule("get", group="", resource="services")))
        await running.ask("POST", CLUSTER_ROLES, role("wide", rule("get")))
        await running.ask("POST", CLUSTER_ROLES, role("escalator", rule("escalate", group=GROUP, resource="*")))
        binder = {**rule("bind", group=GROUP, resource="clusterroles"), "resourceNames": ["wide"]}
        await running.ask("POST", CLUSTER_ROLES, role("binder", binder))
        await running.ask("POST", CLUSTER_BINDINGS, binding("writers", "writer", "ann", "bob", "cal"))
        await running.ask("POST", CLUSTER_BINDINGS, binding("escalators", "escalator", "bob"))
        await running.ask("POST", CLUSTER_BINDINGS, binding("binders", "binder", "cal"))
        yield running


async def ask(
    running: Live, token: str, method: str, path: str, body: object, expect: int, kind: str = "application/json"
) -> Any:
    async with running.another() as client:
        client.token = token
        reply = await client.call(method, path, body, kind)
        assert reply.status == expect, reply.body
        return reply.json()


async def test_writing_a_role_requires_its_rules(running: Live) -> None:
    await ask(running, "anns", "POST", CLUSTER_ROLES, role("s", rule("get", group="", resource="services")), 201)
    rejected = await ask(running, "anns", "POST", CLUSTER_ROLES, role("p", rule("get")), 403)
    assert rejected["message"] == (
        f'clusterroles.{GROUP} "p" is forbidden: user "ann" (groups=["makers" "system:authenticated"]) '
        f"is attempting to grant RBAC permissions not currently held:\n{LACKS}"
    )
    assert rejected["details"] == {"name": "p", "group": GROUP, "kind": "clusterroles"}
    await ask(running, "bobs", "POST", CLUSTER_ROLES, role("p", rule("get")), 201)


async def test_every_verb_checks_escalation(running: Live) -> None:
    wide, applied = role("s", rule("get")), {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole"}
    await ask(running, "anns", "PUT", f"{CLUSTER_ROLES}/s", wide, 403)
    await ask(running, "anns", "PATCH", f"{CLUSTER_ROLES}/s?fieldManager=m", {**applied, **wide}, 403, APPLY)
    await ask(running, "anns", "PUT", f"{CLUSTER_ROLES}/s", role("s"), 201)
    await ask(running, "anns", "PUT", f"{CLUSTER_ROLES}/s", wide, 403)
    await ask(running, "anns", "PATCH", f"{CLUSTER_ROLES}/s", {"rules": [rule("get")]}, 403, MERGE)
    await ask(running, "anns", "PATCH", f"{CLUSTER_ROLES}/s?fieldManager=m&force=1", {**applied, **wide}, 403, APPLY)


async def test_escalation_is_checked_before_validation_and_existence(running: Live) -> None:
    await ask(running, "anns", "POST", CLUSTER_ROLES, role("a/b", rule("get")), 403)
    await ask(running, "anns", "POST", CLUSTER_ROLES, role("wide", rule("get")), 403)
    missing = await ask(running, "anns", "POST", f"{ROOT}/namespaces/none/roles", role("r", rule("get")), 404)
    assert missing["details"]["kind"] == "namespaces"


async def test_rules_held_in_a_namespace_can_be_granted_there(running: Live) -> None:
    await running.ask("POST", f"{NAMESPACE}/rolebindings", binding("here", "wide", "ann"))
    await ask(running, "anns", "POST", f"{NAMESPACE}/roles", role("p", rule("get")), 201)
    await ask(running, "anns", "POST", CLUSTER_ROLES, role("p", rule("get")), 403)


async def test_aggregated_role_requires_all_permissions(running: Live) -> None:
    sum_of = role("sum", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    rejected = await ask(running, "anns", "POST", CLUSTER_ROLES, sum_of, 403)
    assert rejected["message"].endswith("must have cluster-admin privileges to use the aggregationRule")
    await ask(running, "bobs", "POST", CLUSTER_ROLES, sum_of, 201)
    await ask(running, "anns", "PUT", f"{CLUSTER_ROLES}/sum", role("sum"), 403)


async def test_owners_and_finalizers_can_change_without_privileges(running: Live) -> None:
    owners = {"metadata": {"finalizers": ["example.com/hold"]}}
    await ask(running, "anns", "PATCH", f"{CLUSTER_ROLES}/wide", owners, 200, MERGE)
    await ask(running, "anns", "PATCH", f"{CLUSTER_ROLES}/wide", {"metadata": {"labels": {"a": "b"}}}, 403, MERGE)


async def test_binding_requires_the_rules_of_its_role_or_the_bind_verb(running: Live) -> None:
    rejected = await ask(running, "anns", "POST", CLUSTER_BINDINGS, binding("b", "wide", "ann"), 403)
    assert rejected["message"].startswith(f'clusterrolebindings.{GROUP} "b" is forbidden: user "ann" ')
    assert rejected["message"].endswith(LACKS)
    await ask(running, "bobs", "POST", CLUSTER_BINDINGS, binding("b", "wide", "ann"), 403)
    await ask(running, "cals", "POST", CLUSTER_BINDINGS, binding("b", "wide", "ann"), 201)
    await ask(running, "cals", "POST", f"{NAMESPACE}/rolebindings", binding("b", "cluster-admin", "cal"), 403)
    await ask(running, "anns", "POST", f"{NAMESPACE}/rolebindings", binding("b", "writer", "zoe"), 201)


async def test_binding_to_a_missing_role_is_rejected(running: Live) -> None:
    async def error(expect: int, role: str, kind: str = "ClusterRole", path: str = CLUSTER_BINDINGS) -> str:
        rejected = await ask(running, "anns", "POST", path, binding("b", role, kind=kind), expect)
        return str(rejected["message"])

    assert await error(404, "none") == f'clusterrolebindings.{GROUP} "none" not found'
    assert await error(404, "none", "Role", f"{NAMESPACE}/rolebindings") == f'rolebindings.{GROUP} "none" not found'
    assert await error(400, "none", "Role") == "Namespace parameter required."
    assert await error(400, "") == "Name parameter required."
    assert await error(400, "a/b") == "Name parameter invalid: \"a/b\": may not contain '/'"
    assert await error(500, "none", "Robot") == 'unsupported role reference kind: "Robot"'


async def test_error_names_missing_roles_of_the_user(running: Live) -> None:
    await running.ask("POST", CLUSTER_BINDINGS, binding("loose", "none", "ann"))
    rejected = await ask(running, "anns", "POST", f"{NAMESPACE}/roles", role("p", rule("get")), 403)
    assert rejected["message"].endswith(f'{LACKS}; resolution errors: [roles.{GROUP} "none" not found]')


async def test_always_allow_skips_the_escalation_check(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(TOKENS)
    async with live(tmp_path, token_auth_file=tokens, authorization_mode=("AlwaysAllow",)) as running:
        await ask(running, "anns", "POST", CLUSTER_ROLES, role("p", rule("*")), 201)
        await ask(running, "anns", "POST", CLUSTER_BINDINGS, binding("b", "none", "ann"), 201)
