"""Validating webhooks: all that a write is of concern to are asked at once, and each may refuse it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from polykind import errors
from polykind.admission.admission_review import Shown
from polykind.admission.attributes import Attributes
from polykind.admission.telling import told_at
from polykind.admission.webhook import Webhook, Webhooks
from polykind.taskless import in_task


class ValidatingWebhooks(Webhooks):
    """The validating webhooks of all configurations."""

    async def ask(self, asked: Attributes) -> None:
        concerned: list[tuple[Webhook, Shown]] = []
        told: dict[str, Shown] = {}
        for webhook in self.webhooks:
            version = webhook.version(asked)
            if version is None:
                continue
            if version not in told:
                try:
                    told[version] = await told_at(asked, version)
                except errors.APIError as error:
                    raise errors.InternalError(error.message) from error
            if await webhook.meant(asked, told[version]):
                concerned.append((webhook, told[version]))
        if concerned:
            await in_task(self._ask_all(asked, concerned))

    async def _ask_all(self, asked: Attributes, concerned: Sequence[tuple[Webhook, Shown]]) -> None:
        """Wait for all of them; who refused first is heard."""
        refusals: list[BaseException] = []

        async def ask(webhook: Webhook, shown: Shown) -> None:
            try:
                await webhook.ask(asked, shown, self.observer)
            except Exception as refusal:
                refusals.append(refusal)

        if len(concerned) == 1:
            await ask(*concerned[0])
        else:
            await asyncio.gather(*(ask(webhook, shown) for webhook, shown in concerned))
        if refusals:
            raise refusals[0]
