"""What there is of each version of a definition, as the server tells it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.live import DEFINITIONS, Live, live
from tests.support.widgets import APPLY, GROUP, MERGE, NAME, WIDGETS, definition, widget

STOCK = f"/polykind/versions/{NAME}"
OTHER = WIDGETS.replace("/v1/", "/v2/")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def stock(running: Live) -> dict[str, Any]:
    told = await running.ask("GET", STOCK)
    assert told["definition"] == NAME
    return {version["name"]: version for version in told["versions"]}


async def test_objects_are_counted_where_they_are_stored_and_managed(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("a", size=2))
    applied = {**widget("b", size=3), "apiVersion": f"{GROUP}/v2"}
    await running.ask("PATCH", f"{OTHER}/b?fieldManager=tests", applied, kind=APPLY)
    found = await stock(running)
    counts = {name: (v["storedObjects"], v["managedObjects"]) for name, v in found.items()}
    assert counts == {"v1": (2, 1), "v2": (0, 1)}
    assert [why.split(":")[0] for why in found["v2"]["hindrances"]] == [
        "1 object, default/b, has field managers at it",
        "1 client has requested it",
    ]


async def test_the_storage_version_and_what_was_stored_before_it(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    crd = definition()
    crd["spec"]["versions"][0]["storage"], crd["spec"]["versions"][1]["storage"] = False, True
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": crd["spec"]}, kind=MERGE)
    await running.ask("POST", WIDGETS, widget("b"))
    found = await stock(running)
    assert (found["v1"]["storage"], found["v1"]["storedObjects"]) == (False, 1)
    assert (found["v2"]["storage"], found["v2"]["storedObjects"]) == (True, 1)
    assert "1 object, default/a, is still stored at it" in found["v1"]["hindrances"][0]


async def test_clients_are_remembered_while_the_definition_changes(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    await running.ask("GET", f"{WIDGETS}/a")
    crd = definition()
    crd["spec"]["versions"][1]["served"] = False
    await running.ask("GET", OTHER)
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", {"spec": crd["spec"]}, kind=MERGE)
    await running.ask("GET", WIDGETS)
    found = await stock(running)
    ((user, reads, writes),) = [(c["user"], c["reads"], c["writes"]) for c in found["v1"]["clients"]]
    assert (user, reads, writes) == ("admin", 2, 1)
    assert [c["reads"] for c in found["v2"]["clients"]] == [1]
    # Nobody can ask for it any more: nothing stands in the way.
    assert found["v2"]["hindrances"] == []


async def test_what_is_gone_is_forgotten(running: Live) -> None:
    await running.ask("GET", WIDGETS)
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    await running.gone(DEFINITIONS, NAME)
    await running.ask("GET", STOCK, expect=404)
    await running.define(definition())
    assert (await stock(running))["v1"]["clients"] == []


@pytest.mark.parametrize(
    "name", ["absent.example.com", "namespaces", "", "customresourcedefinitions.apiextensions.k8s.io"]
)
async def test_only_definitions_have_one(running: Live, name: str) -> None:
    await running.ask("GET", f"/polykind/versions/{name}", expect=404)
