"""The converters of the served CRDs, and the ConversionHealthy condition that reports their health.

The condition is written only when it changes, and at most once per `write_interval` for each CRD.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from polykind.contract import Clock, JsonObject, StoreError
from polykind.conversion.converter_health import TYPE, Health, transition
from polykind.conversion.monitored_converter import MonitoredConverter
from polykind.crd import conditions

log = logging.getLogger("polykind.converters")

BuildConverter = Callable[[JsonObject, Callable[[Health], None]], MonitoredConverter]
"""A function that builds a CRD's converter, which calls the callback with its health after each conversion."""
WriteCondition = Callable[[str, JsonObject | None], Awaitable[None]]
"""A function that writes a condition into the status of the named CRD. None removes the condition."""


class CRDConverters:
    """The converters of all CRDs, except CRDs whose conversion only changes the apiVersion."""

    def __init__(
        self,
        build: BuildConverter,
        clock: Clock,
        write_condition: WriteCondition,
        on_service: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_service` is called for every webhook that is reached through a Service."""
        self._build = build
        self._clock = clock
        self._write_condition = write_condition
        self._on_service = on_service
        self._converters: dict[str, MonitoredConverter] = {}
        self._services: dict[str, set[str]] = {}
        """The names of the CRDs whose webhook is reached through a Service, by the key of the Service."""
        self._statuses: dict[str, JsonObject] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._next_write: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.write_interval = 5.0
        """Minimum number of seconds between two writes of one CRD's condition."""

    def replace(self, crd: JsonObject) -> MonitoredConverter | None:
        """Build the converter of a CRD and close the previous one. Return None if the CRD needs no converter."""
        name: str = crd["metadata"]["name"]
        converter = self._build(crd, lambda _: self._on_health(name))
        self.remove(name)
        self.update_status(crd)
        if converter.is_remote:
            self._converters[name] = converter
            if converter.service:
                self._services.setdefault(converter.service, set()).add(name)
                self._on_service()
            return converter
        if conditions.find_condition(crd.get("status") or {}, TYPE):
            self._schedule_write(name)
        return None

    def update_status(self, crd: JsonObject) -> None:
        """Remember the CRD's current status, to write a condition only if it differs."""
        self._statuses[crd["metadata"]["name"]] = crd.get("status") or {}

    def remove(self, name: str) -> None:
        """Close a CRD's converter in the background, after its pending calls have finished."""
        self._statuses.pop(name, None)
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
        converter = self._converters.pop(name, None)
        if converter is not None:
            if converter.service:
                self._services[converter.service].discard(name)
            self._run(converter.close())

    def moved(self, services: set[str]) -> None:
        """Connect again to the webhooks behind these Services (namespace/name), because their addresses may differ."""
        for service in services & self._services.keys():
            for name in self._services[service]:
                self._converters[name].reconnect()

    def forget(self, name: str) -> None:
        """Forget all state of a deleted CRD and close its converter."""
        self.remove(name)
        self._next_write.pop(name, None)

    async def close(self) -> None:
        for name in list(self._converters):
            self.forget(name)
        for timer in self._timers.values():
            timer.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ------------------------------------------------------------------ health

    def _on_health(self, name: str) -> None:
        if name not in self._timers and self._changed_condition(name) is not None:
            self._schedule_write(name)

    def _changed_condition(self, name: str) -> JsonObject | None:
        """Return the condition to write, or None if the CRD's status already has this condition."""
        converter = self._converters.get(name)
        if converter is None:
            return None
        return transition(
            converter.health, conditions.find_condition(self._statuses.get(name, {}), TYPE), self._clock.now()
        )

    def _schedule_write(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        delay = max(0.0, self._next_write.get(name, 0.0) - loop.time())
        self._timers[name] = loop.call_later(delay, lambda: self._run(self._write(name)))

    async def _write(self, name: str) -> None:
        self._timers.pop(name, None)
        self._next_write[name] = asyncio.get_running_loop().time() + self.write_interval
        condition = self._changed_condition(name)
        if condition is None and name in self._converters:
            return
        try:
            await self._write_condition(name, condition)
        except StoreError as error:
            log.warning(
                "CRD converters: cannot write condition %s of %s, keeping the old condition: %s", TYPE, name, error
            )
