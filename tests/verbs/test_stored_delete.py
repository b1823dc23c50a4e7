"""Deletes while a real conversion webhook is down, on a server with --conversion-fallback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.conversion.hook import Call, Hook, Reply, convert_all
from tests.conversion.test_served_conversions import crd_with, crontab, crontabs, webhook
from tests.support.live import DEFINITIONS, Live, live
from tests.support.widgets import MERGE


def down(call: Call) -> Reply:
    return Reply(b"", status=502)


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook(behaviour=down) as running:
        yield running


@pytest.fixture
async def running(tmp_path: Path, hook: Hook) -> AsyncIterator[Live]:
    async with live(tmp_path, conversion_fallback=True) as server:
        await server.define(crd_with(webhook(hook)))
        yield server


async def test_object_without_finalizers_is_removed(running: Live) -> None:
    created = await running.ask("POST", crontabs("v1"), crontab("one"))
    status = await running.ask("DELETE", crontabs("v2", "one"))
    assert (status["status"], status["details"]["uid"]) == ("Success", created["metadata"]["uid"])
    await running.ask("GET", crontabs("v1", "one"), expect=404)


async def test_finalizers_keep_the_object(running: Live) -> None:
    held = crontab("one")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await running.ask("POST", crontabs("v1"), held)
    reply = await running.client.call("DELETE", crontabs("v2", "one"))
    assert (reply.status, json.loads(reply.body)["kind"]) == (202, "Status")
    assert b"finalizers keep it" in reply.headers[b"warning"]
    kept = await running.ask("GET", crontabs("v1", "one"))
    assert kept["metadata"]["deletionTimestamp"]
    assert kept["spec"] == held["spec"]


async def test_preconditions_are_checked(running: Live) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one"))
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "another"}}
    await running.ask("DELETE", crontabs("v2", "one"), options, expect=409)
    await running.ask("GET", crontabs("v1", "one"))


async def test_deletecollection_fails_as_before(running: Live) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one"))
    await running.ask("DELETE", crontabs("v2"), expect=500)
    await running.ask("GET", crontabs("v1", "one"))


async def test_policies_of_admission_must_see_the_object(running: Live) -> None:
    await running.ask("POST", crontabs("v1"), crontab("one"))
    rules = {"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["crontabs"]}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "keep"},
        "spec": {
            "matchConstraints": {"resourceRules": [rules]},
            "validations": [{"expression": "true"}],
        },
    }
    await running.ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", policy)
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "keep"},
        "spec": {"policyName": "keep", "validationActions": ["Deny"]},
    }
    await running.ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", binding)
    await running.ask("DELETE", crontabs("v2", "one"), expect=500)


# ---------------------------------------------------------------------- without a fallback


def stored_at(version: str, conversion: JsonObject | None) -> JsonObject:
    crd = crd_with(conversion)
    for entry in crd["spec"]["versions"]:
        entry["storage"] = entry["name"] == version
    return crd


async def test_object_that_cannot_be_converted_to_the_storage_version_stays(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path) as running:
        await running.define(stored_at("v1", None))
        await running.ask("POST", crontabs("v1"), crontab("old"))
        crd = f"{DEFINITIONS}/crontabs.example.com"
        await running.ask("PATCH", crd, {"spec": stored_at("v2", webhook(hook))["spec"]}, kind=MERGE)
        for options in ("", "?gracePeriodSeconds=0", "?propagationPolicy=Foreground"):
            refused = await running.ask("DELETE", f"{crontabs('v1', 'old')}{options}", expect=500)
            assert refused["message"].startswith("conversion webhook for example.com/v1, Kind=CronTab failed")
        await running.ask("DELETE", crontabs("v1"), expect=500)
        await running.ask("DELETE", f"{crontabs('v1', 'old')}?dryRun=All")
        await running.ask("GET", crontabs("v1", "old"))
        hook.behaviour = convert_all
        await running.ask("DELETE", crontabs("v1", "old"))
        await running.ask("GET", crontabs("v1", "old"), expect=404)
