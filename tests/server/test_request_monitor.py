"""The request monitor on a running server: metrics and the debug log."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from polykind.conversion.conversion_observer import ConversionTimer, add_conversion_time
from tests.support.crontabs import crontab, definition
from tests.support.live import DEFINITIONS, Live, live

GROUP = "monitor.example.com"
CRONTABS = f"/apis/{GROUP}/v1/namespaces/default/crontabs"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as watches:
        await watches.define(definition(GROUP))
        yield watches


async def scrape(server: Live) -> dict[str, float]:
    page = (await server.ask("GET", "/metrics")).decode()
    return {name: float(value) for name, value in re.findall(r"^([a-z].*) (\S+)$", page, re.M)}


def series(name: str, **labels: str) -> str:
    defaults = {
        "component": "apiserver",
        "dry_run": "",
        "group": GROUP,
        "resource": "crontabs",
        "scope": "resource",
        "subresource": "",
        "version": "v1",
    }
    pairs = ",".join(f'{k}="{v}"' for k, v in sorted({**defaults, **labels}.items()))
    return f"{name}{{{pairs}}}"


async def test_requests_are_counted_by_verb_scope_and_code(server: Live) -> None:
    await server.ask("POST", CRONTABS, crontab(GROUP))
    await server.ask("POST", f"{CRONTABS}?dryRun=All", crontab(GROUP, "dry"))
    for _ in range(3):
        await server.ask("GET", f"{CRONTABS}/my-crontab")
    await server.ask("GET", f"{CRONTABS}/none", expect=404)
    await server.ask("GET", CRONTABS)
    await server.ask("GET", f"/apis/{GROUP}/v1/crontabs")
    await server.ask("GET", f"{CRONTABS}/my-crontab/status")
    await server.ask("GET", f"{CRONTABS}/my-crontab/nonsense", expect=404)
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    await server.ask("PATCH", f"{CRONTABS}/my-crontab", {"spec": {"replicas": 2}}, kind=merge)
    await server.ask("PATCH", f"{CRONTABS}/my-crontab?fieldManager=me&force=true", crontab(GROUP), kind=apply)
    await server.ask("DELETE", f"{CRONTABS}/my-crontab")
    await server.ask("DELETE", CRONTABS)
    samples = await scrape(server)
    total = "apiserver_request_total"
    assert samples[series(total, verb="POST", scope="namespace", code="201")] == 1
    assert samples[series(total, verb="POST", scope="namespace", code="201", dry_run="All")] == 1
    assert samples[series(total, verb="GET", code="200")] == 3
    assert samples[series(total, verb="GET", code="404")] == 1
    assert samples[series(total, verb="LIST", scope="namespace", code="200")] == 1
    assert samples[series(total, verb="LIST", scope="cluster", code="200")] == 1
    assert samples[series(total, verb="GET", subresource="status", code="200")] == 1
    assert samples[series(total, verb="other", subresource="other", code="404")] == 1
    assert samples[series(total, verb="PATCH", code="200")] == 1
    assert samples[series(total, verb="APPLY", code="200")] == 1
    assert samples[series(total, verb="DELETE", code="200")] == 1
    assert samples[series(total, verb="DELETECOLLECTION", scope="namespace", code="200")] == 1
    assert samples[series("apiserver_request_duration_seconds_count", verb="GET")] == 4
    assert 0 < samples[series("apiserver_request_duration_seconds_sum", verb="GET")] < 5


async def test_active_watches_are_counted_as_longrunning(server: Live) -> None:
    await server.ask("POST", CRONTABS, crontab(GROUP))
    async for event in server.watch(f"{CRONTABS}?watch=1"):
        assert event["type"] == "ADDED"
        samples = await scrape(server)
        break
    watches = [v for k, v in samples.items() if k.startswith("apiserver_longrunning_requests{") and 'verb="WATCH"' in k]
    assert watches == [1]
    assert samples['apiserver_current_inflight_requests{request_kind="readOnly"}'] == 0
    assert samples['apiserver_current_inflight_requests{request_kind="mutating"}'] == 0


async def test_stored_object_counts_are_dropped_with_the_crd(server: Live) -> None:
    for name in ("one", "two"):
        await server.ask("POST", CRONTABS, crontab(GROUP, name))
    samples = await scrape(server)
    assert samples[f'apiserver_storage_objects{{resource="crontabs.{GROUP}"}}'] == 2
    assert samples[f'apiserver_resource_objects{{group="{GROUP}",resource="crontabs"}}'] == 2
    await server.ask("DELETE", f"{DEFINITIONS}/crontabs.{GROUP}")
    await server.gone(DEFINITIONS, f"crontabs.{GROUP}")
    assert not [name for name in await scrape(server) if GROUP in name]


async def test_endpoints_are_counted_by_their_first_path_segment(server: Live) -> None:
    await server.ask("GET", "/readyz")
    await server.ask("GET", "/nowhere", expect=404)
    samples = await scrape(server)
    kind: JsonObject = {"group": "", "resource": "", "version": "", "scope": "", "verb": "GET", "code": "200"}
    assert samples[series("apiserver_request_total", **{**kind, "subresource": "/readyz"})] >= 1
    assert not [name for name in samples if "nowhere" in name]


async def test_debug_log_has_a_line_for_each_request(server: Live, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "polykind.requests")
    await server.ask("GET", CRONTABS)
    assert not caplog.records
    caplog.set_level(logging.DEBUG, "polykind.requests")
    await server.ask("GET", f"{CRONTABS}?limit=1")
    line = caplog.records[-1].getMessage()
    assert re.fullmatch(rf"\S+ LIST {CRONTABS}\?limit=1 200 0\.\d{{6}}s admin", line), line


async def test_conversion_time_of_a_request_is_summed_across_suspensions() -> None:
    async def request() -> str:
        add_conversion_time(1.0)
        await asyncio.sleep(0)
        add_conversion_time(2.0)
        return "done"

    timer = ConversionTimer(request())
    add_conversion_time(100.0)
    assert await timer == "done"
    assert timer.time.seconds == 3.0
