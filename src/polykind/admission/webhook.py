"""A webhook: which writes it is asked about, how it is called, and what becomes of a call that fails."""

from __future__ import annotations

import logging
import math
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from polykind import errors
from polykind.admission import admission_review, rules, selection
from polykind.admission.admission_review import Denied, Misanswered, Shown, Verdict
from polykind.admission.attributes import Attributes
from polykind.admission.authorizing import authorizer_values
from polykind.admission.conditions import IGNORE, Conditions, MatchFailure
from polykind.admission.expressionvalues import request_value
from polykind.admission.webhook_rules import HARMLESS
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.selectors.selector_objects import compile_label_selector
from polykind.webhook import envelope, status_errors
from polykind.webhook.client import WebhookClient, WebhookConfigError
from polykind.webhook.resolver import Resolver
from polykind.webhook.transport_errors import Fault

log = logging.getLogger("polykind.admission")

_ANSWER_BYTES = 16 * 1024 * 1024
_DEFAULT_SECONDS = 10
_GRACE = 5.0
"""Seconds that a call goes on when the client's time is over: until then its request has been ended."""


class Observer(Protocol):
    """Who counts calls. Must return at once."""

    def asked(self, webhook: str, kind: str, operation: str, seconds: float, code: int, *, rejected: bool) -> None:
        """A webhook was called: `kind` is admit or validating, `code` the HTTP status of what came of it."""

    def rejected(self, webhook: str, kind: str, operation: str, error: str, code: int) -> None:
        """A write was refused because of a webhook."""

    def failed_open(self, webhook: str, kind: str) -> None:
        """A webhook could not be asked, and was passed over."""


class CallFailed(Exception):
    """A webhook that could not be asked, or has not answered as it must; `code` is what it is counted as."""

    def __init__(self, webhook: str, why: str, code: int = 503) -> None:
        super().__init__(f"failed calling webhook {go_quote(webhook)}: {why}")
        self.code = code


class Webhooks(ABC):
    """The webhooks of all configurations of a kind, as a step of admission."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.webhooks: Sequence[Webhook] = ()

    @property
    def active(self) -> bool:
        return bool(self.webhooks)

    def configure(self, webhooks: Sequence[Webhook]) -> None:
        """Who is asked from now on."""
        self.webhooks = tuple(webhooks)

    async def admit(self, asked: Attributes) -> None:
        if not rules.exempt(asked):
            await self.ask(asked)

    @abstractmethod
    async def ask(self, asked: Attributes) -> None:
        """Ask those whom a write concerns."""


class Webhook:
    """One webhook of a configuration, as decoded, with its own line to call it by.

    `index` tells webhooks of the same name in the same configuration apart.
    """

    def __init__(
        self,
        configuration: str,
        stanza: JsonObject,
        index: int,
        resolver: Resolver,
        *,
        mutating: bool,
        uid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.name: str = stanza["name"]
        self.uid = f"{configuration}/{self.name}/{index}"
        self.reinvoked = stanza.get("reinvocationPolicy") == "IfNeeded"
        self._mutating = mutating
        self.ignored = stanza.get("failurePolicy") == IGNORE
        """Whether a failed call is passed over."""
        self._rules = [rules.Rule(rule) for rule in stanza.get("rules") or ()]
        self._match_policy: str = stanza.get("matchPolicy") or "Equivalent"
        self._namespaces = compile_label_selector(stanza.get("namespaceSelector"))
        self._objects = compile_label_selector(stanza.get("objectSelector"))
        conditions = stanza.get("matchConditions")
        self._conditions = Conditions(conditions, stanza.get("failurePolicy") or "Fail") if conditions else None
        self._side_effects: str | None = stanza.get("sideEffects")
        self._seconds: int = stanza.get("timeoutSeconds") or _DEFAULT_SECONDS
        self._version = envelope.supported(stanza.get("admissionReviewVersions") or [])
        self._line = WebhookClient(stanza["clientConfig"], self.name, resolver, bare=True)
        self._new_uid = uid

    async def close(self) -> None:
        await self._line.close()

    def version(self, asked: Attributes) -> str | None:
        """The version of the resource at which a write is told to this webhook; None if it is none of its business."""
        if not selection.selects(self._objects, asked):
            return None
        version = rules.matching_version(self._rules, asked, self._match_policy)
        if version is None or not selection.in_namespace(self._namespaces, asked):
            return None
        return version

    @property
    def conditional(self) -> bool:
        """Whether the objects themselves must be looked at to know whether it is asked."""
        return self._conditions is not None

    async def meant(self, asked: Attributes, shown: Shown) -> bool:
        """Whether its match conditions hold. Raises Forbidden if that cannot be told, unless failures are ignored."""
        if self._conditions is None:
            return True
        values = {"object": shown.obj, "oldObject": shown.old, "request": request_value(asked, shown.api_version)}
        if self._conditions.asks:
            values |= authorizer_values(asked)
        try:
            return await self._conditions.match(values)
        except MatchFailure as failure:
            resource = asked.resource
            raise errors.ForbiddenError(resource.plural, resource.group, asked.name, str(failure)) from None

    async def ask(
        self, asked: Attributes, shown: Shown, observer: Observer, use: Callable[[Verdict], None] | None = None
    ) -> None:
        """Ask for consent, and `use` it: a webhook that cannot be asked, or used, is passed over if that is ignored.

        Raises what the client is told.
        """
        kind, started = "admit" if self._mutating else "validating", time.monotonic()

        def tell(code: int, error: str | None = None) -> None:
            if error is not None:
                observer.rejected(self.name, kind, asked.operation, error, code)
            spent = time.monotonic() - started
            observer.asked(self.name, kind, asked.operation, spent, code, rejected=error is not None)

        try:
            verdict = await self._ask(asked, shown)
            if use is not None:
                use(verdict)
        except CallFailed as failure:
            if self.ignored:
                tell(failure.code)
                observer.failed_open(self.name, kind)
                log.warning("passed over: %s", failure)
                return
            tell(failure.code, "calling_webhook_error")
            raise errors.InternalError(str(failure)) from failure
        except Denied as refusal:
            tell(refusal.code, "no_error")
            raise
        except errors.APIError:
            tell(0, "apiserver_internal_error")
            raise
        tell(200)

    def _patience(self, asked: Attributes) -> tuple[float, float]:
        """How many seconds a call may take, and how many it is told: no more than the client waits.

        A client that waits no longer than this has its request ended by whoever counts its time, before the call ends.
        """
        if asked.patience is None or asked.patience > self._seconds:
            return self._seconds, self._seconds
        told = max(1, math.ceil(asked.patience))
        return told + _GRACE, told

    async def _ask(self, asked: Attributes, shown: Shown) -> Verdict:
        if asked.dry_run:
            if self._side_effects is None:
                raise CallFailed(self.name, "Webhook SideEffects is nil", 400)
            if self._side_effects not in HARMLESS:
                raise errors.BadRequestError(f"admission webhook {go_quote(self.name)} does not support dry run")
        if self._version is None:
            why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise CallFailed(self.name, f"could not create admission objects: {why}", 400)
        uid = self._new_uid()
        body = admission_review.request(self._version, uid, asked, shown)
        try:
            async with self._line.open() as session:
                got = await session.post(body, _ANSWER_BYTES, *self._patience(asked))
        except WebhookConfigError as error:
            raise CallFailed(self.name, f"could not get REST client: {error}", 500) from error
        except Fault as fault:
            raise CallFailed(self.name, f"failed to call webhook: {fault.text}") from fault
        complaint = status_errors.complaint(got)
        if complaint is not None:
            code = 503 if 200 <= got.status <= 206 else got.status
            raise CallFailed(self.name, f"failed to call webhook: {complaint}", code)
        try:
            verdict = admission_review.answered(self._version, uid, got.body, mutating=self._mutating)
        except Misanswered as error:
            raise CallFailed(self.name, str(error)) from None
        for text in verdict.warnings:
            asked.warn(text)
        if not verdict.allowed:
            raise Denied(self.name, verdict.status)
        return verdict
