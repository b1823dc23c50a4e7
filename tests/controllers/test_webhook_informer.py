"""Admission webhooks and the requests that the server's controllers make."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.admission.matcher import GROUP
from polykind.controllers.garbage_collector import GarbageCollector
from tests.admission.hooks import CONFIGURATIONS, AdmissionHook, configuration, consent, refuse
from tests.support.hook import Call, Reply
from tests.support.live import DEFINITIONS, Live, live
from tests.support.widgets import NAME, WIDGETS, definition, namespace, widget

NAMESPACES = "/api/v1/namespaces"
CONFIGURED = f"{CONFIGURATIONS}/validatingwebhookconfigurations"


@pytest.fixture
async def hook() -> AsyncIterator[AdmissionHook]:
    async with AdmissionHook() as running:
        yield running


@pytest.fixture
async def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Live]:
    monkeypatch.setattr(GarbageCollector, "absent_owner_delay", 0.0)
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def test_namespace_controller_deletes_as_its_service_account(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", NAMESPACES, namespace("doomed"))
    await running.ask("POST", WIDGETS.replace("default", "doomed"), widget("a"))
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.webhook_config()))
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await running.gone(NAMESPACES, "doomed")
    (request,) = hook.requests()
    assert (request["operation"], request.get("name"), request["namespace"]) == ("DELETE", None, "doomed")
    assert request["userInfo"] == {
        "username": "system:serviceaccount:kube-system:namespace-controller",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }
    assert request["options"]["propagationPolicy"] == "Background"


async def test_namespace_waits_while_a_webhook_rejects_its_deletions(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", NAMESPACES, namespace("doomed"))
    await running.ask("POST", WIDGETS.replace("default", "doomed"), widget("a"))
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.webhook_config()))
    twice = asyncio.Event()

    def refuse_and_count(call: Call) -> Reply:
        if len(hook.calls) > 1:
            twice.set()
        return refuse(call)

    hook.behaviour = refuse_and_count
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await asyncio.wait_for(twice.wait(), 20)
    assert (await running.ask("GET", f"{NAMESPACES}/doomed"))["status"]["phase"] == "Terminating"
    hook.behaviour = consent
    await running.gone(NAMESPACES, "doomed")


async def test_garbage_collector_deletes_as_its_service_account(running: Live, hook: AdmissionHook) -> None:
    owner = await running.ask("POST", WIDGETS, widget("owner"))
    reference = {"apiVersion": owner["apiVersion"], "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"]}
    await running.ask("POST", WIDGETS, widget("owned", meta={"ownerReferences": [reference]}))
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.webhook_config()))
    refuse_once = iter([refuse])
    hook.behaviour = lambda call: (
        next(refuse_once, consent) if "collector" in call.review["request"]["userInfo"]["username"] else consent
    )(call)
    await running.ask("DELETE", f"{WIDGETS}/owner?propagationPolicy=Background")
    await running.gone(WIDGETS, "owned")
    collected = [request for request in hook.requests() if request["name"] == "owned"]
    assert [request["operation"] for request in collected] == ["DELETE", "DELETE"]
    assert collected[0]["userInfo"]["username"] == "system:serviceaccount:kube-system:generic-garbage-collector"


async def test_webhooks_are_not_called_for_the_instances_of_a_deleted_crd(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    hook.behaviour = refuse
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.webhook_config()))
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    await running.gone(DEFINITIONS, NAME)
    assert hook.requests() == []


async def test_invalid_stored_configuration_does_not_affect_others(
    running: Live, hook: AdmissionHook, caplog: pytest.LogCaptureFixture
) -> None:
    invalid = configuration(
        "Validating", {**hook.webhook_config(), "objectSelector": {"matchExpressions": [{"operator": "Near"}]}}
    )
    store, resource = running.server.store, running.server.registry.resource(GROUP, "validatingwebhookconfigurations")
    assert resource is not None
    await store.put(f"{resource.cache.prefix}odd", json.dumps(invalid).encode(), expect=0)
    assert "admission: cannot decode stored ValidatingWebhookConfiguration odd, ignoring it" in caplog.text
    hook.behaviour = refuse
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.webhook_config()))
    await running.ask("POST", WIDGETS, widget("a"), expect=403)
