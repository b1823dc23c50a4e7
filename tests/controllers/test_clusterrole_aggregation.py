"""Roles that are put together of others follow them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.controllers.clusterrole_aggregation import ClusterRoleAggregationController
from polykind.store.sqlite import SqliteStore
from tests.support.live import PATIENCE, Live, live
from tests.support.observers import owner

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, authorization_mode=("RBAC",)) as running:
        yield running


def rule(resource: str) -> JsonObject:
    return {"verbs": ["get"], "apiGroups": ["example.com"], "resources": [resource]}


def role(name: str, *resources: str, **labels: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": labels}, "rules": [rule(resource) for resource in resources]}


def sum_of(name: str, *selectors: JsonObject, **labels: str) -> JsonObject:
    return {
        "metadata": {"name": name, "labels": labels},
        "aggregationRule": {"clusterRoleSelectors": list(selectors)},
    }


async def settled(running: Live, name: str, *resources: str) -> JsonObject:
    """The role, once it has just the rules for these resources."""

    def wanted(_: str, obj: JsonObject) -> bool:
        return bool(obj["rules"] == [rule(resource) for resource in resources])

    event = await running.until(f"{ROLES}?fieldSelector=metadata.name%3D{name}", wanted)
    found: JsonObject = event["object"]
    return found


async def test_rules_are_those_of_all_that_are_selected_each_once_in_the_order_of_names(running: Live) -> None:
    for part in (
        role("c", "pens", a="1"),
        role("b", "ink", "pens", "ink", a="1"),
        role("a", "paper", b="1"),
        role("x", "no"),
    ):
        await running.ask("POST", ROLES, part)
    await running.ask("POST", ROLES, sum_of("all", {"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "1"}}, a="1"))
    made = await settled(running, "all", "ink", "pens", "paper")
    fields = {e["manager"]: (e["operation"], e["fieldsV1"]) for e in made["metadata"]["managedFields"]}
    assert fields["clusterrole-aggregation-controller"] == ("Apply", {"f:rules": {}})


async def test_it_follows_its_parts_as_they_come_change_and_go(running: Live) -> None:
    await running.ask("POST", ROLES, sum_of("sum", {"matchExpressions": [{"key": "a", "operator": "Exists"}]}))
    await running.ask("POST", ROLES, role("part", "pens", a=""))
    await settled(running, "sum", "pens")
    await running.ask("PATCH", f"{ROLES}/part", {"rules": [rule("ink")]}, kind=MERGE)
    await settled(running, "sum", "ink")
    await running.ask("PATCH", f"{ROLES}/sum", {"rules": [rule("mine")]}, kind=MERGE)
    await settled(running, "sum", "ink")
    await running.ask("DELETE", f"{ROLES}/part")
    found = await running.until(f"{ROLES}?fieldSelector=metadata.name%3Dsum", lambda _, obj: obj["rules"] is None)
    assert "aggregationRule" in found["object"]


async def test_a_sum_may_be_a_part_of_another(running: Live) -> None:
    await running.ask("POST", ROLES, sum_of("outer", {"matchLabels": {"to": "outer"}}))
    await running.ask("POST", ROLES, sum_of("inner", {"matchLabels": {"to": "inner"}}, to="outer"))
    await running.ask("POST", ROLES, role("part", "pens", to="inner"))
    await settled(running, "outer", "pens")


async def test_what_authors_of_custom_resources_label_becomes_a_part_of_the_default_roles(running: Live) -> None:
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    await running.ask("POST", ROLES, role("crontabs", "crontabs", **labels))
    for name in ("view", "edit", "admin"):
        where = f"{ROLES}?fieldSelector=metadata.name%3D{name}"
        await running.until(where, lambda _, obj: rule("crontabs") in (obj["rules"] or ()))


async def test_what_cannot_be_read_is_no_part_of_anything(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "polykind.workqueue")
    store = SqliteStore(tmp_path / "data")
    async with live(tmp_path, store=store, authorization_mode=("RBAC",)) as running:
        await running.ask("POST", ROLES, sum_of("sum", {"matchLabels": {"a": "1"}}))
        for name, value in (("n1", b"nonsense"), ("n2", b'{"metadata":{"name":"n2","labels":7},"rules":[7]}')):
            await store.put(f"/registry/clusterroles/{name}", value, expect=None)
        await running.ask("POST", ROLES, role("part", "pens", a="1"))
        await settled(running, "sum", "pens")
    assert not [record for record in caplog.records if record.name == "polykind.workqueue"]


async def test_only_the_leader_writes(running: Live) -> None:
    class Follower:
        """A leadership that comes late."""

        leading = False
        changed: Any = None

        def subscribe(self, on_change: Any) -> None:
            self.changed = on_change

        async def start(self) -> None: ...

        async def close(self) -> None: ...

    kind = running.server.registry.kind("rbac.authorization.k8s.io", "clusterroles")
    assert kind is not None
    mine = "polykind.controllers.clusterrole_aggregation"
    kind.cache.observers[:] = [one for one in kind.cache.observers if owner(one) != mine]
    leadership = Follower()
    second = ClusterRoleAggregationController(running.server.backend, leadership)
    await second.start()
    await running.ask("POST", ROLES, role("part", "pens", a="1"))
    await running.ask("POST", ROLES, sum_of("sum", {"matchLabels": {"a": "1"}}))
    await asyncio.sleep(0)
    assert (await running.ask("GET", f"{ROLES}/sum"))["rules"] is None
    leadership.leading = True
    leadership.changed(True)
    async with asyncio.timeout(PATIENCE):
        await settled(running, "sum", "pens")
    await second.close()
