"""Tests of lanes."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from polykind.memory_policy import memory_policy
from polykind.operations.lane import Lane, is_large
from polykind.resources.resource import ServedVersion
from polykind.workers import Workers

SMALL, LARGE = b"{}", b" " * 20_000


def version(*, expensive: bool = False, steps_per_value: int = 1) -> ServedVersion:
    strategy = SimpleNamespace(expensive=expensive, is_expensive=lambda data: data == b"expensive")
    codec = SimpleNamespace(small_bytes=1024, steps_per_value=steps_per_value)
    return cast(ServedVersion, SimpleNamespace(strategy=strategy, codec=codec))


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


def lane(workers: Workers, **properties: Any) -> Lane:
    return Lane(workers, "jane", version(**properties), reports=True)


def thread_name() -> str:
    return threading.current_thread().name


def test_large_inputs() -> None:
    assert not is_large(b"{" * 400)
    assert is_large(b"[" * 501)
    assert is_large(LARGE)
    assert is_large(b"1," * 1000, steps_per_value=100)
    assert not is_large(b"1," * 1000)


async def test_steps_run_inline_until_an_input_is_large(workers: Workers) -> None:
    steps = lane(workers)
    assert await steps.read(SMALL, thread_name) == "MainThread"
    assert await steps.run(thread_name) == "MainThread"
    assert await steps.read(LARGE, thread_name) == "computation"
    assert await steps.run(thread_name) == "computation"
    steps.end()


async def test_an_asynchronous_step_runs_in_the_lane(workers: Workers) -> None:
    async def name() -> str:
        return thread_name()

    steps = lane(workers)
    assert await steps.run_async(name()) == "MainThread"
    steps.consider(LARGE)
    assert await steps.run_async(name()) == "computation"
    steps.end()


async def test_a_strategy_can_call_a_small_object_expensive(workers: Workers) -> None:
    steps = lane(workers, expensive=True)
    assert await steps.read(SMALL, thread_name) == "MainThread"
    assert await steps.read(b"expensive", thread_name) == "computation"
    steps.end()


async def test_a_schema_with_many_steps_makes_a_body_large(workers: Workers) -> None:
    assert await lane(workers).read(b"{" + b"1," * 1000, thread_name) == "MainThread"
    steps = lane(workers, steps_per_value=100)
    assert await steps.read(b"{" + b"1," * 1000, thread_name) == "computation"
    steps.end()


async def test_one_sized_step_does_not_move_the_others(workers: Workers) -> None:
    steps = lane(workers)
    assert await steps.run_sized(20_000, thread_name) == "computation"
    assert await steps.run(thread_name) == "MainThread"
    steps.end()


async def test_the_memory_policy_knows_large_operations_until_they_end(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(type(memory_policy), "begin_large", lambda _: calls.append("begin"))
    monkeypatch.setattr(type(memory_policy), "end_large", lambda _: calls.append("end"))
    steps = lane(workers)
    part = steps.at(version())
    await steps.run_in_worker(thread_name)
    await part.run_in_worker(thread_name)
    assert calls == ["begin"]
    steps.end()
    assert calls == ["begin", "end"]
    servers = Lane(workers, "", version(), reports=False)
    await servers.run_in_worker(thread_name)
    servers.end()
    assert calls == ["begin", "end"]
