"""The age of cached conversions, as clients see it, with a webhook that is fixed, restarted or moved."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.resources.custom import CustomResource
from tests.conversion.hook import GROUP, Behaviour, Call, Hook, Reply, converted
from tests.conversion.test_served_conversions import (
    MERGE,
    NAME,
    crd_with,
    create_objects,
    crontab,
    crontabs,
    wait_until,
    webhook,
)
from tests.support.clock import MovableClock
from tests.support.live import DEFINITIONS, Live, live

SERVICE = "/api/v1/namespaces/default/services"


def says(text: str) -> Behaviour:
    """Return a behaviour that writes a text into every object."""

    def change(obj: JsonObject, _: int) -> None:
        obj["spec"] = {**obj["spec"], "said": text}
        obj["metadata"] = {**obj["metadata"], "labels": {"said": text}}

    return lambda call: Reply(json.dumps(converted(call.review, change)).encode())


def gone(_: Call) -> Reply:
    return Reply(b"gone", status=503)


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    async with Hook(behaviour=says("old")) as running:
        yield running


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
async def running(tmp_path: Path, hook: Hook, clock: MovableClock) -> AsyncIterator[Live]:
    async with live(tmp_path, clock=clock, conversion_cache_ttl=300.0) as server:
        await server.define(crd_with(webhook(hook)))
        await server.ask("POST", crontabs("v1"), crontab("one"))
        assert await said(server) == "old"
        hook.calls.clear()
        yield server


def resource_of(server: Live) -> CustomResource:
    resource = server.server.registry.resource(GROUP, "crontabs")
    assert isinstance(resource, CustomResource)
    return resource


async def said(server: Live, name: str = "one") -> str:
    text: str = (await server.ask("GET", crontabs("v2", name)))["spec"]["said"]
    return text


async def said_in_list(server: Live) -> set[str]:
    return {item["spec"]["said"] for item in (await server.ask("GET", crontabs("v2")))["items"]}


async def metric(server: Live, name: str, **labels: str) -> float:
    text = ",".join(f'{key}="{value}"' for key, value in labels.items())
    page = (await server.server.metrics.render()).decode()
    found = [line for line in page.splitlines() if line.startswith(f"{name}{{{text}}} ")]
    return float(found[0].rpartition(" ")[2]) if found else 0.0


# ---------------------------------------------------------------------- age


async def test_conversion_is_used_until_half_of_its_time(running: Live, hook: Hook, clock: MovableClock) -> None:
    hook.behaviour = says("new")
    clock.ahead = 140.0
    assert await said(running) == "old"
    assert not hook.calls


async def test_conversion_is_renewed_in_the_background_when_it_is_read(
    running: Live, hook: Hook, clock: MovableClock
) -> None:
    hook.behaviour = says("new")
    before = await running.ask("GET", crontabs("v2", "one"))
    clock.ahead = 200.0
    assert await said(running) == "old"
    await wait_until(lambda: hook.calls)
    while await said(running) == "old":
        await asyncio.sleep(0)
    assert hook.sizes() == [1]
    after = await running.ask("GET", crontabs("v2", "one"))
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    renewals = "polykind_conversion_cache_renewals_total"
    assert await metric(running, renewals, crd=NAME, result="changed") == 1.0
    clock.ahead = 400.0
    assert await said(running) == "new"
    while not await metric(running, renewals, crd=NAME, result="unchanged"):
        await asyncio.sleep(0)


async def test_conversion_is_not_shown_after_its_time(running: Live, hook: Hook, clock: MovableClock) -> None:
    hook.behaviour = says("new")
    clock.ahead = 301.0
    assert await said(running) == "new"
    assert await said_in_list(running) == {"new"}
    assert hook.sizes() == [1]


async def test_unread_object_is_not_renewed(running: Live, hook: Hook, clock: MovableClock) -> None:
    await create_objects(running, 20)
    await said_in_list(running)
    hook.calls.clear()
    clock.ahead = 200.0
    await running.ask("GET", crontabs("v2", "o00003"))
    await wait_until(lambda: hook.calls)
    clock.ahead = 201.0
    await running.ask("GET", crontabs("v2", "o00003"))
    assert hook.sizes() == [1]


async def test_failed_renewal_keeps_the_conversion_until_its_end(
    running: Live, hook: Hook, clock: MovableClock
) -> None:
    hook.behaviour = gone
    clock.ahead = 200.0
    assert await said(running) == "old"
    while not await metric(running, "polykind_conversion_cache_renewals_total", crd=NAME, result="failed"):
        await asyncio.sleep(0)
    assert await said(running) == "old"
    assert len(hook.calls) == 1, "the next renewal waits for some seconds"
    clock.ahead = 299.0
    assert await said(running) == "old"
    clock.ahead = 301.0
    await running.ask("GET", crontabs("v2", "one"), expect=500)


async def test_renewals_of_a_long_list_are_batches_that_reads_share(
    running: Live, hook: Hook, clock: MovableClock
) -> None:
    await create_objects(running, 1000)
    assert await said_in_list(running) == {"old"}
    hook.calls.clear()
    hook.behaviour = says("new")
    clock.ahead = 200.0
    lists = [running.another() for _ in range(4)]
    assert {reply.status for reply in await asyncio.gather(*(c.call("GET", crontabs("v2")) for c in lists))} == {200}
    while await said_in_list(running) != {"new"}:
        await asyncio.sleep(0)
    assert sum(hook.sizes()) == 1001
    assert len(hook.calls) <= 15
    for client in lists:
        client.close()


async def test_selector_finds_objects_by_their_new_labels(running: Live, hook: Hook, clock: MovableClock) -> None:
    await create_objects(running, 2100)
    selected = crontabs("v2") + "?labelSelector=said%3Dnew"
    assert (await running.ask("GET", selected))["items"] == []
    hook.behaviour = says("new")
    clock.ahead = 301.0
    assert len((await running.ask("GET", selected))["items"]) == 2101


async def test_zero_time_means_no_reuse(tmp_path: Path, hook: Hook) -> None:
    async with live(tmp_path, conversion_cache_ttl=0.0) as server:
        await server.define(crd_with(webhook(hook)))
        await server.ask("POST", crontabs("v1"), crontab("one"))
        for _ in range(3):
            await said(server)
    assert hook.sizes() == [1, 1, 1]


async def test_representations_of_one_call_share_their_time(running: Live) -> None:
    await create_objects(running, 10)
    await said_in_list(running)
    shown: list[Any] = [cached.representation("v2") for cached in resource_of(running).cache.snapshot(None)]
    assert len({id(representation.converted_at) for representation in shown}) == 2


# ---------------------------------------------------------------------- the webhook is replaced


async def test_restarted_webhook_converts_again(running: Live, hook: Hook) -> None:
    await hook.stop()
    await wait_until(resource_of(running).conversions.is_uncertain)
    hook.behaviour = says("new")
    await hook.start()
    assert await said(running) == "new"


async def test_list_after_a_restart_is_converted_again(running: Live, hook: Hook) -> None:
    await create_objects(running, 300)
    assert await said_in_list(running) == {"old"}
    await hook.stop()
    await wait_until(resource_of(running).conversions.is_uncertain)
    hook.behaviour = says("new")
    await hook.start()
    assert await said_in_list(running) == {"new"}


async def test_webhook_that_was_away_has_all_objects_converted_again(
    running: Live, hook: Hook, clock: MovableClock
) -> None:
    """An object that the comparison does not show may have another conversion, too."""
    await running.ask("POST", crontabs("v1"), crontab("two"))
    assert await said(running, "two") == "old"
    await hook.stop()
    await wait_until(resource_of(running).conversions.is_uncertain)
    assert await said(running) == "old", "the conversion is not too old, so an outage does not hide it"
    await hook.start()
    hook.calls.clear()
    clock.ahead = 2.0
    await said(running)
    await said(running, "two")
    assert len(hook.calls) >= 3
    assert await metric(running, "polykind_conversion_cache_drops_total", crd=NAME, reason="replaced") == 1.0


async def test_closed_idle_connection_costs_one_comparison(running: Live, hook: Hook) -> None:
    await create_objects(running, 300)
    await said_in_list(running)
    hook.calls.clear()
    hook.disconnect()
    await wait_until(resource_of(running).conversions.is_uncertain)
    assert await said_in_list(running) == {"old"}
    assert await said_in_list(running) == {"old"}
    assert hook.sizes() == [100]


async def test_new_certificate_drops_conversions(running: Live, hook: Hook) -> None:
    hook.certificate = None
    await hook.stop()
    await wait_until(resource_of(running).conversions.is_uncertain)
    await hook.start()
    await said(running)
    assert await metric(running, "polykind_conversion_cache_drops_total", crd=NAME, reason="replaced") == 1.0


async def test_hanging_webhook_delays_a_read_only_for_a_moment(running: Live, hook: Hook) -> None:
    async def hang(_: Call) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    hook.behaviour = hang
    hook.disconnect()
    await wait_until(resource_of(running).conversions.is_uncertain)
    async with asyncio.timeout(10.0):
        assert await said(running) == "old"


@pytest.mark.parametrize("change", ["service", "slice"])
async def test_change_of_the_service_drops_conversions(
    tmp_path: Path, hook: Hook, clock: MovableClock, change: str
) -> None:
    async with Hook("conv.default.svc", behaviour=says("old")) as hook:
        resolve = (f"default/conv=127.0.0.1:{hook.port}",)
        async with live(tmp_path, clock=clock, resolve=resolve) as server:
            conversion = webhook(hook)
            client = conversion["webhook"]["clientConfig"]
            del client["url"]
            client["service"] = {"namespace": "default", "name": "conv"}
            service = {"metadata": {"name": "conv"}, "spec": {"ports": [{"port": 443}]}}
            await server.ask("POST", SERVICE, service)
            await server.define(crd_with(conversion))
            await server.ask("POST", crontabs("v1"), crontab("one"))
            assert await said(server) == "old"
            hook.behaviour = says("new")
            assert await said(server) == "old"
            if change == "service":
                await server.ask("PATCH", f"{SERVICE}/conv", {"spec": {"type": "NodePort"}}, kind=MERGE)
            else:
                labels = {"kubernetes.io/service-name": "conv"}
                endpoints = {"metadata": {"name": "conv-1", "labels": labels}, "addressType": "IPv4", "endpoints": []}
                path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
                await server.ask("POST", path, endpoints)
            assert await said(server) == "new"


async def test_other_webhook_of_the_crd_converts_again(running: Live, hook: Hook) -> None:
    async with Hook(behaviour=says("new")) as other:
        assert await said(running) == "old"
        conversion = {"spec": {"conversion": webhook(other)}}
        await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", conversion, kind=MERGE)
        assert await said(running) == "new"
    assert not hook.calls


# ---------------------------------------------------------------------- on request


async def test_annotation_of_the_crd_drops_conversions(running: Live, hook: Hook) -> None:
    hook.behaviour = says("new")
    assert await said(running) == "old"
    annotated = {"metadata": {"annotations": {"polykind.dev/conversions-refreshed-at": "now"}}}
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", annotated, kind=MERGE)
    assert await said(running) == "new"
    assert await metric(running, "polykind_conversion_cache_drops_total", crd=NAME, reason="requested") == 1.0


async def test_migration_stores_no_cached_conversion(running: Live, hook: Hook) -> None:
    hook.behaviour = says("new")
    moved = crd_with(webhook(hook))["spec"]["versions"]
    for entry in moved:
        entry["storage"] = entry["name"] == "v2"
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": {"versions": moved}}, kind=MERGE)
    hook.behaviour = says("old")
    assert await said(running) == "old"
    hook.behaviour = says("new")
    migration = {"metadata": {"name": "m"}, "spec": {"resource": {"group": GROUP, "resource": "crontabs"}}}
    path = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
    await running.ask("POST", path, migration)

    def succeeded(_: str, obj: JsonObject) -> bool:
        conditions = obj.get("status", {}).get("conditions", [])
        return any(c["type"] == "Succeeded" and c["status"] == "True" for c in conditions)

    await running.until(path, succeeded)
    assert await said(running) == "new"
