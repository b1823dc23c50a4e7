"""The walks in ARCHITECTURE.md name the files that a request really enters, in that order."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.architecture.trace import SOURCE, Tracer
from tests.conversion.hook import Hook
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, WIDGETS, definition, widget

DOCUMENT = Path(__file__).parents[2] / "ARCHITECTURE.md"
MAX_FILES_OF_A_CREATE = 48
MAX_FILES_OF_A_WALK = 10
_WARM_UP = 40
"""Requests before a trace: schemas are compiled to programs only after some uses."""


def walk(title: str) -> list[str]:
    """Return the source files that the numbered steps of a section link to, in the order of first mention."""
    sections = re.split(r"^## ", DOCUMENT.read_text(), flags=re.M)
    section = next(text for text in sections if text.startswith(f"{title}\n"))
    steps = re.findall(r"^\d+\. .*(?:\n {3}.*)*", section, re.M)
    return list(dict.fromkeys(re.findall(r"\]\(src/polykind/([\w/]+\.py)\)", "\n".join(steps))))


class Traced:
    """A traced server."""

    def __init__(self, tracer: Tracer, running: Live) -> None:
        self.tracer = tracer
        self.running = running

    async def warm_up(self) -> None:
        await self.running.define(definition())
        for index in range(_WARM_UP):
            await self.running.ask("POST", WIDGETS, widget(f"warm-{index}", size=index))


@pytest.fixture
async def traced(tmp_path: Path) -> AsyncIterator[Traced]:
    tracer = Tracer()
    with tracer.installed():
        async with live(tmp_path) as running:
            yield Traced(tracer, running)


def check(title: str, entered: list[str]) -> None:
    """Compare the order of a walk with the order of first entry."""
    steps = walk(title)
    assert steps, f"ARCHITECTURE.md has no section {title!r} with numbered steps"
    assert [file for file in steps if not (SOURCE / file).exists()] == []
    assert steps == [file for file in entered if file in steps], f"entered: {' '.join(entered)}"
    assert len(steps) <= MAX_FILES_OF_A_WALK


async def test_walk_of_a_create(traced: Traced) -> None:
    await traced.warm_up()
    with traced.tracer.recording() as entered:
        await traced.running.ask("POST", WIDGETS, widget("a", size=3))
    check("The walk of a create", entered)
    assert len(entered) <= MAX_FILES_OF_A_CREATE, " ".join(entered)


async def test_walk_of_an_apply(traced: Traced) -> None:
    await traced.warm_up()
    path = f"{WIDGETS}/a?fieldManager=me"
    for size in range(_WARM_UP):
        await traced.running.ask("PATCH", path, widget("a", size=size), kind=APPLY)
    with traced.tracer.recording() as entered:
        await traced.running.ask("PATCH", path, widget("a", size=1000), kind=APPLY)
    check("The walk of an apply", entered)


async def test_walk_of_a_watch_event(traced: Traced) -> None:
    await traced.warm_up()
    events = aiter(traced.running.watch(f"{WIDGETS}?watch=1&timeoutSeconds=60"))
    for _ in range(_WARM_UP):
        assert (await anext(events))["type"] == "ADDED"
    server = traced.running.server
    resource = server.registry.resource(GROUP, "widgets")
    assert resource is not None
    stored = await server.store.get(f"{resource.cache.prefix}default/warm-1")
    assert stored is not None
    with traced.tracer.recording() as entered:
        # Written directly, as another replica does it: the steps of a create are not part of this walk.
        value = stored.value.replace(b'"size":1', b'"size":2')
        await server.store.put(stored.key, value, expect=stored.revision)
        assert (await anext(events))["object"]["spec"] == {"size": 2}
    check("The walk of a watch event", entered)


async def test_walk_of_a_converted_list(traced: Traced) -> None:
    async with Hook() as hook:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": hook.webhook_config()}
        await traced.running.define(crd)
        second = f"/apis/{GROUP}/v2/namespaces/default/widgets"
        for index in range(_WARM_UP):
            await traced.running.ask("POST", WIDGETS, widget(f"warm-{index}", size=index))
            await traced.running.ask("GET", second)
        await traced.running.ask("POST", WIDGETS, widget("a", size=3))
        with traced.tracer.recording() as entered:
            listed = await traced.running.ask("GET", second)
        assert {item["apiVersion"] for item in listed["items"]} == {f"{GROUP}/v2"}
    check("The walk of a converted list", entered)
