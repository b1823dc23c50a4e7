"""The conversion strategy Webhook: objects are converted by calls to the webhook that the CRD names."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.conversion import conversion_messages
from polykind.conversion.batches import Batches, EncodedObject, is_empty
from polykind.conversion.conversion_errors import CALL, AttemptError, error_prefix
from polykind.conversion.conversion_observer import Observer
from polykind.conversion.monitored_converter import CALL_SECONDS
from polykind.errors import InternalError, UnknownReasonError
from polykind.webhook import review_envelope
from polykind.webhook.client import ClientCertificate, WebhookClient, WebhookConfigError
from polykind.webhook.target import Resolver, TargetError, string_or_empty
from polykind.webhook.transport_errors import TransportError, response_error

if TYPE_CHECKING:
    from polykind.webhook.presence import WebhookPresence
    from polykind.webhook.transport import Session

_MAX_OBJECT_BYTES = 3 * 1024 * 1024
_MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""The maximum size of a response. If a response is larger, the objects are sent again in smaller batches."""
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
        client_certificate: ClientCertificate | None = None,
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
            client_config, f"conversion_webhook_for_{crd_name}", resolver, client_certificate=client_certificate
        )
        self._seconds = seconds
        self._uid = uid
        self._observer = observer
        self._parse_lock = asyncio.Lock()
        self._batches = Batches(self._convert_batch, json_codec.encode)

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
        try:
            target = self._client.target()
        except TargetError:
            return self._url or "an unusable address"
        endpoint = target.endpoint(self._resolver)
        return target.url if endpoint == (target.server_name, target.port) else f"{target.url} (at {endpoint})"

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
            async with self._client.open() as session:
                return await self._call_observed(session, batch, to)
        except WebhookConfigError as error:
            raise InternalError(f"error resolving resource: {error}") from error

    async def _call_observed(self, session: Session, batch: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        started = time.monotonic()
        failure: AttemptError | None = None
        try:
            return await self._call(session, batch, to)
        except AttemptError as error:
            failure = error
            raise
        finally:
            if self._observer:
                self._observer.converter_called(self._crd_name, len(batch), time.monotonic() - started, failure)

    async def _call(self, session: Session, batch: Sequence[EncodedObject], to: str) -> list[JsonObject]:
        version, uid = self._version or "v1", self._uid()
        objects = [item.obj for item in batch]
        body = conversion_messages.request(version, uid, to, [item.encoded for item in batch])
        try:
            response = await session.post(
                body, min(_MAX_RESPONSE_BYTES, len(batch) * _MAX_OBJECT_BYTES + _MAX_OBJECT_BYTES), self._seconds
            )
        except TransportError as transport_error:
            message = f"{error_prefix(objects[0])} failed: {transport_error.text}"
            raise AttemptError(
                message, CALL, transport_error.cause, divisible=transport_error.divisible
            ) from transport_error
        error = response_error(response)
        if error is not None:
            success = 200 <= response.status <= 206
            cause, status = ("Answer", 0) if success else ("HTTPStatus", response.status)
            message = f"{error_prefix(objects[0])} failed: {error}"
            raise AttemptError(
                message, CALL, cause, status=status, divisible=response.status not in _INDIVISIBLE_STATUSES
            )
        if len(response.body) <= _MAX_ON_LOOP_BYTES:
            return conversion_messages.parse_response(version, uid, response.body, objects, to)
        async with self._parse_lock:  # Two parsing threads would only compete for the GIL.
            return await asyncio.to_thread(conversion_messages.parse_response, version, uid, response.body, objects, to)
