"""Validating webhooks: all that a write is of concern to are asked at once, and each may refuse it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from polykind.admission import rules
from polykind.admission.attributes import Attributes
from polykind.admission.review import Shown
from polykind.admission.telling import told_at
from polykind.admission.webhook import Observer, Webhook
from polykind.eager import in_task


class ValidatingWebhooks:
    """The validating webhooks of all configurations."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._webhooks: Sequence[Webhook] = ()

    @property
    def active(self) -> bool:
        return bool(self._webhooks)

    def configure(self, webhooks: Sequence[Webhook]) -> None:
        """Who is asked from now on."""
        self._webhooks = tuple(webhooks)

    async def admit(self, asked: Attributes) -> None:
        if rules.exempt(asked):
            return
        concerned: list[tuple[Webhook, Shown]] = []
        told: dict[str, Shown] = {}
        for webhook in self._webhooks:
            version = webhook.version(asked)
            if version is None:
                continue
            if version not in told:
                told[version] = await told_at(asked, version)
            if await webhook.meant(asked, told[version]):
                concerned.append((webhook, told[version]))
        if concerned:
            await in_task(self._ask_all(asked, concerned))

    async def _ask_all(self, asked: Attributes, concerned: Sequence[tuple[Webhook, Shown]]) -> None:
        """Wait for all of them; who refused first is heard."""
        refusals: list[BaseException] = []

        async def ask(webhook: Webhook, shown: Shown) -> None:
            try:
                await webhook.ask(asked, shown, self._observer)
            except Exception as refusal:
                refusals.append(refusal)

        if len(concerned) == 1:
            await ask(*concerned[0])
        else:
            await asyncio.gather(*(ask(webhook, shown) for webhook, shown in concerned))
        if refusals:
            raise refusals[0]
