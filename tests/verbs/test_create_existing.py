"""Creates of existing objects, which are read at the request's version."""

from __future__ import annotations

from pathlib import Path

from tests.conversion.hook import Hook, convert_all
from tests.support.hook import Call, Reply
from tests.support.live import Live, live
from tests.support.widgets import GROUP, MERGE, WIDGETS, definition, widget

V2 = WIDGETS.replace("/v1/", "/v2/")


async def test_create_converts_the_existing_object_to_see_if_it_is_terminating(tmp_path: Path) -> None:
    async with Hook() as hook, live(tmp_path) as running:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook.webhook_config()}
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("a"))
        await running.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": ["x.io/y"]}}, kind=MERGE)
        await running.ask("DELETE", f"{WIDGETS}/a")
        again = widget("a") | {"apiVersion": f"{GROUP}/v2"}
        hook.calls.clear()
        error = await running.ask("POST", f"{V2}?dryRun=All", again, expect=409)
        reason = f'widgets.{GROUP} "a" already exists'
        assert error["message"] == f"object is being deleted: {reason}"
        assert [call.review["request"]["desiredAPIVersion"] for call in hook.calls] == [f"{GROUP}/v2"]


async def test_create_reports_an_existing_object_that_cannot_be_converted(tmp_path: Path) -> None:
    async with Hook() as hook, live(tmp_path) as running:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook.webhook_config()}
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("a"))
        hook.behaviour = _not_to_v2
        error = await running.ask("POST", V2, widget("a") | {"apiVersion": f"{GROUP}/v2"}, expect=409)
        assert error["message"] == f'widgets.{GROUP} "a" already exists'


async def test_create_reports_an_existing_object_at_a_removed_version(server: Live) -> None:
    await _with_old_one(server)
    error = await server.ask("POST", V2, widget("a") | {"apiVersion": f"{GROUP}/v2"}, expect=409)
    assert error["message"] == f'widgets.{GROUP} "a" already exists'


async def test_dry_run_create_ignores_an_unreadable_object(server: Live) -> None:
    await _with_old_one(server)
    await server.ask("POST", f"{V2}?dryRun=All", widget("a") | {"apiVersion": f"{GROUP}/v2"}, expect=201)


def _not_to_v2(call: Call) -> Reply:
    if call.review["request"]["desiredAPIVersion"] == f"{GROUP}/v2":
        return Reply(b"no", 500, {"Content-Type": "text/plain"})
    return convert_all(call)


async def _with_old_one(server: Live) -> None:
    """Store an object at v1, then serve only v2."""
    crd = definition()
    await server.define(crd)
    await server.ask("POST", WIDGETS, widget("a"))
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
    one, two = crd["spec"]["versions"]
    await server.ask(
        "PATCH", path, {"spec": {"versions": [one | {"storage": False}, two | {"storage": True}]}}, kind=MERGE
    )
    await server.ask("PATCH", f"{path}/status", {"status": {"storedVersions": ["v2"]}}, kind=MERGE)
    await server.ask("PATCH", path, {"spec": {"versions": [two | {"storage": True}]}}, kind=MERGE)
