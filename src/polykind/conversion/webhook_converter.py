"""The conversion strategy Webhook: objects are converted by calls to the webhook that the CRD names."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.conversion import conversion_messages
from polykind.conversion.batches import Batches, EncodedObject, Repair, is_empty
from polykind.conversion.conversion_errors import CALL, AttemptError, error_prefix
from polykind.conversion.conversion_observer import Observer
from polykind.conversion.monitored_converter import CALL_SECONDS
from polykind.errors import InternalError, UnknownReasonError
from polykind.webhook import review_envelope
from polykind.webhook.client import WebhookCall, WebhookClient, WebhookConfigError
from polykind.webhook.response_errors import HTTPResponse, body_excerpt, response_error
from polykind.webhook.target import Resolver, TargetError, string_or_empty
from polykind.webhook.transport_errors import TransportError

if TYPE_CHECKING:
    from polykind.webhook.credentials import WebhookCredentials
    from polykind.webhook.presence import WebhookPresence

log = logging.getLogger("polykind.converters")

_MAX_OBJECT_BYTES = 3 * 1024 * 1024
_MAX_BATCH_RESPONSE_BYTES = 16 * 1024 * 1024
"""The maximum size of a response with several objects. If it is larger, they are sent again in smaller batches."""
_MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""The maximum size of a response with one object. kube-apiserver has no limit."""
_MAX_ON_LOOP_BYTES = 128 * 1024
"""The maximum size of a response that is parsed on the event loop. A larger response is parsed in a thread."""
_INDIVISIBLE_STATUSES = frozenset({401, 403, 404, 405, 407, 415, 429, 501, 502, 503, 504, 505})
"""HTTP statuses that do not depend on the objects sent, so that smaller batches would fail as well."""


class WebhookConverter:
    """Calls a webhook to convert objects. It connects to the webhook on the first conversion.

    `config` is spec.conversion.webhook of a v1 CRD, `seconds` the timeout of one call. `uid` returns the uid for a new
    ConversionReview.
    """

    def __init__(
        self,
        crd_name: str,
        config: JsonObject,
        resolver: Resolver,
        *,
        credentials: WebhookCredentials | None = None,
        seconds: float = CALL_SECONDS,
        uid: Callable[[], str] = lambda: str(uuid.uuid4()),
        observer: Observer | None = None,
    ) -> None:
        self._crd_name = crd_name
        client_config: JsonObject = config.get("clientConfig") or {}
        self._url = string_or_empty(client_config.get("url"))
        self._version = review_envelope.choose_version(config.get("conversionReviewVersions") or ())
        self._resolver = resolver
        self._client = WebhookClient(
            client_config, f"conversion_webhook_for_{crd_name}", resolver, credentials=credentials
        )
        self._seconds = seconds
        self._uid = uid
        self._observer = observer
        self._parse_lock = asyncio.Lock()
        self._batches = Batches(self._convert_batch, json_codec.encode, on_repair=self._log_repair)

    @property
    def name(self) -> str:
        """The URL of the webhook according to the CRD, used as the converter's name in metrics."""
        try:
            return self._client.target().url
        except TargetError:
            return self._url

    @property
    def address(self) -> str:
        """The URL of the webhook for error messages, with the connection's host and port if they differ from it."""
        return self._client.address

    @property
    def certificate_expires(self) -> datetime | None:
        """The expiry of the certificate that the webhook presented most recently, or None if unknown."""
        return self._client.expires

    @property
    def presence(self) -> WebhookPresence:
        return self._client.presence

    @property
    def service(self) -> str:
        try:
            service = self._client.target().service
        except TargetError:
            return ""
        return "/".join(service) if service is not None else ""

    @property
    def repair(self) -> str:
        """Why answers to large reviews are wrong, if the webhook converts the same objects in smaller ones, else ""."""
        return str(self._batches.repair) if self._batches.repair is not None else ""

    def _log_repair(self, repair: Repair) -> None:
        log.warning("CRD %s: the webhook converts only in smaller reviews: %s", self._crd_name, repair)
        if self._observer:
            self._observer.answer_repaired(self._crd_name, repair.failure)

    def reconnect(self) -> None:
        self._client.reconnect()

    async def close(self) -> None:
        """Close the connections as soon as no call to the webhook is in progress."""
        await self._client.close()

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        if self._version is None and not all(map(is_empty, objects)):
            raise UnknownReasonError("no supported conversion review versions")
        return await self._batches.convert_where_needed(objects, to, lambda: self.address)

    async def _convert_batch(self, batch: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        try:
            async with self._client.open() as call:
                return await self._call_observed(call, batch, to)
        except WebhookConfigError as error:
            raise InternalError(f"error resolving resource: {error}") from error

    async def _call_observed(self, call: WebhookCall, batch: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        started, uid = time.monotonic(), self._uid()
        failure: AttemptError | None = None
        try:
            return await self._call(call, batch, to, uid)
        except AttemptError as error:
            failure = error
            failure.review = uid
            raise
        finally:
            if self._observer:
                self._observer.converter_called(self._crd_name, len(batch), time.monotonic() - started, failure)

    async def _call(self, call: WebhookCall, batch: Sequence[EncodedObject], to: str, uid: str) -> list[JsonObject]:
        version = self._version or "v1"
        objects = [item.obj for item in batch]
        body = conversion_messages.request(version, uid, to, [item.encoded for item in batch])
        max_bytes = min(_MAX_BATCH_RESPONSE_BYTES, (len(batch) + 1) * _MAX_OBJECT_BYTES)
        try:
            response = await call.post(body, _MAX_RESPONSE_BYTES if len(batch) == 1 else max_bytes, self._seconds)
        except TransportError as error:
            message = f"{error_prefix(objects[0])} failed: {error.text}"
            raise AttemptError(message, CALL, error.cause, divisible=error.divisible, hint=error.hint) from error
        problem = response_error(response)
        if problem is not None:
            raise _refused_response(f"{error_prefix(objects[0])} failed: {problem}", response)
        if len(response.body) <= _MAX_ON_LOOP_BYTES:
            return conversion_messages.parse_response(version, uid, response.body, objects, to)
        async with self._parse_lock:  # Two parsing threads would only compete for the GIL.
            return await asyncio.to_thread(conversion_messages.parse_response, version, uid, response.body, objects, to)


def _refused_response(message: str, response: HTTPResponse) -> AttemptError:
    """Return the error for an HTTP response that is no review. kube-apiserver loses most of its text."""
    cause, status = ("Answer", 0) if response.succeeded else ("HTTPStatus", response.status)
    divisible, detail = response.status not in _INDIVISIBLE_STATUSES, body_excerpt(response.body, message)
    return AttemptError(message, CALL, cause, status=status, divisible=divisible, detail=detail)
