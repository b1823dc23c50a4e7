"""The methods of the fixture in async tests."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from polykind.testing import ApiServer, Refused, Unmet
from polykind.testing.async_apiserver import AsyncApiServer

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}


async def test_methods_do_not_block_the_event_loop(polykind: ApiServer) -> None:
    waiting = asyncio.create_task(polykind.aio.wait_for(CONFIG_MAP, "create"))
    before = await polykind.aio.checkpoint()
    await polykind.aio.apply(CONFIG_MAP)
    assert (await waiting)["metadata"]["name"] == "mine"
    await polykind.aio.rollback(before)
    with pytest.raises(Refused, match="not found"):
        await polykind.aio.get(CONFIG_MAP)
    assert isinstance(await polykind.aio.kubeconfig_for("jane"), Path)
    with await polykind.aio.simulate("pods") as simulation:
        simulation.fail("pods", name="other")
        await polykind.aio.apply(POD)
        await polykind.aio.wait_for(POD, "condition=Ready")
    with pytest.raises(Unmet):
        await polykind.aio.wait_for(POD, "delete", timeout=0.01)


def test_signatures_are_those_of_the_blocking_methods() -> None:
    for name, method in vars(AsyncApiServer).items():
        if not name.startswith("_"):
            assert inspect.signature(method) == inspect.signature(getattr(ApiServer, name)), name
