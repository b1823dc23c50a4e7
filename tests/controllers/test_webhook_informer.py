"""Who is asked about what the server does by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.admission.matcher import GROUP
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
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        running.server.garbage_collector.absent_owner_delay = 0.0
        await running.define(definition())
        yield running


async def test_a_namespace_is_emptied_on_behalf_of_its_controller(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", NAMESPACES, namespace("doomed"))
    await running.ask("POST", WIDGETS.replace("default", "doomed"), widget("a"))
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.stanza()))
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await running.gone(NAMESPACES, "doomed")
    (told,) = hook.requests()
    assert (told["operation"], told.get("name"), told["namespace"]) == ("DELETE", None, "doomed")
    assert told["userInfo"] == {
        "username": "system:serviceaccount:kube-system:namespace-controller",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }
    assert told["options"]["propagationPolicy"] == "Background"


async def test_a_namespace_waits_while_its_emptying_is_refused(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", NAMESPACES, namespace("doomed"))
    await running.ask("POST", WIDGETS.replace("default", "doomed"), widget("a"))
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.stanza()))
    twice = asyncio.Event()

    def refusing(call: Call) -> Reply:
        if len(hook.calls) > 1:
            twice.set()
        return refuse(call)

    hook.behaviour = refusing
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await asyncio.wait_for(twice.wait(), 20)
    assert (await running.ask("GET", f"{NAMESPACES}/doomed"))["status"]["phase"] == "Terminating"
    hook.behaviour = consent
    await running.gone(NAMESPACES, "doomed")


async def test_garbage_is_collected_on_behalf_of_the_collector(running: Live, hook: AdmissionHook) -> None:
    owner = await running.ask("POST", WIDGETS, widget("owner"))
    reference = {"apiVersion": owner["apiVersion"], "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"]}
    await running.ask("POST", WIDGETS, widget("owned", meta={"ownerReferences": [reference]}))
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.stanza()))
    refusals = iter([refuse])
    hook.behaviour = lambda call: (
        next(refusals, consent) if "collector" in call.review["request"]["userInfo"]["username"] else consent
    )(call)
    await running.ask("DELETE", f"{WIDGETS}/owner?propagationPolicy=Background")
    await running.gone(WIDGETS, "owned")
    collected = [told for told in hook.requests() if told["name"] == "owned"]
    assert [told["operation"] for told in collected] == ["DELETE", "DELETE"]
    assert collected[0]["userInfo"]["username"] == "system:serviceaccount:kube-system:generic-garbage-collector"


async def test_nobody_is_asked_about_the_instances_of_a_deleted_definition(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    hook.behaviour = refuse
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.stanza()))
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    await running.gone(DEFINITIONS, NAME)
    assert hook.requests() == []


async def test_what_cannot_be_read_does_not_keep_the_others_from_being_minded(
    running: Live, hook: AdmissionHook, caplog: pytest.LogCaptureFixture
) -> None:
    odd = configuration("Validating", {**hook.stanza(), "objectSelector": {"matchExpressions": [{"operator": "Near"}]}})
    store, prefix = running.server.store, running.server.registry.kind(GROUP, "validatingwebhookconfigurations")
    assert prefix is not None
    await store.put(f"{prefix.cache.prefix}odd", json.dumps(odd).encode(), expect=0)
    assert "admission: cannot decode stored ValidatingWebhookConfiguration odd, ignoring it" in caplog.text
    hook.behaviour = refuse
    await running.ask("POST", CONFIGURED, configuration("Validating", hook.stanza()))
    await running.ask("POST", WIDGETS, widget("a"), expect=403)
