from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from polykind.audit.audit_log import AuditLog
from polykind.audit.auditor import AuditErrors
from polykind.metrics.metrics import Metrics
from polykind.server.endpoints import Endpoints
from tests.support.live import live

EVENT = (
    b'{"auditID":"1","stage":"RequestReceived","requestURI":"/api","verb":"get","user":{"username":"a","groups":["g"]},'
    b'"requestReceivedTimestamp":"2026-01-31T10:20:30.400000Z"}\n'
)
POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request, omitStages: [RequestReceived]}]\n"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Writer:
    """A log that waits for permission to write, and can fail."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.allowed = threading.Event()
        self.error: OSError | None = None

    def write(self, lines: Sequence[bytes]) -> None:
        assert self.allowed.wait(20)
        if self.error is not None:
            raise self.error
        self.lines += lines

    def close(self) -> None:
        self.lines.append(b"closed")


async def test_batch_mode_never_waits_and_counts_lost_events(caplog: pytest.LogCaptureFixture) -> None:
    writer, metrics = Writer(), Metrics()
    log = AuditLog(writer, AuditErrors(metrics), mode="batch", buffer_size=3)
    # The thread holds one batch, so at least 3 and at most 6 of 10 events are written.
    assert [log.put(EVENT, 1) for _ in range(10)] == [None] * 10
    writer.allowed.set()
    await log.close()
    assert writer.lines.pop() == b"closed"
    lost = metrics.audit_errors.of("buffered").value
    assert lost >= 4
    assert len(writer.lines) + lost == 10
    assert "buffered lost events" in caplog.text
    assert 'AUDIT: id="1"' in caplog.text


async def test_blocking_mode_waits_until_the_event_is_written() -> None:
    writer = Writer()
    log = AuditLog(writer, AuditErrors(Metrics()), mode="blocking", legacy=True)
    future = log.put(EVENT, 1)
    assert future is not None
    assert not future.done()
    writer.allowed.set()
    assert await future
    await log.close()
    assert writer.lines[0].decode() == (
        '2026-01-31T10:20:30.4Z AUDIT: id="1" stage="RequestReceived" ip="<unknown>" method="get" user="a" '
        'groups="\\"g\\"" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="/api" '
        'response="<deferred>"\n'
    )


async def test_failed_write_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    writer, metrics = Writer(), Metrics()
    writer.error = OSError(28, "No space left on device")
    writer.allowed.set()
    log = AuditLog(writer, AuditErrors(metrics), mode="blocking-strict")
    future = log.put(EVENT, 1)
    assert future is not None
    assert not await future
    await log.close()
    assert metrics.audit_errors.of("log").value == 1
    assert "No space left on device" in caplog.text


async def test_strict_mode_rejects_requests(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "polykind.audit")
    policy = tmp_path / "policy.yaml"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    settings: dict[str, Any] = {"audit_log_path": "/dev/full", "audit_log_mode": "blocking-strict"}
    async with live(tmp_path, audit_policy_file=policy, **settings) as running:
        reply = await running.client.call("GET", CONFIG_MAPS)
        assert reply.status == 500
        expected = f'Internal Server Error: "{CONFIG_MAPS}": failed to store audit event\n'
        assert reply.body.decode() == expected
        assert running.server.metrics.audit_rejected.of().value == 1


async def test_truncated_event_and_metrics(tmp_path: Path) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    settings: dict[str, Any] = {"audit_log_truncate_enabled": True, "audit_log_truncate_max_event_size": 1000}
    async with live(tmp_path, audit_policy_file=policy, audit_log_path=str(log), **settings) as running:
        large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"x": "y" * 1000}}
        await running.ask("POST", CONFIG_MAPS, large)
        await running.ask("GET", f"{CONFIG_MAPS}/c?{'x' * 1000}")
        page = (await running.ask("GET", "/metrics")).decode()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["verb"] for event in events] == ["create", "get"]
    assert events[0]["annotations"]["audit.k8s.io/truncated"] == "true"
    assert "requestObject" not in events[0]
    assert 'apiserver_audit_error_total{plugin="truncate"} 1.0' in page
    assert "apiserver_audit_event_total 2.0" in page
    assert 'apiserver_audit_level_total{level="Request"} 3.0' in page


async def test_cancelled_and_failed_requests_have_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(POLICY)
    async with live(tmp_path, audit_policy_file=policy, audit_log_path=str(log)) as running:
        started = asyncio.Event()

        async def fail(endpoints: object, request: object) -> None:
            raise ValueError("broken")

        async def wait(endpoints: object, request: object) -> None:
            started.set()
            await asyncio.sleep(60)

        monkeypatch.setattr(Endpoints, "respond", fail)
        assert (await running.client.call("GET", "/version")).status == 500
        monkeypatch.setattr(Endpoints, "respond", wait)
        asking = asyncio.create_task(running.client.call("GET", "/version"))
        await started.wait()
        asking.cancel()
        running.client.close()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["stage"] for event in events] == ["Panic", "ResponseComplete"]
    assert events[0]["responseStatus"]["message"] == "APIServer panic'd: broken"
    assert events[1]["responseStatus"]["code"] == 504
