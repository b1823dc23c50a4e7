"""An admission webhook: matching, calls and failure policy."""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections.abc import Callable
from typing import Protocol

from polykind import errors
from polykind.admission import admission_review, matcher
from polykind.admission.admission_review import AdmissionResponse, InvalidResponseError, WebhookDeniedError
from polykind.admission.attributes import Attributes
from polykind.admission.cel_variables import authorizer_values, request_value
from polykind.admission.match_conditions import IGNORE, MatchConditionError, MatchConditions
from polykind.admission.versioned_attributes import VersionedAttributes
from polykind.apis.admissionregistration.validation import DRY_RUN_SIDE_EFFECTS
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.json import encode_json
from polykind.selectors.selector_objects import compile_label_selector
from polykind.webhook import review_envelope
from polykind.webhook.client import WebhookClient, WebhookConfigError
from polykind.webhook.credentials import WebhookCredentials
from polykind.webhook.response_errors import HTTPResponse, body_excerpt, response_error
from polykind.webhook.target import Resolver
from polykind.webhook.transport_errors import TransportError
from polykind.workers import INLINE_BYTES

log = logging.getLogger("polykind.admission")

_MAX_RESPONSE_BYTES = 32 * 1024 * 1024
"""The maximum size of a response. kube-apiserver has no limit."""
_DEFAULT_SECONDS = 10
_GRACE = 5.0
"""Seconds added to a webhook call's timeout if the client's timeout limits the call.

The server responds to the client at the client's timeout, before the webhook call times out.
"""


class Observer(Protocol):
    """Receives call statistics. Its methods must not block."""

    def webhook_called(
        self, webhook: str, kind: str, operation: str, seconds: float, code: int, *, rejected: bool
    ) -> None:
        """Count a call. `kind` is "admit" or "validating", `code` the HTTP status of the response or error."""

    def webhook_rejected(self, webhook: str, kind: str, operation: str, error: str, code: int) -> None:
        """Count a request that was rejected because of a webhook."""

    def webhook_failed_open(self, webhook: str, kind: str) -> None:
        """Count a failed call after which the request goes on, because the failure policy is Ignore."""


class WebhookCallError(Exception):
    """A webhook call that failed or returned an invalid response. `code` is the HTTP status that metrics report."""

    def __init__(self, webhook: str, message: str, code: int = 503) -> None:
        super().__init__(f"failed calling webhook {go_quote(webhook)}: {message}")
        self.code = code

    def located(self, address: str, review: str, *facts: str) -> WebhookCallError:
        """Add what helps to find the fault: further facts, the webhook's address and the uid of the review."""
        added = "".join(f"; {fact}" for fact in facts if fact)
        self.args = (f"{self}{added}; while calling {address} (review {review})",)
        return self


class AdmissionWebhook:
    """One webhook of a ValidatingWebhookConfiguration or MutatingWebhookConfiguration.

    `index` distinguishes webhooks with the same name in one configuration.
    """

    def __init__(
        self,
        configuration: str,
        config: JsonObject,
        index: int,
        resolver: Resolver,
        *,
        mutating: bool,
        credentials: WebhookCredentials | None = None,
        uid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.name: str = config["name"]
        self.configuration = configuration
        self.uid = f"{configuration}/{self.name}/{index}"
        self.reinvoke_if_needed = config.get("reinvocationPolicy") == "IfNeeded"
        self._mutating = mutating
        self.ignore_failures = config.get("failurePolicy") == IGNORE
        """True if the failure policy ignores failed calls."""
        self._rules = matcher.Rules(config.get("rules"), config.get("matchPolicy") or "Equivalent")
        self._namespaces = compile_label_selector(config.get("namespaceSelector"))
        self._objects = compile_label_selector(config.get("objectSelector"))
        conditions = config.get("matchConditions")
        self._conditions = MatchConditions(conditions, config.get("failurePolicy") or "Fail") if conditions else None
        self._side_effects: str | None = config.get("sideEffects")
        self._seconds: int = config.get("timeoutSeconds") or _DEFAULT_SECONDS
        self._version = review_envelope.choose_version(config.get("admissionReviewVersions") or [])
        self._client = WebhookClient(
            config["clientConfig"], self.name, resolver, credentials=credentials, plain_timeouts=True
        )
        self._new_uid = uid

    async def close(self) -> None:
        await self._client.close()

    def matching_version(self, attributes: Attributes) -> str | None:
        """Return the apiVersion at which the webhook's rules match the request. Return None if they do not match."""
        if not matcher.object_matches(self._objects, attributes):
            return None
        version = self._rules.matching_version(attributes)
        if version is None or not matcher.namespace_matches(self._namespaces, attributes):
            return None
        return version

    @property
    def has_conditions(self) -> bool:
        """True if the webhook has match conditions. They need the objects at the version of its rule."""
        return self._conditions is not None

    async def conditions_match(self, attributes: Attributes, versioned: VersionedAttributes) -> bool:
        """True if all match conditions are true. Raise ForbiddenError if a condition fails and the failure policy is
        Fail.
        """
        if self._conditions is None:
            return True
        values = {
            "object": versioned.obj,
            "oldObject": versioned.old,
            "request": request_value(attributes, versioned.api_version),
        }
        if self._conditions.uses_authorizer:
            values |= authorizer_values(attributes)
        try:
            return await self._conditions.match(values)
        except MatchConditionError as error:
            resource = attributes.resource
            raise errors.ForbiddenError(resource.plural, resource.group, attributes.name, str(error)) from None

    async def call(
        self,
        attributes: Attributes,
        versioned: VersionedAttributes,
        observer: Observer,
        apply: Callable[[AdmissionResponse], bool] | None = None,
        place: str = "round_0_index_0",
    ) -> None:
        """Call the webhook and pass its response to `apply`. Raise APIError if the webhook rejects the request.

        `apply` returns True if it has changed the object. If the failure policy is Ignore, a failure of the call or of
        `apply` is only logged. `place` is the number of the call, for audit annotations.
        """
        kind, started = "admit" if self._mutating else "validating", time.monotonic()
        mutated = False

        def record(code: int, error: str | None = None) -> None:
            if error is not None:
                observer.webhook_rejected(self.name, kind, attributes.operation, error, code)
            seconds = time.monotonic() - started
            observer.webhook_called(self.name, kind, attributes.operation, seconds, code, rejected=error is not None)

        try:
            response = await self._call(attributes, versioned)
            if apply is not None:
                mutated = await attributes.compute(lambda: apply(response))
        except WebhookCallError as failure:
            if self.ignore_failures:
                attributes.notes.annotate_admission(f"failed-open.{self._annotation_prefix}/{place}", self.name)
                record(failure.code)
                observer.webhook_failed_open(self.name, kind)
                log.warning("admission: a webhook call failed, ignoring it because of the failure policy: %s", failure)
                return
            record(failure.code, "calling_webhook_error")
            log.warning("admission: a webhook call failed, rejecting the request: %s", failure)
            raise errors.InternalError(str(failure)) from failure
        except WebhookDeniedError as error:
            record(error.code, "no_error")
            raise
        except errors.APIError:
            record(0, "apiserver_internal_error")
            raise
        finally:
            layer = "mutating-webhook" if self._mutating else "validating-webhook"
            attributes.notes.track_latency(layer, time.monotonic() - started)
            if self._mutating:
                result = {"configuration": self.configuration, "webhook": self.name, "mutated": mutated}
                text = encode_json(result, sort_keys=False).decode()
                attributes.notes.annotate_admission(f"{self._annotation_prefix}/{place}", text)
        record(200)

    @property
    def _annotation_prefix(self) -> str:
        return f"{'mutation' if self._mutating else 'validating'}.webhook.admission.k8s.io"

    def _timeouts(self, attributes: Attributes) -> tuple[float, float]:
        """Return the timeout of a webhook call in seconds, and the `timeout` in the query of the webhook's URL.

        Both are the webhook's own timeout, unless less time remains until the client's timeout. Then the URL has the
        remaining time. The call itself may take longer, because the server responds at the client's timeout anyway.
        """
        if attributes.deadline is None:
            return self._seconds, self._seconds
        remaining = attributes.deadline - time.monotonic()
        if remaining > self._seconds:
            return self._seconds, self._seconds
        url_seconds = max(1, math.ceil(remaining))
        return url_seconds + _GRACE, url_seconds

    async def _call(self, attributes: Attributes, versioned: VersionedAttributes) -> AdmissionResponse:
        if attributes.dry_run:
            if self._side_effects is None:
                raise WebhookCallError(self.name, "Webhook SideEffects is nil", 400)
            if self._side_effects not in DRY_RUN_SIDE_EFFECTS:
                raise errors.BadRequestError(f"admission webhook {go_quote(self.name)} does not support dry run")
        if self._version is None:
            message = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise WebhookCallError(self.name, f"could not create admission objects: {message}", 400)
        uid = self._new_uid()
        version = self._version
        body = await attributes.compute(lambda: admission_review.request(version, uid, attributes, versioned))
        try:
            async with self._client.open() as call:
                http_response = await call.post(body, _MAX_RESPONSE_BYTES, *self._timeouts(attributes))
                self._check_response(http_response, uid)
                if len(http_response.body) > INLINE_BYTES:
                    attributes.grow()
                response = await attributes.compute(
                    lambda: admission_review.parse_response(version, uid, http_response.body, mutating=self._mutating)
                )
        except WebhookConfigError as error:
            raise WebhookCallError(self.name, f"could not get REST client: {error}", 500) from error
        except TransportError as error:
            failure = WebhookCallError(self.name, f"failed to call webhook: {error.text}")
            raise failure.located(self._client.address, uid, error.hint) from error
        except InvalidResponseError as error:
            raise WebhookCallError(self.name, str(error)).located(self._client.address, uid) from None
        for key, value in response.audit_annotations.items():
            attributes.notes.annotate_admission(f"{self.name}/{key}", value)
        for text in response.warnings:
            attributes.notes.warn(text)
        if not response.allowed:
            raise WebhookDeniedError(self.name, response.status)
        return response

    def _check_response(self, response: HTTPResponse, uid: str) -> None:
        """Raise WebhookCallError if an HTTP response has no review."""
        message = response_error(response)
        if message is None:
            return
        failure = WebhookCallError(
            self.name, f"failed to call webhook: {message}", 503 if response.succeeded else response.status
        )
        excerpt = body_excerpt(response.body, message)
        raise failure.located(self._client.address, uid, f'it said "{excerpt}"' if excerpt else "")
