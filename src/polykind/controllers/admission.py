"""All of admission that lives: its kinds, who follows them, and the chain in which they are asked."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from polykind.admission.admission import Admission
from polykind.apis.admissionregistration.mutating_policies import mutating_policies
from polykind.apis.admissionregistration.policies import validating_policies
from polykind.apis.admissionregistration.webhook_configurations import WebhookConfigurationResource
from polykind.controllers import policies, webhooks
from polykind.controllers.policies import PolicyControl, find_params
from polykind.controllers.webhooks import WebhookControl
from polykind.verbs.context import Backend
from polykind.webhook.resolver import Resolver

if TYPE_CHECKING:
    from polykind.admission.mutating_policies import MutatingBinding, MutatingPolicy
    from polykind.admission.policy_step import Binding, Policy


class AdmissionController:
    """Serves the kinds of admission and has those asked who are configured.

    Most servers have nobody to ask: what asks them, and the expressions that they bring, are imported when the first
    comes.
    """

    def __init__(self, api: Backend, resolver: Resolver) -> None:
        self._api = api
        self._resolver = resolver
        cache = api.cache
        changing = PolicyControl(api, *mutating_policies(cache), self._changing_policies)
        refusing = PolicyControl(api, *validating_policies(cache), self._refusing_policies)
        mutating, validating = (self._webhooks(mutates=mutates) for mutates in (True, False))
        self._controls = (changing, mutating, refusing, validating)
        for control in self._controls:
            for kind in control.kinds:
                api.registry.put(kind)
        api.admission = Admission(mutating=(changing, mutating), validating=(refusing, validating))

    async def start(self) -> None:
        await asyncio.gather(*(control.start() for control in self._controls))

    async def close(self) -> None:
        await asyncio.gather(*(control.close() for control in self._controls))

    def _changing_policies(self) -> policies.Machinery[MutatingPolicy, MutatingBinding]:
        from polykind.admission.mutating_policies import MutatingBinding, MutatingPolicies, MutatingPolicy

        step = MutatingPolicies(partial(find_params, self._api), self._api.metrics)
        return policies.Machinery(step, MutatingPolicy, MutatingBinding)

    def _refusing_policies(self) -> policies.Machinery[Policy, Binding]:
        from polykind.admission.policy_step import Binding, Policies, Policy

        step = Policies(partial(find_params, self._api), self._api.metrics)
        return policies.Machinery(step, Policy, Binding)

    def _webhooks(self, *, mutates: bool) -> WebhookControl:
        kind = WebhookConfigurationResource(self._api.cache, mutating=mutates)
        return WebhookControl(self._api, kind, partial(self._asking, mutates))

    def _asking(self, mutates: bool) -> webhooks.Machinery:
        from polykind.admission.mutating import MutatingWebhooks
        from polykind.admission.validating import ValidatingWebhooks
        from polykind.admission.webhook import Webhook

        step = MutatingWebhooks(self._api.metrics) if mutates else ValidatingWebhooks(self._api.metrics)
        return webhooks.Machinery(step, partial(Webhook, resolver=self._resolver, mutating=mutates))
