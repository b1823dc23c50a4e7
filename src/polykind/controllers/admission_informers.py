"""The informers of webhook configurations, policies and quotas, and the admission chain that they keep up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from polykind.admission.admission_chain import AdmissionChain, AdmissionPlugin
from polykind.admission.plugins import plugin_table
from polykind.admission.plugins.builtin_plugin import PluginServices
from polykind.admission.plugins.plugin_chain import PluginChain
from polykind.admission.plugins.plugin_table import PluginEntry
from polykind.apis.admissionregistration.types import GROUP
from polykind.cache.watch_cache import WatchCache
from polykind.controllers import policy_informer, webhook_informer
from polykind.controllers.policy_informer import PolicyInformer, find_params
from polykind.controllers.quota_informer import QuotaInformer
from polykind.controllers.webhook_informer import WebhookInformer
from polykind.metrics.metrics import Metrics
from polykind.resources.builtin import find_builtin
from polykind.resources.registry import Registry
from polykind.webhook.target import Resolver

if TYPE_CHECKING:
    from polykind.admission.mutating_policies import MutatingBinding, MutatingPolicy
    from polykind.admission.validating_policies import ValidatingBinding, ValidatingPolicy
    from polykind.webhook.credentials import WebhookCredentials


class AdmissionInformers:
    """Watches the admission resources and builds `admission`, the chain of built-in plugins, webhooks and policies.

    Most servers have no webhooks or policies, so the code for them, including CEL, is imported when the first exists.
    """

    def __init__(
        self,
        cache: WatchCache,
        registry: Registry,
        metrics: Metrics,
        resolver: Resolver,
        enabled: Sequence[PluginEntry],
        services: PluginServices,
        credentials: Mapping[str, WebhookCredentials],
    ) -> None:
        """`credentials` are what the server signs in to webhooks with, by the name of the plugin that calls them."""
        self._metrics = metrics
        self._resolver = resolver
        self._credentials = credentials
        self._find_params = partial(find_params, cache, registry)
        find = partial(find_builtin, registry, GROUP)
        mutating_policy = PolicyInformer(
            cache,
            find("mutatingadmissionpolicies"),
            find("mutatingadmissionpolicybindings"),
            self._mutating_policies,
            self._refresh,
        )
        validating_policy = PolicyInformer(
            cache,
            find("validatingadmissionpolicies"),
            find("validatingadmissionpolicybindings"),
            self._validating_policies,
            self._refresh,
        )
        mutating_webhook = WebhookInformer(
            cache, find("mutatingwebhookconfigurations"), partial(self._webhooks, True), self._refresh
        )
        validating_webhook = WebhookInformer(
            cache, find("validatingwebhookconfigurations"), partial(self._webhooks, False), self._refresh
        )
        self.quotas = QuotaInformer(cache, services)
        self._informers = (mutating_policy, mutating_webhook, validating_policy, validating_webhook, self.quotas)
        mutating: dict[str, AdmissionPlugin] = {
            plugin_table.MUTATING_POLICIES: mutating_policy,
            plugin_table.MUTATING_WEBHOOKS: mutating_webhook,
        }
        validating: dict[str, AdmissionPlugin] = {
            plugin_table.VALIDATING_POLICIES: validating_policy,
            plugin_table.VALIDATING_WEBHOOKS: validating_webhook,
        }
        names = {entry.name for entry in enabled}
        self.admission = AdmissionChain(
            mutating=[plugin for name, plugin in mutating.items() if name in names],
            validating=[plugin for name, plugin in validating.items() if name in names],
            plugins=PluginChain(enabled, services),
            quotas=self.quotas if plugin_table.RESOURCE_QUOTAS in names else None,
        )

    async def start(self) -> None:
        await asyncio.gather(*(informer.start() for informer in self._informers))

    async def close(self) -> None:
        await asyncio.gather(*(informer.close() for informer in self._informers))

    def _refresh(self) -> None:
        self.admission.refresh()

    def _mutating_policies(self) -> policy_informer.Plugin[MutatingPolicy, MutatingBinding]:
        from polykind.admission.mutating_policies import MutatingBinding, MutatingPolicies, MutatingPolicy

        step = MutatingPolicies(self._find_params, self._metrics)
        return policy_informer.Plugin(step, MutatingPolicy, MutatingBinding)

    def _validating_policies(self) -> policy_informer.Plugin[ValidatingPolicy, ValidatingBinding]:
        from polykind.admission.validating_policies import ValidatingBinding, ValidatingPolicies, ValidatingPolicy

        step = ValidatingPolicies(self._find_params, self._metrics)
        return policy_informer.Plugin(step, ValidatingPolicy, ValidatingBinding)

    def _webhooks(self, mutating: bool) -> webhook_informer.Plugin:
        from polykind.admission.admission_webhook import AdmissionWebhook
        from polykind.admission.webhook_plugins import MutatingWebhooks, ValidatingWebhooks

        step = MutatingWebhooks(self._metrics) if mutating else ValidatingWebhooks(self._metrics)
        name = plugin_table.MUTATING_WEBHOOKS if mutating else plugin_table.VALIDATING_WEBHOOKS
        credentials = self._credentials.get(name)
        build = partial(AdmissionWebhook, resolver=self._resolver, mutating=mutating, credentials=credentials)
        return webhook_informer.Plugin(step, build)
