"""The informer of webhook configurations: keeps one webhook plugin of the admission chain up to date."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange
from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject
from polykind.controllers.informer import Informer
from polykind.resources.builtin import BuiltinResource

if TYPE_CHECKING:
    from polykind.admission.admission_webhook import AdmissionWebhook
    from polykind.admission.webhook_plugins import WebhookPlugin

log = logging.getLogger("polykind.admission")


class Plugin(NamedTuple):
    """The admission plugin that calls webhooks, and the function that builds a webhook for it.

    The function takes the name of the configuration, a webhook's entry, and the entry's index among those of its name.
    """

    step: WebhookPlugin
    webhook: Callable[[str, JsonObject, int], AdmissionWebhook]


class WebhookInformer:
    """Watches one kind of webhook configuration. A change is in effect before the server responds to its write.

    The informer itself is a member of the admission chain. It imports the webhook plugin when the first webhook exists.
    """

    def __init__(
        self,
        cache: WatchCache,
        resource: BuiltinResource,
        load_plugin: Callable[[], Plugin],
        refresh: Callable[[], None],
    ) -> None:
        self.active = False
        self._resource = resource
        self.resources = (resource,)
        self._load_plugin = load_plugin
        self._refresh = refresh
        self._webhooks: dict[str, list[AdmissionWebhook]] = {}
        """The webhooks by the name of their configuration."""
        self._closing: set[asyncio.Task[None]] = set()
        self._informer = Informer(cache, resource.cache, self._on_list, self._on_changes, self._build)

    @cached_property
    def _plugin(self) -> Plugin:
        return self._load_plugin()

    async def admit(self, attributes: Attributes) -> None:
        await self._plugin.step.admit(attributes)

    async def start(self) -> None:
        await self._informer.start()

    async def close(self) -> None:
        await self._informer.close()
        self._remove_all()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _on_list(self) -> None:
        self._remove_all()
        for cached in self._resource.cache.snapshot(None):
            self._add(cached)
        self._configure()

    def _on_changes(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            self._remove(change.cached.name)
            if change.new is not None:
                self._add(change.new)
        self._configure()

    def _add(self, cached: CachedObject) -> None:
        try:
            self._webhooks[cached.name] = self._informer.prepared(cached)
        except errors.APIError as error:
            kind = self._resource.kind
            log.error("admission: cannot decode stored %s %s, ignoring it: %s", kind, cached.name, error.message)

    def _build(self, cached: CachedObject) -> list[AdmissionWebhook]:
        count: Counter[str] = Counter()
        webhooks = []
        for webhook in self._resource.read(cached).get("webhooks") or ():
            name = webhook["name"]
            webhooks.append(self._plugin.webhook(cached.name, webhook, count[name]))
            count[name] += 1
        return webhooks

    def _remove_all(self) -> None:
        for name in list(self._webhooks):
            self._remove(name)

    def _remove(self, name: str) -> None:
        """Close a configuration's webhooks in the background, after their pending calls have finished."""
        for webhook in self._webhooks.pop(name, ()):
            task = asyncio.get_running_loop().create_task(webhook.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _configure(self) -> None:
        """Order the webhooks as kube-apiserver does: by configuration name, then by position in the configuration."""
        webhooks = [webhook for name in sorted(self._webhooks) for webhook in self._webhooks[name]]
        if webhooks or self.active:
            self._plugin.step.configure(webhooks)
        self.active = bool(webhooks)
        self._refresh()
