"""The converters of CRDs: the ConversionHealthy condition, and the replacement of converters."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.conversion.hook import Call, Hook, Reply, convert_all, converted, failing
from tests.support.live import DEFINITIONS, Live, live

GROUP = "example.com"
NAME = f"crontabs.{GROUP}"
MERGE = "application/merge-patch+json"


def definition(conversion: JsonObject) -> JsonObject:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": v, "served": True, "storage": v == "v1", "schema": schema} for v in ("v1", "v2")]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": "crontabs", "kind": "CronTab"},
            "versions": versions,
            "conversion": conversion,
        },
    }


def webhook(hook: Hook) -> JsonObject:
    return {"strategy": "Webhook", "webhook": hook.webhook_config()}


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook() as running:
        yield running


@pytest.fixture
async def running(tmp_path: Path, hook: Hook) -> AsyncIterator[Live]:
    async with live(tmp_path, conversion_cache=False) as server:
        server.server.crds.converters.write_interval = 0.0
        await server.define(definition(webhook(hook)))
        await server.ask("POST", f"/apis/{GROUP}/v1/crontabs", obj())
        yield server


def obj() -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1", "kind": "CronTab", "metadata": {"name": "one"}, "spec": {"a": 1}}


def health_condition(crd: JsonObject) -> JsonObject | None:
    condition: list[JsonObject] = [c for c in crd["status"]["conditions"] if c["type"] == "ConversionHealthy"]
    return condition[0] if condition else None


def broken(_: Call) -> Reply:
    return Reply(b"out of order", status=500, headers={"Content-Type": "text/plain"})


async def converts(server: Live, status: int = 200) -> None:
    await server.ask("GET", f"/apis/{GROUP}/v2/crontabs/one", expect=status)


async def until(server: Live, status: str | None) -> JsonObject:
    def has_status(_: str, crd: JsonObject) -> bool:
        condition = health_condition(crd)
        return (condition["status"] if condition else None) == status

    event = await server.until(f"{DEFINITIONS}?fieldSelector=metadata.name={NAME}", has_status)
    condition: JsonObject = event["object"]
    return condition


async def revision(server: Live) -> str:
    return str((await server.ask("GET", f"{DEFINITIONS}/{NAME}"))["metadata"]["resourceVersion"])


async def test_working_converter_has_no_condition(running: Live) -> None:
    before = await revision(running)
    for _ in range(5):
        await converts(running)
    assert health_condition(await running.ask("GET", f"{DEFINITIONS}/{NAME}")) is None
    assert await revision(running) == before


async def test_failure_and_recovery_are_each_written_once(running: Live, hook: Hook) -> None:
    hook.behaviour = broken
    for _ in range(3):
        await converts(running, 500)
    condition = health_condition(await until(running, "False")) or {}
    assert condition["reason"] == "HTTPError"
    assert condition["message"].startswith(
        "the last 3 conversions failed, no call has succeeded yet: conversion webhook"
    )
    reported_at = await revision(running)
    for _ in range(10):
        await converts(running, 500)
    assert await revision(running) == reported_at
    hook.behaviour = convert_all
    await converts(running)
    condition = health_condition(await until(running, "True")) or {}
    assert condition["reason"] == "Converting"
    assert condition["message"].startswith("conversions succeed, the converter's certificate ends at ")
    reported_at = await revision(running)
    for _ in range(3):
        await converts(running)
    assert await revision(running) == reported_at


async def test_repaired_answers_are_reported(running: Live, hook: Hook) -> None:
    def reversing(call: Call) -> Reply:
        answer = converted(call.review)
        answer["response"]["convertedObjects"].reverse()
        return Reply(json.dumps(answer).encode())

    hook.behaviour = reversing
    await running.ask("POST", f"/apis/{GROUP}/v1/crontabs", {**obj(), "metadata": {"name": "two"}})
    listed = await running.ask("GET", f"/apis/{GROUP}/v2/crontabs")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["one", "two"]
    condition = health_condition(await until(running, "True")) or {}
    assert condition["reason"] == "AnswersRepaired"
    assert "a review of 2 objects failed: conversion webhook" in condition["message"]


async def test_errors_on_watches_name_object_versions_and_address(running: Live, hook: Hook) -> None:
    hook.behaviour = broken
    event = await running.until(f"/apis/{GROUP}/v2/crontabs", lambda kind, _: kind == "ERROR")
    message = event["object"]["message"]
    assert "; conversion from version v1 to version v2 for one (uid " in message
    assert f"while calling {hook.url} (review {hook.calls[-1].review['request']['uid']})" in message


@pytest.mark.parametrize("resolved", [False, True])
async def test_webhook_behind_an_unknown_service_is_warned_about(tmp_path: Path, hook: Hook, resolved: bool) -> None:
    conversion = webhook(hook)
    conversion["webhook"]["clientConfig"] = {"service": {"namespace": "shop", "name": "nope"}}
    resolve = ("shop/nope=127.0.0.1:1",) if resolved else ()
    async with live(tmp_path, resolve=resolve) as server:
        reply = await server.client.call("POST", DEFINITIONS, definition(conversion))
        assert reply.status == 201
        warning = reply.headers.get(b"warning", b"").decode()
        assert ("--resolve shop/nope=HOST:PORT" in warning) is not resolved
        await server.ask("POST", f"/apis/{GROUP}/v1/crontabs", obj())
        failed = await server.ask("GET", f"/apis/{GROUP}/v2/crontabs/one", expect=500)
        assert ('service \\"nope\\" not found' in json.dumps(failed)) is not resolved


async def test_condition_is_removed_with_the_webhook(running: Live, hook: Hook) -> None:
    hook.behaviour = broken
    for _ in range(3):
        await converts(running, 500)
    await until(running, "False")
    patch = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", patch, kind=MERGE)
    await until(running, None)
    await converts(running)


async def test_expiring_certificate_is_reported(tmp_path: Path) -> None:
    hook = Hook()
    hook.not_after = datetime.now(UTC) + timedelta(days=3)
    async with hook, live(tmp_path, conversion_cache=False) as server:
        await server.define(definition(webhook(hook)))
        await server.ask("POST", f"/apis/{GROUP}/v1/crontabs", obj())
        await converts(server)
        condition = health_condition(await until(server, "True")) or {}
    assert condition["reason"] == "CertificateExpires"
    assert condition["message"].endswith(": renew it")


async def test_flapping_is_written_at_most_once_per_interval(running: Live, hook: Hook) -> None:
    running.server.crds.converters.write_interval = 3600.0
    hook.behaviour = broken
    for _ in range(3):
        await converts(running, 500)
    await until(running, "False")
    reported_at = await revision(running)
    for _ in range(3):
        hook.behaviour = convert_all
        await converts(running)
        hook.behaviour = broken
        for _ in range(3):
            await converts(running, 500)
    assert await revision(running) == reported_at


async def test_replaced_converter_is_closed(running: Live, hook: Hook) -> None:
    await converts(running)
    closed: list[Any] = []
    converter = running.server.crds.converters._converters[NAME]
    close = converter.close

    async def close_and_record() -> None:
        await close()
        closed.append(converter)

    converter.close = close_and_record  # type: ignore[method-assign]
    async with Hook() as other:
        patch = {"spec": {"conversion": webhook(other)}}
        await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", patch, kind=MERGE)
        await converts(running)
        assert len(other.calls) == 1
        assert closed == [converter]
        assert hook.sizes() == [1]


async def test_invalid_ca_bundle_makes_the_resource_unavailable(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path) as server:
        conversion = {"strategy": "Webhook", "webhook": hook.webhook_config(caBundle="bm9uc2Vuc2U=")}
        await server.define(definition(conversion))
        for version in ("v1", "v2"):
            error = await server.ask("GET", f"/apis/{GROUP}/{version}/crontabs", expect=500)
            assert error["message"] == "Internal error occurred: error resolving resource"
        fixed = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": hook.bundle}}}}}
        await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", fixed, kind=MERGE)
        assert (await server.ask("GET", f"/apis/{GROUP}/v1/crontabs"))["items"] == []


async def test_crd_deletion_keeps_all_instances_while_one_cannot_be_converted(running: Live, hook: Hook) -> None:
    versions = [version | {"storage": version["name"] == "v2"} for version in definition({})["spec"]["versions"]]
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": {"versions": versions}}, kind=MERGE)
    new = {"apiVersion": f"{GROUP}/v2", "kind": "CronTab", "metadata": {"name": "new"}}
    await running.ask("POST", f"/apis/{GROUP}/v2/crontabs", new)
    hook.behaviour = failing({"one"}, "out of order")
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    reported_at = f"could not list instances: conversion webhook for {GROUP}/v1, Kind=CronTab failed: out of order"
    await running.until(
        DEFINITIONS, lambda _, crd: any(c["message"] == reported_at for c in crd["status"]["conditions"])
    )
    await running.ask("GET", f"/apis/{GROUP}/v2/crontabs/new")
