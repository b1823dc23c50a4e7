"""The audit webhook against a real HTTPS endpoint that is slow, fails and recovers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml

from tests.support.hook import Call, Hook, Reply
from tests.support.live import live
from tests.support.waiting import eventually_async

POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, omitStages: [RequestReceived]}]\n"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def settings(folder: Path, url: str, bundle: str, **others: Any) -> dict[str, Any]:
    (folder / "policy.yaml").write_text(POLICY)
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": {"server": f"{url}/audit", "certificate-authority-data": bundle}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (folder / "webhook.kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    return {
        "audit_policy_file": folder / "policy.yaml",
        "audit_webhook_config_file": folder / "webhook.kubeconfig",
        "audit_webhook_initial_backoff": 0.02,
        "audit_webhook_batch_max_wait": 0.02,
        "audit_webhook_batch_throttle_enable": False,
        **others,
    }


def uris(hook: Hook) -> list[str]:
    return [event["requestURI"] for call in hook.calls for event in call.review["items"]]


async def test_slow_webhook_does_not_delay_requests(tmp_path: Path) -> None:
    released = asyncio.Event()

    async def slow(call: Call) -> Reply:
        await released.wait()
        return Reply()

    async with Hook(behaviour=slow) as hook:
        async with live(tmp_path, **settings(tmp_path, hook.url, hook.bundle)) as running:
            for number in range(20):
                await running.ask("GET", f"{CONFIG_MAPS}?n={number}")
            # All requests were served although the webhook has not responded yet.
            released.set()
        assert sorted(uris(hook)) == sorted(f"{CONFIG_MAPS}?n={number}" for number in range(20))
        call = hook.calls[0]
        assert (call.path, call.headers["Authorization"]) == ("/audit", "Bearer secret")
        assert (call.review["kind"], call.review["apiVersion"]) == ("EventList", "audit.k8s.io/v1")


async def test_failing_webhook_gets_all_events_when_it_recovers(tmp_path: Path) -> None:
    replies = [Reply(status=500), Reply(raw=b"", then_close=True), Reply(b"{}")]
    async with Hook(behaviour=lambda call: replies.pop(0) if len(replies) > 1 else replies[0]) as hook:
        async with live(tmp_path, **settings(tmp_path, hook.url, hook.bundle)) as running:
            await running.ask("GET", f"{CONFIG_MAPS}?n=1")
            await eventually_async(lambda: len(hook.calls) >= 3)
            metrics = running.server.metrics
        assert uris(hook) == [f"{CONFIG_MAPS}?n=1"] * 3
        assert metrics.audit_errors.of("webhook").value == 0


async def test_lost_events_are_counted(tmp_path: Path) -> None:
    async with Hook(behaviour=lambda call: Reply(status=503)) as hook:
        options = settings(tmp_path, hook.url, hook.bundle, audit_webhook_batch_max_size=2)
        async with live(tmp_path, **options) as running:
            for number in range(3):
                await running.ask("GET", f"{CONFIG_MAPS}?n={number}")
            metrics = running.server.metrics
        assert metrics.audit_errors.of("webhook").value == 3
        assert max(len(call.review["items"]) for call in hook.calls) == 2
        # Each event was sent five times.
        assert len(uris(hook)) == 15


async def test_full_buffer_is_counted(tmp_path: Path) -> None:
    async with Hook(behaviour=lambda call: Reply()) as hook:
        options = settings(
            tmp_path, hook.url, hook.bundle, audit_webhook_batch_buffer_size=2, audit_webhook_batch_max_wait=600.0
        )
        async with live(tmp_path, **options) as running:
            for number in range(5):
                await running.ask("GET", f"{CONFIG_MAPS}?n={number}")
            metrics = running.server.metrics
            assert metrics.audit_errors.of("buffered").value == 3
        # The server sends the remaining events when it stops.
        assert len(uris(hook)) == 2


async def test_blocking_mode_sends_before_the_response(tmp_path: Path) -> None:
    async with Hook(behaviour=lambda call: Reply()) as hook:
        options = settings(tmp_path, hook.url, hook.bundle, audit_webhook_mode="blocking")
        async with live(tmp_path, **options) as running:
            await running.ask("GET", CONFIG_MAPS)
            assert uris(hook) == [CONFIG_MAPS]
