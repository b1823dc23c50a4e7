"""Compares the rules of users (`kubectl auth can-i --list`) with those that kube-apiserver has returned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.auth.rbac.rule_sets import RBAC, RECORDED, SETS, ask_all, create_all
from tests.support.live import live


async def test_rules_are_those_of_kube_apiserver(tmp_path: Path) -> None:
    recorded = json.loads(RECORDED.read_text())
    assert len(recorded) == SETS * 6 + 1
    async with live(tmp_path) as running:
        await create_all(running.client)
        found = await ask_all(running.client)
    differing = {name: (status, recorded[name]) for name, status in found.items() if status != recorded[name]}
    assert not differing


async def test_rules_are_incomplete_with_a_webhook(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "webhook.kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "w", "cluster": {"server": "https://127.0.0.1:9"}}],
                "users": [{"name": "w", "user": {}}],
                "contexts": [{"name": "w", "context": {"cluster": "w", "user": "w"}}],
                "current-context": "w",
            }
        )
    )
    settings: dict[str, Any] = {"authorization_mode": ("RBAC", "Webhook")}
    async with live(tmp_path, authorization_webhook_config_file=kubeconfig, **settings) as running:
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "missing"}
        subjects = [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}]
        binding = {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}
        await running.ask("POST", f"{RBAC}/namespaces/default/rolebindings", binding)
        running.client.headers = ("Impersonate-User: nobody",)
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        status = (await running.ask("POST", path, {"spec": {"namespace": "default"}}))["status"]
    assert status["incomplete"] is True
    assert status["evaluationError"] == (
        '[role.rbac.authorization.k8s.io "missing" not found, webhook authorizer does not support user rule resolution]'
    )
