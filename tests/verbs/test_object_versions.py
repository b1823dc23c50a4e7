"""ObjectVersions: one object at all served versions, for reads and dry runs."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from polykind.verbs import object_versions
from tests.support.live import Live, live
from tests.support.widgets import MERGE

EXAMPLE = Path(__file__).parents[2] / "examples" / "conversions"
ACCEPT = "application/json;as=ObjectVersions;g=polykind.dev;v=v1"
OLD = "/apis/example.com/v1alpha1/namespaces/default/backups"
NEW = "/apis/example.com/v1/namespaces/default/backups"


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Live]:
    """A server with the CRD and the converter of the example, and one object."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "conversions", raising=False)
    async with live(tmp_path, converter=("conversions:backups",)) as running:
        await running.define(yaml.safe_load((EXAMPLE / "crd.yaml").read_text()))
        backup = {
            "apiVersion": "example.com/v1",
            "kind": "Backup",
            "metadata": {"name": "orders"},
            "spec": {"schedule": "0 3 * * *", "bucket": "shop", "path": "db", "timeZone": "Europe/Berlin"},
        }
        await running.ask("POST", NEW, backup, expect=201)
        yield running
        monkeypatch.delitem(sys.modules, "conversions", raising=False)


async def versions(server: Live, method: str, path: str, body: object = None, kind: str = "application/json") -> Any:
    server.client.accept = ACCEPT
    try:
        return await server.ask(method, path, body, kind=kind)
    finally:
        server.client.accept = "application/json"


def specs(document: Any) -> dict[str, Any]:
    return {item["version"]: item["object"]["spec"] for item in document["items"]}


async def test_a_read_has_each_version_as_a_read_at_it(server: Live) -> None:
    document = await versions(server, "GET", f"{NEW}/orders")
    assert (document["apiVersion"], document["kind"]) == ("polykind.dev/v1", "ObjectVersions")
    assert document["storageVersion"] == "v1"
    assert [item["version"] for item in document["items"]] == ["v1alpha1", "v1beta1", "v1"]
    for item in document["items"]:
        path = f"/apis/example.com/{item['version']}/namespaces/default/backups/orders"
        assert item["object"] == await server.ask("GET", path)


async def test_a_dry_run_has_the_result_at_all_versions_and_stores_nothing(server: Live) -> None:
    before = await server.ask("GET", f"{OLD}/orders")
    edited = {**before, "spec": {**before["spec"], "target": "shop/new", "keep": 3, "verbose": True}}
    found = specs(await versions(server, "PUT", f"{OLD}/orders?dryRun=All", edited))
    assert found["v1"] == {
        "bucket": "shop",
        "path": "new",
        "retention": {"count": 3},
        "schedule": "0 3 * * *",
        "timeZone": "Europe/Berlin",
    }
    assert found["v1alpha1"] == {"cron": "0 3 * * *", "keep": 3, "target": "shop/new"}, "verbose is lost in the store"
    assert await server.ask("GET", f"{OLD}/orders") == before
    patched = await versions(server, "PATCH", f"{NEW}/orders?dryRun=All", {"spec": {"path": "x"}}, MERGE)
    assert specs(patched)["v1alpha1"]["target"] == "shop/x"
    unchanged = await versions(server, "PUT", f"{OLD}/orders?dryRun=All", before)
    assert unchanged == await versions(server, "GET", f"{OLD}/orders")


async def test_other_requests_do_not_accept_it(server: Live) -> None:
    obj = await server.ask("GET", f"{OLD}/orders")
    server.client.accept = ACCEPT
    assert (await server.client.call("PUT", f"{OLD}/orders", obj)).status == 406
    assert (await server.client.call("GET", OLD)).status == 406
    assert (await server.client.call("POST", f"{OLD}?dryRun=All", obj)).status == 406
    server.client.accept = "application/json"
    assert await server.ask("GET", f"{OLD}/orders") == obj


async def test_a_version_that_cannot_be_shown_has_an_error(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    first = await server.client.call("GET", f"{OLD}/orders")
    monkeypatch.setattr(object_versions, "_MAX_BYTES", len(first.body) + 20)
    document = await versions(server, "GET", f"{NEW}/orders")
    assert [("object" in item, "error" in item) for item in document["items"]] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert document["items"][1]["error"]["code"] == 413


async def test_one_request_converts_to_a_limited_number_of_versions(
    server: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_versions, "_MAX_VERSIONS", 2)
    document = await versions(server, "GET", f"{NEW}/orders")
    assert ["object" in item for item in document["items"]] == [True, True, False]
    assert "read this one by itself" in document["items"][2]["error"]["message"]
