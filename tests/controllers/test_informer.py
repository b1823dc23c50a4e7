"""A kind that is followed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from polykind.cache.resource_cache import ObjectChange
from polykind.controllers.informer import Informer
from tests.support.live import live
from tests.support.widgets import WIDGETS, definition, widget


async def test_all_is_taken_at_first_and_after_a_reset_and_changes_in_between(tmp_path: Path) -> None:
    told: list[str] = []
    taken = asyncio.Event()
    async with live(tmp_path) as running:
        made = await running.define(definition())
        kind = running.server.registry.kind(made["spec"]["group"], made["spec"]["names"]["plural"])
        assert kind is not None

        def take_all() -> None:
            told.append("all")
            taken.set()

        def take(occurrences: list[ObjectChange]) -> None:
            told.extend(occurrence.cached.name for occurrence in occurrences)

        following = Informer(running.server.backend.cache, kind, take_all, take)
        await following.start()
        await running.ask("POST", WIDGETS, widget("w"))
        taken.clear()
        following.on_reset()
        await taken.wait()
        assert told == ["all", "w", "all"]
        following.on_reset()
        await following.close()
        assert told == ["all", "w", "all"]
