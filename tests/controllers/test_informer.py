"""The informer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from polykind.cache.resource_cache import ObjectChange
from polykind.controllers.informer import Informer
from tests.support.live import live
from tests.support.widgets import WIDGETS, definition, widget


async def test_informer_lists_at_start_and_after_a_reset_and_reports_changes(tmp_path: Path) -> None:
    calls: list[str] = []
    listed = asyncio.Event()
    async with live(tmp_path) as running:
        crd = await running.define(definition())
        resource = running.server.registry.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        assert resource is not None

        def on_list() -> None:
            calls.append("all")
            listed.set()

        def on_changes(changes: list[ObjectChange]) -> None:
            calls.extend(change.cached.name for change in changes)

        informer: Informer[None] = Informer(running.server.backend.cache, resource.cache, on_list, on_changes)
        await informer.start()
        await running.ask("POST", WIDGETS, widget("w"))
        listed.clear()
        informer.on_reset()
        await listed.wait()
        assert calls == ["all", "w", "all"]
        informer.on_reset()
        await informer.close()
        assert calls == ["all", "w", "all"]
