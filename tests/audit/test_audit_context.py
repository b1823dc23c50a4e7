"""The annotations of an audit event."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from polykind.audit.audit_policy import AuditPolicy
from polykind.audit.auditor import Auditor
from polykind.auth.user import User
from polykind.http.messages import Request
from polykind.metrics.metrics import Metrics
from polykind.operations.responses import Response


class Memory:
    """An audit backend and a clock that a test sets."""

    strict = False

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def put(self, event: bytes, level: int) -> None:
        self.events.append(json.loads(event))

    async def close(self) -> None: ...

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return 0.0


async def audited(memory: Memory, seconds: float, level: str = "Metadata") -> dict[str, str]:
    """Audit a request that takes some time. Return its annotations."""

    async def app(request: Request) -> Response:
        audit = request.notes
        assert audit is not None
        memory.time += timedelta(milliseconds=2)
        await audit.begin(User("ann"), "/version", ["version"])
        audit.track_latency("mutating-webhook", 0.1)
        audit.track_latency("mutating-webhook", 0.25)
        audit.track_latency("validating-webhook", 0.02)
        audit.track_latency("validating-webhook", 0.01)
        audit.annotate_admission("a.example.com/b", "first")
        audit.annotate_admission("a.example.com/b", "second")
        audit.annotate_admission("no-prefix", "x")
        audit.annotate_request_level("patch.example.com/c", "patch")
        memory.time += timedelta(seconds=seconds)
        return Response(200)

    policy = AuditPolicy({"rules": [{"level": level}], "omitStages": ["RequestReceived"]})
    await Auditor(policy, [memory], memory, Metrics()).audit(app)(Request("GET", "/version", "", {}, b""))
    annotations: dict[str, str] = memory.events[-1]["annotations"]
    return annotations


@pytest.mark.parametrize("level", ["Metadata", "Request"])
def test_annotations_of_admission(level: str) -> None:
    found = asyncio.run(audited(Memory(), 0.1, level))
    expected = {"a.example.com/b": "first"}
    assert found == (expected if level == "Metadata" else {**expected, "patch.example.com/c": "patch"})


def test_slow_request_tells_where_the_time_went() -> None:
    found = asyncio.run(audited(Memory(), 1.5))
    prefix = "apiserver.latency.k8s.io/"
    assert {key.removeprefix(prefix): value for key, value in found.items() if key.startswith(prefix)} == {
        "authentication": "2ms",
        "mutating-webhook": "350ms",
        "validating-webhook": "20ms",
        "total": "1.502s",
    }
