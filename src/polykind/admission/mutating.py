"""Mutating webhooks: asked one after the other, each about what those before it have made of the object."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from polykind import errors
from polykind.admission.admission_review import JSON_PATCH, Shown, Verdict
from polykind.admission.attributes import Attributes
from polykind.admission.patching import defaulted, reread
from polykind.admission.reinvocation import Asked
from polykind.admission.telling import converted, inconvertible, own, told_at
from polykind.admission.webhook import CallFailed, Observer, Webhook, Webhooks
from polykind.apply import jsonpatch
from polykind.apply.rejected import Rejected
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.schema.equality import deep_equal
from polykind.taskless import in_task


class MutatingWebhooks(Webhooks):
    """The mutating webhooks of all configurations."""

    async def ask(self, asked: Attributes) -> None:
        again = asked.again.of(self)
        again.begin(asked.obj)
        await _Round(asked, self.observer, again).run(self.webhooks)
        again.end(asked.obj)


class _Round:
    """One round of all who are due in it."""

    def __init__(self, asked: Attributes, observer: Observer, again: Asked) -> None:
        self._asked = asked
        self._observer = observer
        self._again = again
        self._base = asked.obj
        """The object at the version of the request."""
        self._shown = own(asked)
        self._dirty = False
        """Whether what is shown is ahead of that."""

    async def run(self, webhooks: Sequence[Webhook]) -> None:
        asked = self._asked
        for webhook in webhooks:
            version = webhook.version(asked)
            if version is None:
                continue
            if webhook.conditional and not await webhook.meant(asked, await self._at(version)):
                continue
            if not self._again.due(webhook.uid):
                continue
            shown = await self._at(version)
            await in_task(webhook.ask(asked, shown, self._observer, partial(self._use, webhook)))
            if webhook.reinvoked:
                self._again.invoked(webhook.uid)
        await self._settle()
        asked.obj = self._base

    async def _at(self, version: str) -> Shown:
        """What there is by now, at a version."""
        if version != self._shown.version:
            await self._settle()
            asked = self._asked
            asked.obj = self._base
            try:
                self._shown = await told_at(asked, version)
            except errors.APIError as error:
                # The reference wraps it twice.
                raise errors.InternalError(errors.InternalError(error.message).message) from error
            # Selectors look at it as it was told last.
            asked.obj = self._shown.obj
        return self._shown

    async def _settle(self) -> None:
        """Bring the object at the version of the request up to date."""
        if not self._dirty or self._shown.obj is None:
            return
        self._dirty = False
        asked, obj, resource = self._asked, self._shown.obj, self._asked.resource
        stated = obj.get("apiVersion")
        if stated != resource.kind_version:
            if why := inconvertible(resource, obj):
                raise errors.UnknownReasonError(why)
            obj = await converted(asked, obj, resource.kind_version)
        self._base = obj

    def _use(self, webhook: Webhook, verdict: Verdict) -> None:
        """Take in what a webhook makes of the object."""
        operations = _operations(webhook, verdict.patch)
        if not operations:
            return
        before = self._shown.obj
        if before is None:
            name = go_quote(webhook.name)
            raise errors.InternalError(
                f"admission webhook {name} attempted to modify the object, which is not supported for this operation"
            )
        if verdict.patch_type != JSON_PATCH:
            raise CallFailed(webhook.name, f"unsupported patch type {go_quote(verdict.patch_type)}", 400)
        asked = self._asked
        made = _applied(asked, before, operations)
        if not deep_equal(before, made):
            self._again.changed()
        asked.obj = defaulted(asked, made)
        self._shown = self._shown._replace(obj=asked.obj)
        self._dirty = asked.changed = True


def _operations(webhook: Webhook, patch: bytes) -> list[JsonObject]:
    if not patch:
        return []
    try:
        operations: list[JsonObject] = jsonpatch.as_written(jsonpatch.loosely(json_codec.decode(patch)), patch)
    except errors.BadRequestError as error:
        why = error.text if isinstance(error, json_codec.MalformedJSONError) else error.message
        raise CallFailed(webhook.name, f"received undecodable patch in webhook response: {why}") from None
    return operations


def _applied(asked: Attributes, obj: JsonObject, operations: list[JsonObject]) -> JsonObject:
    """An object after a patch; it must still say what it is."""
    try:
        made: Any = jsonpatch.patched(obj, operations)
    except Rejected as rejected:
        raise errors.InternalError(rejected.why) from None
    except errors.APIError as error:
        raise errors.InternalError(error.message) from None
    return reread(asked, made)
