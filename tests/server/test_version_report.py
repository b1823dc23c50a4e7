"""The version report at /polykind/versions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.live import DEFINITIONS, Live, live
from tests.support.widgets import APPLY, GROUP, MERGE, NAME, WIDGETS, definition, widget

REPORT = f"/polykind/versions/{NAME}"
OTHER = WIDGETS.replace("/v1/", "/v2/")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def report(running: Live) -> dict[str, Any]:
    document = await running.ask("GET", REPORT)
    assert document["definition"] == NAME
    return {version["name"]: version for version in document["versions"]}


async def test_report_counts_stored_and_managed_objects(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("a", size=2))
    applied = {**widget("b", size=3), "apiVersion": f"{GROUP}/v2"}
    await running.ask("PATCH", f"{OTHER}/b?fieldManager=tests", applied, kind=APPLY)
    versions = await report(running)
    counts = {name: (v["storedObjects"], v["managedObjects"]) for name, v in versions.items()}
    assert counts == {"v1": (2, 1), "v2": (0, 1)}
    assert [blocker.split(":")[0] for blocker in versions["v2"]["hindrances"]] == [
        "1 object, default/b, has field managers at it",
        "1 client has requested it",
    ]


async def test_report_counts_objects_of_a_previous_storage_version(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    crd = definition()
    crd["spec"]["versions"][0]["storage"], crd["spec"]["versions"][1]["storage"] = False, True
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": crd["spec"]}, kind=MERGE)
    await running.ask("POST", WIDGETS, widget("b"))
    versions = await report(running)
    assert (versions["v1"]["storage"], versions["v1"]["storedObjects"]) == (False, 1)
    assert (versions["v2"]["storage"], versions["v2"]["storedObjects"]) == (True, 1)
    assert "1 object, default/a, is still stored at it" in versions["v1"]["hindrances"][0]


async def test_clients_are_kept_when_the_crd_changes(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    await running.ask("GET", f"{WIDGETS}/a")
    crd = definition()
    crd["spec"]["versions"][1]["served"] = False
    await running.ask("GET", OTHER)
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": crd["spec"]}, kind=MERGE)
    await running.ask("GET", WIDGETS)
    versions = await report(running)
    ((user, reads, writes),) = [(c["user"], c["reads"], c["writes"]) for c in versions["v1"]["clients"]]
    assert (user, reads, writes) == ("admin", 2, 1)
    assert [c["reads"] for c in versions["v2"]["clients"]] == [1]
    # No client can request an unserved version, so nothing blocks its removal.
    assert versions["v2"]["hindrances"] == []


async def test_clients_are_dropped_with_the_crd(running: Live) -> None:
    await running.ask("GET", WIDGETS)
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    await running.gone(DEFINITIONS, NAME)
    await running.ask("GET", REPORT, expect=404)
    await running.define(definition())
    assert (await report(running))["v1"]["clients"] == []


@pytest.mark.parametrize(
    "name", ["absent.example.com", "namespaces", "", "customresourcedefinitions.apiextensions.k8s.io"]
)
async def test_only_crds_have_a_report(running: Live, name: str) -> None:
    await running.ask("GET", f"/polykind/versions/{name}", expect=404)
