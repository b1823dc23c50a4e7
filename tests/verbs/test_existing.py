"""A create of what exists already: what is there is looked at, at the version of the request."""

from __future__ import annotations

from pathlib import Path

from tests.conversion.hook import Hook
from tests.support.hook import Reply
from tests.support.live import live
from tests.support.widgets import GROUP, MERGE, WIDGETS, definition, widget

V2 = WIDGETS.replace("/v1/", "/v2/")


async def test_what_exists_is_converted_to_see_whether_it_is_being_deleted(tmp_path: Path) -> None:
    async with Hook() as hook, live(tmp_path) as running:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook.stanza()}
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("a"))
        await running.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": ["x.io/y"]}}, kind=MERGE)
        await running.ask("DELETE", f"{WIDGETS}/a")
        again = widget("a") | {"apiVersion": f"{GROUP}/v2"}
        hook.calls.clear()
        refusal = await running.ask("POST", f"{V2}?dryRun=All", again, expect=409)
        why = f'widgets.{GROUP} "a" already exists'
        assert refusal["message"] == f"object is being deleted: {why}"
        assert [call.review["request"]["desiredAPIVersion"] for call in hook.calls] == [f"{GROUP}/v2"]


async def test_what_cannot_be_converted_exists_all_the_same(tmp_path: Path) -> None:
    async with Hook() as hook, live(tmp_path) as running:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook.stanza()}
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("a"))
        hook.behaviour = lambda call: Reply(b"no", 500, {"Content-Type": "text/plain"})
        refusal = await running.ask("POST", f"{V2}?dryRun=All", widget("a") | {"apiVersion": f"{GROUP}/v2"}, expect=409)
        assert refusal["message"] == f'widgets.{GROUP} "a" already exists'
