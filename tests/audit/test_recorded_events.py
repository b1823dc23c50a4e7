"""Compares the audit events of a server with those that kube-apiserver has written for the same requests."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.support.live import live

RECORDED = json.loads(Path(__file__).with_name("recorded_events.json").read_text())
"""Requests, each with kube-apiserver's events. Ids and times are replaced by *, and some objects are removed."""
POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: RequestResponse
"""
TOKENS = """
admintoken,admin,admin,"system:masters"
alicetoken,alice,u1,"dev,ops"
bobtoken,bob,u2
imptoken,imp,u3
"""
VARYING = ("uid", "resourceVersion", "creationTimestamp", "time")


def normalized(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: normalized(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [normalized(item) for item in value]
    if key in VARYING and value:
        return "*"
    if isinstance(value, str):
        return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", value)
    return value


async def test_events_are_those_of_kube_apiserver(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "tokens.csv").write_text(TOKENS.lstrip())
    log = tmp_path / "audit.log"
    settings: dict[str, Any] = {"audit_policy_file": tmp_path / "policy.yaml", "audit_log_path": str(log)}
    async with live(tmp_path, token_auth_file=tmp_path / "tokens.csv", **settings) as running:
        for number, recorded in enumerate(RECORDED):
            request = recorded["request"]
            client = running.another()
            client.token = request.get("token", "admintoken")
            client.accept = request.get("accept", "application/json")
            # The server keeps the first User-Agent.
            client.headers = (f"Audit-ID: r{number}", *request.get("headers", ()), "User-Agent: driver/1.0")
            body = request.get("body", "").encode()
            await client.send(request["method"], request["path"], body, request.get("contentType", "application/json"))
            client.close()
    events: dict[str, list[dict[str, Any]]] = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        events.setdefault(event["auditID"], []).append(event)
    assert (log.stat().st_mode & 0o777) == 0o600
    for number, recorded in enumerate(RECORDED):
        request = recorded["request"]
        for event, expected in zip(events[f"r{number}"], recorded["events"], strict=True):
            assert event["requestURI"] == request["path"]
            compared = {name: value for name, value in normalized(event).items() if name in expected}
            assert compared == expected, f"{request} {event}"
            extra = {"requestReceivedTimestamp", "stageTimestamp", "kind", "apiVersion", "auditID", "requestURI"}
            assert set(event) - set(expected) - extra <= {"responseObject"}, request
