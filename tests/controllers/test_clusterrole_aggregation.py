"""The ClusterRole aggregation controller on a running server."""

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
from tests.support.live import DEADLINE_SECONDS, Live, live
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


def aggregated(name: str, *selectors: JsonObject, **labels: str) -> JsonObject:
    return {
        "metadata": {"name": name, "labels": labels},
        "aggregationRule": {"clusterRoleSelectors": list(selectors)},
    }


async def until_rules(running: Live, name: str, *resources: str) -> JsonObject:
    """Return the role once its rules are exactly those for these resources."""

    def has_rules(_: str, obj: JsonObject) -> bool:
        return bool(obj["rules"] == [rule(resource) for resource in resources])

    event = await running.until(f"{ROLES}?fieldSelector=metadata.name%3D{name}", has_rules)
    found: JsonObject = event["object"]
    return found


async def test_aggregated_rules_are_distinct_and_in_name_order(running: Live) -> None:
    for selected in (
        role("c", "pens", a="1"),
        role("b", "ink", "pens", "ink", a="1"),
        role("a", "paper", b="1"),
        role("x", "no"),
    ):
        await running.ask("POST", ROLES, selected)
    await running.ask("POST", ROLES, aggregated("all", {"matchLabels": {"a": "1"}}, {"matchLabels": {"b": "1"}}, a="1"))
    aggregate = await until_rules(running, "all", "ink", "pens", "paper")
    fields = {e["manager"]: (e["operation"], e["fieldsV1"]) for e in aggregate["metadata"]["managedFields"]}
    assert fields["clusterrole-aggregation-controller"] == ("Apply", {"f:rules": {}})


async def test_aggregated_role_follows_created_changed_and_deleted_roles(running: Live) -> None:
    await running.ask("POST", ROLES, aggregated("sum", {"matchExpressions": [{"key": "a", "operator": "Exists"}]}))
    await running.ask("POST", ROLES, role("part", "pens", a=""))
    await until_rules(running, "sum", "pens")
    await running.ask("PATCH", f"{ROLES}/part", {"rules": [rule("ink")]}, kind=MERGE)
    await until_rules(running, "sum", "ink")
    await running.ask("PATCH", f"{ROLES}/sum", {"rules": [rule("mine")]}, kind=MERGE)
    await until_rules(running, "sum", "ink")
    await running.ask("DELETE", f"{ROLES}/part")
    event = await running.until(f"{ROLES}?fieldSelector=metadata.name%3Dsum", lambda _, obj: obj["rules"] is None)
    assert "aggregationRule" in event["object"]


async def test_aggregated_role_can_select_another_aggregated_role(running: Live) -> None:
    await running.ask("POST", ROLES, aggregated("outer", {"matchLabels": {"to": "outer"}}))
    await running.ask("POST", ROLES, aggregated("inner", {"matchLabels": {"to": "inner"}}, to="outer"))
    await running.ask("POST", ROLES, role("part", "pens", to="inner"))
    await until_rules(running, "outer", "pens")


async def test_labelled_roles_are_aggregated_into_the_default_roles(running: Live) -> None:
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    await running.ask("POST", ROLES, role("crontabs", "crontabs", **labels))
    for name in ("view", "edit", "admin"):
        path = f"{ROLES}?fieldSelector=metadata.name%3D{name}"
        await running.until(path, lambda _, obj: rule("crontabs") in (obj["rules"] or ()))


async def test_undecodable_role_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "polykind.workqueue")
    store = SqliteStore(tmp_path / "data")
    async with live(tmp_path, store=store, authorization_mode=("RBAC",)) as running:
        await running.ask("POST", ROLES, aggregated("sum", {"matchLabels": {"a": "1"}}))
        for name, value in (("n1", b"nonsense"), ("n2", b'{"metadata":{"name":"n2","labels":7},"rules":[7]}')):
            await store.put(f"/registry/clusterroles/{name}", value, expect=None)
        await running.ask("POST", ROLES, role("part", "pens", a="1"))
        await until_rules(running, "sum", "pens")
    assert not [record for record in caplog.records if record.name == "polykind.workqueue"]


async def test_only_the_leader_writes_aggregated_rules(running: Live) -> None:
    class Follower:
        """A replica that becomes the leader later."""

        leading = False
        changed: Any = None

        def subscribe(self, on_change: Any) -> None:
            self.changed = on_change

        async def start(self) -> None: ...

        async def close(self) -> None: ...

    resource = running.server.registry.resource("rbac.authorization.k8s.io", "clusterroles")
    assert resource is not None
    module = "polykind.controllers.clusterrole_aggregation"
    resource.cache.observers[:] = [observer for observer in resource.cache.observers if owner(observer) != module]
    leadership = Follower()
    controller = ClusterRoleAggregationController(running.server.backend, leadership)
    await controller.start()
    await running.ask("POST", ROLES, role("part", "pens", a="1"))
    await running.ask("POST", ROLES, aggregated("sum", {"matchLabels": {"a": "1"}}))
    await asyncio.sleep(0)
    assert (await running.ask("GET", f"{ROLES}/sum"))["rules"] is None
    leadership.leading = True
    leadership.changed(True)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await until_rules(running, "sum", "pens")
    await controller.close()
