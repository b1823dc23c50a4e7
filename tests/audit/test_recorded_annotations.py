"""Compares the audit annotations of a server with those that kube-apiserver has written for the same requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.audit.annotation_scenario import POLICY, RECORDED, TOKENS, run
from tests.support.live import live


async def test_annotations_are_those_of_kube_apiserver(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "tokens.csv").write_text(TOKENS.lstrip())
    log = tmp_path / "audit.log"
    settings: dict[str, Any] = {"audit_policy_file": tmp_path / "policy.yaml", "audit_log_path": str(log)}
    async with live(tmp_path, token_auth_file=tmp_path / "tokens.csv", allow_privileged=True, **settings) as running:
        found = await run(running.server.url, log, settle=0)
    expected = json.loads(RECORDED.read_text())
    assert len(found) == len(expected) > 60
    for one, recorded in zip(found, expected, strict=True):
        assert one == recorded
