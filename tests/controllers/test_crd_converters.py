"""A converter's health is told in its definition's status when it changes; converters that are replaced are closed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.conversion.hook import Call, Hook, Reply, convert_all, failing
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
    return {"strategy": "Webhook", "webhook": hook.stanza()}


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


def health(crd: JsonObject) -> JsonObject | None:
    found: list[JsonObject] = [c for c in crd["status"]["conditions"] if c["type"] == "ConversionHealthy"]
    return found[0] if found else None


def broken(_: Call) -> Reply:
    return Reply(b"out of order", status=500, headers={"Content-Type": "text/plain"})


async def converts(server: Live, status: int = 200) -> None:
    await server.ask("GET", f"/apis/{GROUP}/v2/crontabs/one", expect=status)


async def until(server: Live, status: str | None) -> JsonObject:
    def says(_: str, crd: JsonObject) -> bool:
        found = health(crd)
        return (found["status"] if found else None) == status

    event = await server.until(f"{DEFINITIONS}?fieldSelector=metadata.name={NAME}", says)
    found: JsonObject = event["object"]
    return found


async def revision(server: Live) -> str:
    return str((await server.ask("GET", f"{DEFINITIONS}/{NAME}"))["metadata"]["resourceVersion"])


async def test_a_converter_that_works_is_not_talked_about(running: Live) -> None:
    before = await revision(running)
    for _ in range(5):
        await converts(running)
    assert health(await running.ask("GET", f"{DEFINITIONS}/{NAME}")) is None
    assert await revision(running) == before


async def test_trouble_is_told_once_and_so_is_its_end(running: Live, hook: Hook) -> None:
    hook.behaviour = broken
    for _ in range(3):
        await converts(running, 500)
    found = health(await until(running, "False")) or {}
    assert found["reason"] == "HTTPError"
    assert found["message"].startswith("the last 3 conversions failed, no call has succeeded yet: conversion webhook")
    told = await revision(running)
    for _ in range(10):
        await converts(running, 500)
    assert await revision(running) == told
    hook.behaviour = convert_all
    await converts(running)
    found = health(await until(running, "True")) or {}
    assert found["reason"] == "Converting"
    assert found["message"].startswith("conversions succeed, the converter's certificate ends at ")
    told = await revision(running)
    for _ in range(3):
        await converts(running)
    assert await revision(running) == told


async def test_without_a_converter_nothing_is_said_of_its_health(running: Live, hook: Hook) -> None:
    hook.behaviour = broken
    for _ in range(3):
        await converts(running, 500)
    await until(running, "False")
    patch = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", patch, kind=MERGE)
    await until(running, None)
    await converts(running)


async def test_a_certificate_that_ends_soon_is_told(tmp_path: Path) -> None:
    hook = Hook()
    hook.not_after = datetime.now(UTC) + timedelta(days=3)
    async with hook, live(tmp_path, conversion_cache=False) as server:
        await server.define(definition(webhook(hook)))
        await server.ask("POST", f"/apis/{GROUP}/v1/crontabs", obj())
        await converts(server)
        found = health(await until(server, "True")) or {}
    assert found["reason"] == "CertificateExpires"
    assert found["message"].endswith(": renew it")


async def test_flapping_is_told_at_most_once_in_a_while(running: Live, hook: Hook) -> None:
    running.server.crds.converters.write_interval = 3600.0
    hook.behaviour = broken
    for _ in range(3):
        await converts(running, 500)
    await until(running, "False")
    told = await revision(running)
    for _ in range(3):
        hook.behaviour = convert_all
        await converts(running)
        hook.behaviour = broken
        for _ in range(3):
            await converts(running, 500)
    assert await revision(running) == told


async def test_a_converter_that_is_replaced_is_closed(running: Live, hook: Hook) -> None:
    await converts(running)
    closed: list[Any] = []
    gate = running.server.crds.converters._converters[NAME]
    close = gate.close

    async def noticed() -> None:
        await close()
        closed.append(gate)

    gate.close = noticed  # type: ignore[method-assign]
    async with Hook() as other:
        patch = {"spec": {"conversion": webhook(other)}}
        await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", patch, kind=MERGE)
        await converts(running)
        assert len(other.calls) == 1
        assert closed == [gate]
        assert hook.sizes() == [1]


async def test_nothing_is_served_while_the_certificates_to_trust_cannot_be_read(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path) as server:
        conversion = {"strategy": "Webhook", "webhook": hook.stanza(caBundle="bm9uc2Vuc2U=")}
        await server.define(definition(conversion))
        for version in ("v1", "v2"):
            refusal = await server.ask("GET", f"/apis/{GROUP}/{version}/crontabs", expect=500)
            assert refusal["message"] == "Internal error occurred: error resolving resource"
        mended = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": hook.bundle}}}}}
        await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", mended, kind=MERGE)
        assert (await server.ask("GET", f"/apis/{GROUP}/v1/crontabs"))["items"] == []


async def test_no_instance_goes_with_its_definition_before_all_can_be_read(running: Live, hook: Hook) -> None:
    moved = [version | {"storage": version["name"] == "v2"} for version in definition({})["spec"]["versions"]]
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": {"versions": moved}}, kind=MERGE)
    new = {"apiVersion": f"{GROUP}/v2", "kind": "CronTab", "metadata": {"name": "new"}}
    await running.ask("POST", f"/apis/{GROUP}/v2/crontabs", new)
    hook.behaviour = failing({"one"}, "out of order")
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    told = f"could not list instances: conversion webhook for {GROUP}/v1, Kind=CronTab failed: out of order"
    await running.until(DEFINITIONS, lambda _, crd: any(c["message"] == told for c in crd["status"]["conditions"]))
    await running.ask("GET", f"/apis/{GROUP}/v2/crontabs/new")
