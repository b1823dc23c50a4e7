"""Webhooks come to life: who is asked before a write follows the configurations that are stored."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.apis.admissionregistration.webhook_configurations import WebhookConfigurationResource
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.contract import JsonObject
from polykind.controllers.informer import Informer
from polykind.verbs.context import Backend

if TYPE_CHECKING:
    from polykind.admission.webhook import Webhook, Webhooks

log = logging.getLogger("polykind.admission")


class Machinery(NamedTuple):
    """The step that asks webhooks, and what makes one of its configuration's name, its stanza there and its number."""

    step: Webhooks
    webhook: Callable[[str, JsonObject, int], Webhook]


class WebhookControl:
    """Follows the configurations of one kind: a change is minded by the time its write is answered.

    It is a step of admission. What does the work is only made, and imported, once there is a webhook.
    """

    def __init__(self, api: Backend, kind: WebhookConfigurationResource, make: Callable[[], Machinery]) -> None:
        self.active = False
        self._api = api
        self._kind = kind
        self.kinds = (kind,)
        self._make = make
        self._webhooks: dict[str, list[Webhook]] = {}
        """By the name of their configuration."""
        self._closing: set[asyncio.Task[None]] = set()
        self._following = Informer(api, kind, self._take_all, self._take_changes)

    @cached_property
    def _machinery(self) -> Machinery:
        return self._make()

    async def admit(self, asked: Attributes) -> None:
        await self._machinery.step.admit(asked)

    async def start(self) -> None:
        await self._following.start()

    async def close(self) -> None:
        await self._following.close()
        self._drop_all()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _take_all(self) -> None:
        self._drop_all()
        for entry in self._kind.cache.snapshot(None):
            self._take(entry)
        self._configure()

    def _take_changes(self, occurrences: list[ObjectChange]) -> None:
        for occurrence in occurrences:
            self._drop(occurrence.cached.name)
            if occurrence.new is not None:
                self._take(occurrence.new)
        self._configure()

    def _take(self, entry: CachedObject) -> None:
        try:
            self._webhooks[entry.name] = self._webhooks_of(entry)
        except errors.APIError as error:
            what = self._kind.kind
            log.error("%s %s in the store cannot be read and is not minded: %s", what, entry.name, error.message)

    def _webhooks_of(self, entry: CachedObject) -> list[Webhook]:
        seen: Counter[str] = Counter()
        webhooks = []
        for stanza in self._kind.read(entry).get("webhooks") or ():
            name = stanza["name"]
            webhooks.append(self._machinery.webhook(entry.name, stanza, seen[name]))
            seen[name] += 1
        return webhooks

    def _drop_all(self) -> None:
        for name in list(self._webhooks):
            self._drop(name)

    def _drop(self, name: str) -> None:
        """Let go of a configuration's webhooks; calls under way are finished."""
        for webhook in self._webhooks.pop(name, ()):
            task = asyncio.get_running_loop().create_task(webhook.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _configure(self) -> None:
        """Configurations are asked in the order of their names, the webhooks of each in theirs."""
        webhooks = [webhook for name in sorted(self._webhooks) for webhook in self._webhooks[name]]
        if webhooks or self.active:
            self._machinery.step.configure(webhooks)
        self.active = bool(webhooks)
        self._api.admission.refresh()
