"""The admission plugins that call mutating and validating webhooks."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

from polykind import errors
from polykind.admission.admission_chain import PluginReinvocation
from polykind.admission.admission_review import JSON_PATCH, AdmissionResponse
from polykind.admission.admission_webhook import AdmissionWebhook, Observer, WebhookCallError
from polykind.admission.attributes import Attributes
from polykind.admission.matcher import is_exempt_from_webhooks
from polykind.admission.versioned_attributes import (
    VersionedAttributes,
    apply_defaults,
    conversion_error,
    convert_attributes,
    convert_object,
    decode_patched,
    unconverted,
)
from polykind.apply import json_patch
from polykind.apply.patch_errors import PatchRejectedError
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.json import encode_json
from polykind.loop_calls import on_loop
from polykind.schema.equality import deep_equal


class WebhookPlugin(ABC):
    """The admission plugin that calls all mutating or all validating webhooks."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.webhooks: Sequence[AdmissionWebhook] = ()

    @property
    def active(self) -> bool:
        return bool(self.webhooks)

    def configure(self, webhooks: Sequence[AdmissionWebhook]) -> None:
        """Replace the webhooks."""
        self.webhooks = tuple(webhooks)

    async def admit(self, attributes: Attributes) -> None:
        if not is_exempt_from_webhooks(attributes):
            await self.dispatch(attributes)

    @abstractmethod
    async def dispatch(self, attributes: Attributes) -> None:
        """Call the webhooks that match the request."""


class ValidatingWebhooks(WebhookPlugin):
    """Calls all matching validating webhooks concurrently."""

    async def dispatch(self, attributes: Attributes) -> None:
        matching: list[tuple[AdmissionWebhook, VersionedAttributes]] = []
        by_version: dict[str, VersionedAttributes] = {}
        for webhook in self.webhooks:
            version = webhook.matching_version(attributes)
            if version is None:
                continue
            if version not in by_version:
                try:
                    by_version[version] = await convert_attributes(attributes, version)
                except errors.APIError as error:
                    raise errors.InternalError(error.message) from error
            if await webhook.conditions_match(attributes, by_version[version]):
                matching.append((webhook, by_version[version]))
        if matching:
            await on_loop(self._call_all(attributes, matching))

    async def _call_all(
        self, attributes: Attributes, matching: Sequence[tuple[AdmissionWebhook, VersionedAttributes]]
    ) -> None:
        """Wait for all webhook calls, then raise the error that occurred first."""
        failures: list[BaseException] = []

        async def call(index: int, webhook: AdmissionWebhook, versioned: VersionedAttributes) -> None:
            try:
                await webhook.call(attributes, versioned, self.observer, place=f"round_0_index_{index}")
            except Exception as error:
                failures.append(error)

        if len(matching) == 1:
            await call(0, *matching[0])
        else:
            await asyncio.gather(*(call(index, *one) for index, one in enumerate(matching)))
        if failures:
            raise failures[0]


class MutatingWebhooks(WebhookPlugin):
    """Calls matching mutating webhooks in order.

    Each receives the object with the changes of the webhooks before it.
    """

    async def dispatch(self, attributes: Attributes) -> None:
        reinvocation = attributes.reinvocation.for_plugin(self)
        reinvocation.begin(attributes.obj)
        await _MutatingRound(attributes, self.observer, reinvocation).run(self.webhooks)
        reinvocation.end(attributes.obj)


class _MutatingRound:
    """One round of calls to the mutating webhooks that match a request."""

    def __init__(self, attributes: Attributes, observer: Observer, reinvocation: PluginReinvocation) -> None:
        self._attributes = attributes
        self._observer = observer
        self._reinvocation = reinvocation
        self._request_obj = attributes.obj
        """The object at the version of the request."""
        self._versioned = unconverted(attributes)
        self._dirty = False
        """True if `_versioned.obj` has changes that `_request_obj` lacks."""

    async def run(self, webhooks: Sequence[AdmissionWebhook]) -> None:
        attributes = self._attributes
        round_number = 1 if attributes.reinvocation.rounds.is_second else 0
        for index, webhook in enumerate(webhooks):
            version = webhook.matching_version(attributes)
            if version is None:
                continue
            if webhook.has_conditions and not await webhook.conditions_match(attributes, await self._at(version)):
                continue
            if not self._reinvocation.due(webhook.uid):
                continue
            versioned = await self._at(version)
            place = f"round_{round_number}_index_{index}"
            apply = partial(self._apply, webhook, place)
            await on_loop(webhook.call(attributes, versioned, self._observer, apply, place))
            if webhook.reinvoke_if_needed:
                self._reinvocation.invoked(webhook.uid)
        await self._convert_back()
        attributes.obj = self._request_obj

    async def _at(self, version: str) -> VersionedAttributes:
        """Return the current objects, converted to a version."""
        if version != self._versioned.version:
            await self._convert_back()
            attributes = self._attributes
            attributes.obj = self._request_obj
            try:
                self._versioned = await convert_attributes(attributes, version)
            except errors.APIError as error:
                # kube-apiserver's message contains the text of an internal error twice.
                raise errors.InternalError(errors.InternalError(error.message).message) from error
            # As in kube-apiserver, the object selectors of later webhooks see the object at this version.
            attributes.obj = self._versioned.obj
        return self._versioned

    async def _convert_back(self) -> None:
        """Convert the changed object back to the version of the request."""
        if not self._dirty or self._versioned.obj is None:
            return
        self._dirty = False
        obj, resource = self._versioned.obj, self._attributes.resource
        if obj.get("apiVersion") != resource.kind_version:
            if message := conversion_error(resource, obj):
                raise errors.UnknownReasonError(message)
            obj = await convert_object(self._attributes, obj, resource.kind_version)
        self._request_obj = obj

    def _apply(self, webhook: AdmissionWebhook, place: str, response: AdmissionResponse) -> bool:
        """Apply the patch in a webhook's response to the object. Return True if the object has changed."""
        operations = _decode_patch(webhook, response.patch)
        if not operations:
            return False
        before = self._versioned.obj
        if before is None:
            name = go_quote(webhook.name)
            raise errors.InternalError(
                f"admission webhook {name} attempted to modify the object, which is not supported for this operation"
            )
        if response.patch_type != JSON_PATCH:
            raise WebhookCallError(webhook.name, f"unsupported patch type {go_quote(response.patch_type)}", 400)
        attributes = self._attributes
        patched = _apply_patch(attributes, before, operations)
        changed = not deep_equal(before, patched)
        if changed:
            self._reinvocation.changed()
        patch = [dict(sorted(operation.items())) for operation in json_codec.decode(response.patch)]
        annotation = {
            "configuration": webhook.configuration,
            "webhook": webhook.name,
            "patch": patch,
            "patchType": JSON_PATCH,
        }
        text = encode_json(annotation, sort_keys=False).decode()
        attributes.notes.annotate_request_level(f"patch.webhook.admission.k8s.io/{place}", text)
        attributes.obj = apply_defaults(attributes, patched)
        self._versioned = self._versioned._replace(obj=attributes.obj)
        self._dirty = attributes.changed = True
        return changed


def _decode_patch(webhook: AdmissionWebhook, patch: bytes) -> list[JsonObject]:
    if not patch:
        return []
    try:
        operations: list[JsonObject] = json_patch.keep_test_texts(
            json_patch.check_operations(json_codec.decode(patch), lenient=True), patch
        )
    except errors.BadRequestError as error:
        message = error.text if isinstance(error, json_codec.MalformedJSONError) else error.message
        raise WebhookCallError(webhook.name, f"received undecodable patch in webhook response: {message}") from None
    return operations


def _apply_patch(attributes: Attributes, obj: JsonObject, operations: list[JsonObject]) -> JsonObject:
    """Return the patched object. Raise InternalError if the patch fails or removes apiVersion or kind."""
    try:
        patched: Any = json_patch.apply_operations(obj, operations)
    except PatchRejectedError as rejected:
        raise errors.InternalError(rejected.cause) from None
    except errors.APIError as error:
        raise errors.InternalError(error.message) from None
    return decode_patched(attributes, patched)
