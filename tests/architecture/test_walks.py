"""The walks in ARCHITECTURE.md name the files that a request really enters, in that order."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from operator import gt
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.architecture.trace import SOURCE, Tracer
from tests.conversion.hook import Hook
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, MERGE, WIDGETS, definition, widget

DOCUMENT = Path(__file__).parents[2] / "ARCHITECTURE.md"
MAX_OF_WALKS = {
    "start": (180, 890),
    "get": (27, 67),
    "list": (35, 116),
    "create": (56, 232),
    "update": (62, 270),
    "merge patch": (64, 273),
    "apply": (67, 284),
    "scale": (97, 410),
    "delete": (43, 151),
    "create Deployment": (101, 425),
    "watch event of a patch": (73, 309),
    "converted list": (70, 256),
}
"""The files and the functions that a walk enters, at most. Background work may add some. These bounds only fall."""
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
        lengths = Lengths(traced.tracer, traced.running)
        for index in range(_MEASURED):
            await traced.running.ask("POST", WIDGETS, widget(f"b-{index}", size=index))
            with lengths.of("converted list"):
                await traced.running.ask("GET", second)
    assert not any(map(gt, lengths.found["converted list"], MAX_OF_WALKS["converted list"])), str(lengths.found)


# ---------------------------------------------------------------------- lengths

_JSON = "application/json"
_MEASURED = 5
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def _deployment(name: str) -> JsonObject:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


class Lengths:
    """Measures the walks of requests to one server."""

    def __init__(self, tracer: Tracer, running: Live) -> None:
        self._tracer = tracer
        self._running = running
        self.found: dict[str, tuple[int, int]] = {}

    @contextmanager
    def of(self, walk: str) -> Iterator[None]:
        with self._tracer.recording() as entered:
            yield
        files, functions = self.found.get(walk, (len(entered), self._tracer.functions))
        # Background work, such as that of controllers, may fall into a walk, but not into every repetition of it.
        self.found[walk] = min(files, len(entered)), min(functions, self._tracer.functions)

    async def ask(
        self, walk: str, method: str, path: str, bodies: Sequence[JsonObject | None], kind: str = _JSON
    ) -> None:
        """Send requests with these bodies, and measure the last ones. The first ones compile schemas to programs."""
        for body in bodies[:-_MEASURED]:
            await self._running.ask(method, path, body, kind=kind)
        for body in bodies[-_MEASURED:]:
            with self.of(walk):
                await self._running.ask(method, path, body, kind=kind)


async def test_walks_are_short(tmp_path: Path) -> None:
    tracer = Tracer()
    with tracer.installed():
        with tracer.recording() as started:
            server = live(tmp_path)
            running = await server.__aenter__()
        lengths = Lengths(tracer, running)
        lengths.found["start"] = len(started), tracer.functions
        try:
            await running.define(definition())
            await measure_requests(lengths, running)
        finally:
            await server.__aexit__(None, None, None)
    longer = {walk: found for walk, found in lengths.found.items() if any(map(gt, found, MAX_OF_WALKS[walk]))}
    assert not longer, str(lengths.found)
    assert lengths.found.keys() | {"converted list"} == MAX_OF_WALKS.keys()


async def measure_requests(lengths: Lengths, running: Live) -> None:
    many = range(_WARM_UP)
    await lengths.ask("create", "POST", WIDGETS, [widget(f"w{n}", size=n) for n in many])
    path = f"{WIDGETS}/w1"
    await lengths.ask("get", "GET", path, [None] * 8)
    await lengths.ask("list", "GET", WIDGETS, [None] * 8)
    await lengths.ask("merge patch", "PATCH", path, [{"spec": {"size": 100 + n}} for n in many], MERGE)
    applied = [widget("w2", size=200 + n) for n in many]
    await lengths.ask("apply", "PATCH", f"{WIDGETS}/w2?fieldManager=me&force=true", applied, APPLY)
    for n in many:
        changed = {**await running.ask("GET", path), "spec": {"size": 300 + n}}
        with lengths.of("update"):
            await running.ask("PUT", path, changed)
    for n in range(10, 16):
        with lengths.of("delete"):
            await running.ask("DELETE", f"{WIDGETS}/w{n}")
    await lengths.ask("create Deployment", "POST", _DEPLOYMENTS, [_deployment(f"d{n}") for n in range(10)])
    scales = [{"spec": {"replicas": n}} for n in range(10)]
    await lengths.ask("scale", "PATCH", f"{_DEPLOYMENTS}/d1/scale", scales, MERGE)
    events = aiter(running.watch(f"{WIDGETS}?watch=1&timeoutSeconds=60&labelSelector=seen"))
    for n in range(8):
        with lengths.of("watch event of a patch"):
            await running.ask("PATCH", path, {"metadata": {"labels": {"seen": str(n)}}}, kind=MERGE)
            await anext(events)
