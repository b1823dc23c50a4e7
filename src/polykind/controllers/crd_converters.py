"""The converters of the definitions that are served: one each, closed when it is replaced, its health told.

How a converter is doing is written into its definition's status when it has changed, never with each call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from polykind.contract import Clock, JsonObject, StoreError
from polykind.conversion.health import TYPE, Health, transition
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.crd import conditions

log = logging.getLogger("polykind.converters")

Build = Callable[[JsonObject, Callable[[Health], None]], MonitoredConverter]
"""From a definition, and whom to tell of its converter's health after each conversion."""
Write = Callable[[str, JsonObject | None], Awaitable[None]]
"""Writes a condition into a definition's status; None removes it."""


class CRDConverters:
    """One gate for each definition whose conversions take more than changing the apiVersion."""

    def __init__(self, build: Build, clock: Clock) -> None:
        self._build = build
        self._clock = clock
        self._gates: dict[str, MonitoredConverter] = {}
        self._statuses: dict[str, JsonObject] = {}
        self._due: dict[str, asyncio.TimerHandle] = {}
        self._not_before: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.write: Write | None = None
        self.pause = 5.0
        """Seconds between two writes of one definition's condition."""

    def take(self, crd: JsonObject) -> MonitoredConverter | None:
        """The converter of a definition as it stands now; None where only the apiVersion changes."""
        name: str = crd["metadata"]["name"]
        gate = self._build(crd, lambda _: self._felt(name))
        self.drop(name)
        self.noted(crd)
        if gate.calls_out:
            self._gates[name] = gate
            return gate
        if conditions.find_condition(crd.get("status") or {}, TYPE):
            self._soon(name)
        return None

    def noted(self, crd: JsonObject) -> None:
        """A definition's status has been written."""
        self._statuses[crd["metadata"]["name"]] = crd.get("status") or {}

    def drop(self, name: str) -> None:
        """Let go of a definition's converter; calls under way are finished."""
        self._statuses.pop(name, None)
        timer = self._due.pop(name, None)
        if timer is not None:
            timer.cancel()
        gate = self._gates.pop(name, None)
        if gate is not None:
            self._start(gate.close())

    def forget(self, name: str) -> None:
        """A definition is no more."""
        self.drop(name)
        self._not_before.pop(name, None)

    async def close(self) -> None:
        for name in list(self._gates):
            self.forget(name)
        for timer in self._due.values():
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ------------------------------------------------------------------ health

    def _felt(self, name: str) -> None:
        if name not in self._due and self._news(name) is not None:
            self._soon(name)

    def _news(self, name: str) -> JsonObject | None:
        """The condition to write, if it says something new."""
        gate = self._gates.get(name)
        if gate is None:
            return None
        return transition(gate.health, conditions.find_condition(self._statuses.get(name, {}), TYPE), self._clock.now())

    def _soon(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        wait = max(0.0, self._not_before.get(name, 0.0) - loop.time())
        self._due[name] = loop.call_later(wait, lambda: self._start(self._tell(name)))

    async def _tell(self, name: str) -> None:
        self._due.pop(name, None)
        self._not_before[name] = asyncio.get_running_loop().time() + self.pause
        news = self._news(name)
        if self.write is None or (news is None and name in self._gates):
            return
        try:
            await self.write(name, news)
        except StoreError as error:
            log.warning("the health of the converter of %s could not be written: %s", name, error)
