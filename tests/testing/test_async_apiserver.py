"""The methods of the fixture in async tests."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from polykind.testing import ApiServer, AsyncApiServer, AsyncSimulation, Refused, Simulation, Unmet
from tests.support.waiting import eventually_async

pytest_plugins = "pytester"

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}


async def test_methods_do_not_block_the_event_loop(polykind_async: AsyncApiServer) -> None:
    waiting = asyncio.create_task(polykind_async.wait_for(CONFIG_MAP, "create"))
    before = await polykind_async.checkpoint()
    await polykind_async.apply(CONFIG_MAP)
    assert (await waiting)["metadata"]["name"] == "mine"
    await polykind_async.rollback(before)
    with pytest.raises(Refused, match="not found"):
        await polykind_async.get(CONFIG_MAP)
    assert isinstance(await polykind_async.kubeconfig_for("jane"), Path)
    assert (await polykind_async.request("GET", "/api/v1/pods?limit=1"))["items"] == []


async def test_simulation_ends_with_its_block(polykind_async: AsyncApiServer) -> None:
    async with polykind_async.simulate("pods") as simulation:
        await simulation.fail("pods", name="other")
        await polykind_async.apply(POD)
        await polykind_async.wait_for(POD, "condition=Ready")
        await polykind_async.delete(POD)
        await polykind_async.wait_for(POD, "delete")
    assert simulation.stopped
    running = await polykind_async.simulate("pods")
    await polykind_async.apply(POD)
    await polykind_async.wait_for(POD, "condition=Ready")
    assert not running.stopped


async def test_condition_functions_run_on_the_event_loop_of_the_test(polykind_async: AsyncApiServer) -> None:
    loops = []

    async def has_data(obj: dict[str, Any]) -> bool:
        loops.append(asyncio.get_running_loop())
        return (await polykind_async.get(obj)).get("data") == {"a": "1"}

    waiting = asyncio.create_task(polykind_async.wait_for(CONFIG_MAP, has_data))
    await polykind_async.apply(CONFIG_MAP)
    await polykind_async.apply({**CONFIG_MAP, "data": {"a": "1"}})
    await waiting
    assert set(loops) == {asyncio.get_running_loop()}
    with pytest.raises(Unmet, match="the function returned False"):
        await polykind_async.wait_for(CONFIG_MAP, lambda obj: obj["data"] == {}, timeout=0.01)


def test_other_event_loops_are_refused(polykind: ApiServer) -> None:
    reading = polykind.aio.get(CONFIG_MAP)
    with pytest.raises(Refused, match="the async methods need asyncio"):
        reading.send(None)


def test_blocking_conditions_may_send_requests(polykind: ApiServer) -> None:
    polykind.apply(CONFIG_MAP)
    threads = []

    def is_readable(obj: dict[str, Any]) -> bool:
        threads.append(threading.current_thread())
        return asyncio.run(polykind.aio.get(obj)) == polykind.get(obj)

    polykind.wait_for(CONFIG_MAP, condition=is_readable)
    assert set(threads) == {threading.current_thread()}


async def test_cancelled_wait_ends_at_once(polykind_async: AsyncApiServer) -> None:
    waiting = asyncio.create_task(polykind_async.wait_for(CONFIG_MAP, "create", timeout=60))
    await eventually_async(lambda: any("watch=1" in request.path for request in polykind_async.requests))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_events_are_iterated_and_expected(polykind_async: AsyncApiServer) -> None:
    events = await polykind_async.watch(CONFIG_MAP)
    changing = asyncio.create_task(_change(polykind_async))
    seen = []
    async for event in polykind_async.watch({"apiVersion": "v1", "kind": "ConfigMap"}):
        seen.append(str(event))
        if event.type == "DELETED":
            break
    await changing
    assert seen[-1] == "DELETED mine"
    added, *_ = await events.expect("ADDED mine", "MODIFIED mine", "DELETED mine")
    assert added["metadata"]["name"] == "mine"
    with pytest.raises(Unmet, match=r"no event of ConfigMap mine arrived within 0\.01 s: the timeout of watch"):
        await anext(polykind_async.watch(CONFIG_MAP, timeout=0.01))
    with pytest.raises(Refused, match="the watch has not started: `events = await"):
        await polykind_async.watch(CONFIG_MAP).expect("ADDED mine")


async def _change(server: AsyncApiServer) -> None:
    # The watch of the test starts with its first iteration, in the same event loop.
    await eventually_async(lambda: sum("watch=1" in request.path for request in server.requests) >= 1)
    await server.apply(CONFIG_MAP)
    await server.apply({**CONFIG_MAP, "data": {"a": "1"}})
    await server.delete(CONFIG_MAP)


@pytest.mark.parametrize(("blocking", "native"), [(ApiServer, AsyncApiServer), (Simulation, AsyncSimulation)])
def test_both_faces_have_the_same_methods_and_parameters(blocking: type, native: type) -> None:
    inner = {"aio", "start", "stop", "attach", "detach", "add", "on_change", "includes"}
    names = {name for name in (*dir(blocking), *dir(native)) if not name.startswith("_")} - inner
    for name in names:
        mine, other = getattr(blocking, name), getattr(native, name)
        if callable(other):
            assert list(inspect.signature(mine).parameters) == list(inspect.signature(other).parameters), name
            assert mine.__doc__, name


ASYNC_TESTS = """
import asyncio, pytest

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}

async def use(polykind):
    waiting = asyncio.create_task(polykind.aio.wait_for(MAP, "create"))
    await polykind.aio.apply(MAP)
    await waiting
    events = await polykind.aio.watch(MAP)
    async with polykind.aio.simulate("pods"):
        await polykind.aio.delete(MAP)
    await events.expect("DELETED mine")
    polykind.apply(MAP)

%s
"""
RUNNERS = {
    "pytest-asyncio": "@pytest.mark.asyncio\nasync def test_it(polykind):\n    await use(polykind)",
    "anyio": (
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
        "@pytest.mark.anyio\nasync def test_it(polykind):\n    await use(polykind)"
    ),
    "asyncio": "def test_it(polykind):\n    asyncio.run(use(polykind))",
}


@pytest.mark.parametrize("runner", RUNNERS)
def test_async_methods_work_with_every_runner(pytester: pytest.Pytester, runner: str) -> None:
    pytester.makepyfile(ASYNC_TESTS % RUNNERS[runner])
    result = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-W", "error", "-o", "asyncio_default_fixture_loop_scope=function"
    )
    result.assert_outcomes(passed=1)
