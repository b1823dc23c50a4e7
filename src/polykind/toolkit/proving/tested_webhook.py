"""The webhook of a CRD as a tested converter: reviews with several objects, over kept connections, with a timeout."""

from __future__ import annotations

import asyncio
import base64
import threading
import uuid
import weakref
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from polykind.contract import JsonObject
from polykind.conversion import conversion_messages
from polykind.conversion.conversion_errors import AttemptError, error_prefix
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD, CRDVersion
from polykind.toolkit.proving.lockstep import current_check, run_in_lockstep
from polykind.toolkit.proving.round_trip import (
    CALL_SECONDS,
    ConversionFailedError,
    ConverterUnavailableError,
    TestedConverter,
)
from polykind.webhook import review_envelope
from polykind.webhook.client import WebhookClient, WebhookConfigError
from polykind.webhook.response_errors import response_error
from polykind.webhook.target import Resolver, TargetError
from polykind.webhook.transport_errors import TransportError

T = TypeVar("T")
_MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_CONCURRENCY = 48
_MAX_FAILED_CALLS = 3
"""The number of calls without a response after which a run ends."""


def client_config(url: str, ca: Path | None) -> JsonObject:
    """Return the clientConfig of a webhook at a URL. `ca` is a file of trusted CAs.

    Raise ValueError if the file cannot be read.
    """
    if ca is None:
        return {"url": url}
    try:
        return {"url": url, "caBundle": base64.b64encode(ca.read_bytes()).decode()}
    except OSError as error:
        raise ValueError(f"--ca {ca}: {error.strerror}") from None


class _Request(NamedTuple):
    """Objects to convert to one version. A request with several objects is sent as a review of its own."""

    objects: list[JsonObject]
    goal: CRDVersion


class _NoResponseError(ConversionFailedError):
    """The webhook did not respond to a call."""

    def __init__(self, text: str, *, timed_out: bool = False) -> None:
        super().__init__(text)
        self.timed_out = timed_out


class TestedWebhook(TestedConverter):
    """Calls a conversion webhook. `config` is spec.conversion.webhook of a v1 CRD."""

    __test__ = False
    concurrency = _CONCURRENCY
    shares_memory = False

    def __init__(
        self,
        crd: CRD,
        config: JsonObject,
        resolver: Resolver | None = None,
        *,
        verify: bool = True,
        seconds: float = CALL_SECONDS,
    ) -> None:
        """Raise ValueError if the webhook cannot be called with this configuration."""
        self._client = WebhookClient(
            config.get("clientConfig") or {}, f"conversion webhook of {crd.name}", resolver or Resolver(), verify=verify
        )
        try:
            self.url = self._client.target().url
        except TargetError as error:
            raise ValueError(str(error)) from None
        super().__init__(Library(self.url, _Named(self.url)), crd, seconds)
        self._loop = asyncio.new_event_loop()
        version = review_envelope.choose_version(config.get("conversionReviewVersions") or ("v1",))
        if version is None:
            raise ValueError(f"the webhook of {crd.name} supports neither v1 nor v1beta1 of ConversionReview")
        self._version = version
        self._successes = 0
        self._failed_calls = 0
        self._hung: set[bytes] = set()
        """Objects, encoded, to which the webhook did not respond. They are not sent again."""
        self.calls = 0
        """The number of ConversionReviews that were sent."""
        self.close = weakref.finalize(self, _close, self._loop, self._client)
        """Closes the connections. Otherwise they are closed when this object is no longer used."""

    def run_together(self, checks: Sequence[Callable[[], T]]) -> list[T]:
        return run_in_lockstep(checks, self._answer)

    def call(self, obj: JsonObject, goal: CRDVersion) -> Any:
        return self._ask(_Request([obj], goal))[0]

    def review(self, objects: Sequence[JsonObject], goal: CRDVersion) -> list[JsonObject]:
        return self._ask(_Request(list(objects), goal)) if objects else []

    def _run_async(self, awaitable: Awaitable[Any]) -> Any:
        assert self._loop is not None
        return self._loop.run_until_complete(awaitable)

    def _ask(self, request: _Request) -> list[JsonObject]:
        check = current_check()
        if check is not None:
            return check.ask(request)  # type: ignore[no-any-return]
        return self._review(request.objects, request.goal.api_version)

    def _answer(self, requests: list[_Request]) -> list[Any]:
        """Return the converted objects, or an exception, for each request. Send single objects together."""
        replies: list[Any] = [None] * len(requests)
        groups: dict[str, list[int]] = {}
        for at, request in enumerate(requests):
            if len(request.objects) == 1:
                groups.setdefault(request.goal.api_version, []).append(at)
            else:
                replies[at] = self._try_review(request.objects, request.goal.api_version)
        for to, group in groups.items():
            sent = [requests[at].objects[0] for at in group]
            converted = self._try_review(sent, to)
            failed = isinstance(converted, ConversionFailedError) or not _same_identities(sent, converted)
            # The property order-kept reports faults of reviews with several objects. The others need single results.
            if failed and len(group) > 1:
                for at in group:
                    replies[at] = self._try_review(requests[at].objects, to)
            elif isinstance(converted, ConversionFailedError):
                replies[group[0]] = converted
            else:
                for at, obj in zip(group, converted, strict=True):
                    replies[at] = [obj]
        return replies

    def _try_review(self, objects: list[JsonObject], to: str) -> list[JsonObject] | ConversionFailedError:
        try:
            return self._review(objects, to)
        except ConversionFailedError as error:
            return error

    def _review(self, objects: list[JsonObject], to: str) -> list[JsonObject]:
        """Send one review. Raise ConversionFailedError if it fails, and ConverterUnavailableError if all fail."""
        self.calls += 1
        try:
            out: list[JsonObject] = self._run_async(self._send(objects, to))
        except _NoResponseError as error:
            self._failed_calls += 1
            if not self._successes and (not error.timed_out or self._failed_calls >= _MAX_FAILED_CALLS):
                raise ConverterUnavailableError(f"{self.url} cannot be called: {error}") from None
            if self._failed_calls >= _MAX_FAILED_CALLS:
                message = f"{self.url} has stopped responding after {self._successes} successful calls: {error}"
                raise ConverterUnavailableError(message) from None
            raise
        self._failed_calls = 0
        self._successes += 1
        return out

    async def _send(self, objects: list[JsonObject], to: str) -> list[JsonObject]:
        if len(objects) == 1 and self._hung and orjson.dumps(objects[0]) in self._hung:
            raise ConversionFailedError(f"no response within {self._seconds:g} seconds")
        uid = str(uuid.uuid4())
        body = conversion_messages.request(self._version, uid, to, [orjson.dumps(obj) for obj in objects])
        try:
            async with self._client.open() as call:
                response = await call.post(body, _MAX_RESPONSE_BYTES, self._seconds)
        except (TransportError, WebhookConfigError) as error:
            text = error.text if isinstance(error, TransportError) else str(error)
            timed_out = isinstance(error, TransportError) and error.cause == "Timeout"
            if timed_out:
                text = f"no response within {self._seconds:g} seconds"
                self._hung |= {orjson.dumps(obj) for obj in objects} if len(objects) == 1 else set()
            raise _NoResponseError(text, timed_out=timed_out) from None
        failure = response_error(response)
        if failure is not None:
            raise ConversionFailedError(f"the webhook does not return a ConversionReview: {failure}")
        try:
            return conversion_messages.decode_response(self._version, uid, response.body, objects)
        except AttemptError as error:
            prefix = error_prefix(objects[0])
            raise ConversionFailedError(error.message.removeprefix(prefix).removeprefix(" failed:").strip()) from None


def _same_identities(sent: list[JsonObject], received: list[JsonObject]) -> bool:
    return all(
        ((a.get("metadata") or {}).get("name"), (a.get("metadata") or {}).get("namespace"))
        == ((b.get("metadata") or {}).get("name"), (b.get("metadata") or {}).get("namespace"))
        for a, b in zip(sent, received, strict=True)
        if isinstance(b.get("metadata"), dict)
    )


class _Named:
    """Stands for a webhook where reports name the function of a converter."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __call__(self, obj: JsonObject, to: str) -> JsonObject:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._url


def _close(loop: asyncio.AbstractEventLoop, client: WebhookClient) -> None:
    def run() -> None:
        loop.run_until_complete(client.close())
        loop.close()

    # A thread, because garbage collection may call this function while another event loop runs in the current thread.
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
