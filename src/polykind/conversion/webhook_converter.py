"""The strategy Webhook: objects are sent to a server that the CRD names, which answers with their other version."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.conversion import conversion_review
from polykind.conversion.batches import Batches, Item, Located
from polykind.conversion.empty import is_empty
from polykind.conversion.failure import CALL, ConversionFailedError, Failure, frame, text
from polykind.conversion.observer import Observer
from polykind.errors import InternalError, UnknownReasonError
from polykind.webhook import envelope, status_errors, trust
from polykind.webhook.client import WebhookClient, WebhookConfigError
from polykind.webhook.resolver import Resolver
from polykind.webhook.target import TargetError
from polykind.webhook.transport_errors import Fault

if TYPE_CHECKING:
    from polykind.webhook.transport import Session

SECONDS = 30.0
_OBJECT_BYTES = 3 * 1024 * 1024
_ANSWER_BYTES = 16 * 1024 * 1024
"""What an answer may have at most; one that has more is asked for in parts."""
_LOOP_BYTES = 128 * 1024
"""Answers above this are read in a thread."""
_HOPELESS = frozenset({401, 403, 404, 405, 407, 415, 429, 501, 502, 503, 504, 505})
"""HTTP statuses that say nothing of the objects sent: fewer would fare no better."""


class WebhookConverter:
    """Converts by a webhook. Nothing is read or opened before the first object that needs it.

    `stanza` is a v1 CRD's spec.conversion.webhook; `seconds` is the longest that one call may take.
    """

    def __init__(
        self,
        crd_name: str,
        stanza: JsonObject,
        resolver: Resolver,
        *,
        client_certificate: trust.ClientCertificate | None = None,
        seconds: float = SECONDS,
        uid: Callable[[], str] = lambda: str(uuid.uuid4()),
        observer: Observer | None = None,
    ) -> None:
        self._crd_name = crd_name
        config: JsonObject = stanza.get("clientConfig") or {}
        self._url = text(config.get("url"))
        self._version = envelope.supported(stanza.get("conversionReviewVersions") or ())
        self._resolver = resolver
        self._line = WebhookClient(
            config, f"conversion_webhook_for_{crd_name}", resolver, client_certificate=client_certificate
        )
        self._seconds = seconds
        self._uid = uid
        self._observer = observer
        self._reading = asyncio.Lock()
        self._batches = Batches(self._attempt, json_codec.encode)

    @property
    def name(self) -> str:
        """The URL that the CRD names."""
        try:
            return self._line.aim().url
        except TargetError:
            return self._url

    @property
    def address(self) -> str:
        """The URL called, as people are told it, and where a service was found if it is elsewhere."""
        try:
            aim = self._line.aim()
        except TargetError:
            return self._url or "an unusable address"
        place = aim.endpoint(self._resolver)
        return aim.url if place == (aim.server_name, aim.port) else f"{aim.url} (at {place})"

    @property
    def certificate_expires(self) -> datetime | None:
        """The end of the certificate that the webhook showed last."""
        return self._line.expires

    async def close(self) -> None:
        """Let go of connections: now, or when the last call under way has ended."""
        await self._line.close()

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        out: list[JsonObject] = []
        sent: list[int] = []
        for obj in objects:
            if is_empty(obj):
                out.append({**obj, "apiVersion": to})
                continue
            if obj.get("apiVersion") != to:
                sent.append(len(out))
            out.append(obj)
        if self._version is None and not all(map(is_empty, objects)):
            raise UnknownReasonError("no supported conversion review versions")
        if sent:
            try:
                converted = await self._batches.convert([out[i] for i in sent], to)
            except Located as error:
                raise ConversionFailedError(error.failure, error.obj, to, self.address) from error.failure
            for index, obj in zip(sent, converted, strict=True):
                out[index] = obj
        return out

    async def _attempt(self, part: Sequence[Item], to: str) -> list[JsonObject]:
        try:
            async with self._line.open() as session:
                return await self._observed(session, part, to)
        except WebhookConfigError as error:
            raise InternalError(f"error resolving resource: {error}") from error

    async def _observed(self, session: Session, part: Sequence[Item], to: str) -> list[JsonObject]:
        started = time.monotonic()
        failure: Failure | None = None
        try:
            return await self._call(session, part, to)
        except Failure as error:
            failure = error
            raise
        finally:
            if self._observer:
                self._observer.called(self._crd_name, len(part), time.monotonic() - started, failure)

    async def _call(self, session: Session, part: Sequence[Item], to: str) -> list[JsonObject]:
        version, uid = self._version or "v1", self._uid()
        objects = [item.obj for item in part]
        body = conversion_review.request(version, uid, to, [item.encoded for item in part])
        try:
            got = await session.post(body, min(_ANSWER_BYTES, len(part) * _OBJECT_BYTES + _OBJECT_BYTES), self._seconds)
        except Fault as fault:
            said = f"{frame(objects[0])} failed: {fault.text}"
            raise Failure(said, CALL, fault.cause, divisible=fault.divisible) from fault
        complaint = status_errors.complaint(got)
        if complaint is not None:
            fine = 200 <= got.status <= 206
            cause, status = ("Answer", 0) if fine else ("HTTPStatus", got.status)
            said = f"{frame(objects[0])} failed: {complaint}"
            raise Failure(said, CALL, cause, status=status, divisible=got.status not in _HOPELESS)
        if len(got.body) <= _LOOP_BYTES:
            return conversion_review.answered(version, uid, got.body, objects, to)
        async with self._reading:  # two such threads would only fight with each other, and with the loop
            return await asyncio.to_thread(conversion_review.answered, version, uid, got.body, objects, to)
