"""The health of a CRD's converter, and the condition ConversionHealthy in the CRD's status that reports the health.

The condition is computed from the health. The server writes the condition only if it differs from the CRD's current
condition, so that not every call to the converter causes a write.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import AttemptError

TYPE = "ConversionHealthy"
REPAIRED = "AnswersRepaired"
UNHEALTHY_FAILURES = 3
"""The number of consecutive failures that make a converter unhealthy. Fewer failures may be caused by one object."""
_EXPIRES_SOON = timedelta(days=14)
_MAX_ERROR_CHARS = 1024
_REASONS = {
    "Connection": "Unreachable",
    "TLS": "Untrusted",
    "Timeout": "TimedOut",
    "HTTPStatus": "HTTPError",
    "Size": "InvalidAnswer",
    "Answer": "InvalidAnswer",
    "Refused": "ConversionRefused",
    "Exception": "ConverterFailed",
}


class Health(msgspec.Struct, frozen=True):
    """The call statistics of a converter."""

    calls: int = 0
    failures: int = 0
    cause: str = ""
    error: str = ""
    succeeded_at: datetime | None = None
    certificate_expires: datetime | None = None
    repair: str = ""
    """Why the answers to large reviews are wrong, if the server gets right ones by smaller reviews."""

    def succeeded(self, now: datetime, certificate_expires: datetime | None = None, repair: str = "") -> Health:
        expires = certificate_expires or self.certificate_expires
        return replace(
            self,
            calls=self.calls + 1,
            failures=0,
            succeeded_at=now,
            certificate_expires=expires,
            repair=repair[:_MAX_ERROR_CHARS],
        )

    def failed(self, failure: AttemptError) -> Health:
        return replace(
            self,
            calls=self.calls + 1,
            failures=self.failures + 1,
            cause=failure.cause,
            error=(f"{failure.message} ({failure.detail})" if failure.detail else failure.message)[:_MAX_ERROR_CHARS],
        )


def condition(health: Health, now: datetime) -> JsonObject:
    """Return the condition ConversionHealthy that reports this health, without lastTransitionTime."""
    if not health.calls:
        return _condition("Unknown", "NotCalled", "no conversion has been asked for yet")
    if health.failures >= UNHEALTHY_FAILURES:
        since = "no call has succeeded yet"
        if health.succeeded_at:
            since = f"the last success was at {_time(health.succeeded_at)}"
        message = f"the last {health.failures} conversions failed, {since}: {health.error}"
        return _condition("False", _REASONS.get(health.cause, "ConverterFailed"), message)
    if not health.succeeded_at:
        return _condition("Unknown", "NoSuccessYet", f"no conversion has succeeded yet: {health.error}")
    expires = health.certificate_expires
    if expires and expires - now < _EXPIRES_SOON:
        return _condition(
            "True", "CertificateExpires", f"the converter's certificate ends at {_time(expires)}: renew it"
        )
    if health.repair:
        return _condition("True", REPAIRED, f"conversions succeed, but only in small reviews: {health.repair}")
    certificate = f", the converter's certificate ends at {_time(expires)}" if expires else ""
    return _condition("True", "Converting", f"conversions succeed{certificate}")


def transition(health: Health, previous: JsonObject | None, now: datetime) -> JsonObject | None:
    """Return the condition to write to a CRD whose current condition is `previous`, or None if no write is needed.

    A CRD whose converter has never failed gets no condition, so that its status is the same as in kube-apiserver.
    """
    current = condition(health, now)
    if previous is None:
        if current["status"] != "False" and current["reason"] not in ("CertificateExpires", REPAIRED):
            return None
    else:
        if current["status"] == "Unknown":
            return None
        if (previous.get("status"), previous.get("reason")) == (current["status"], current["reason"]):
            return None
        if previous.get("status") == "False" and 0 < health.failures < UNHEALTHY_FAILURES:
            return None
    same = previous is not None and previous.get("status") == current["status"]
    since = previous.get("lastTransitionTime") if previous and same else None
    return {**current, "lastTransitionTime": since or _time(now)}


def _condition(status: str, reason: str, message: str) -> JsonObject:
    return {"type": TYPE, "status": status, "reason": reason, "message": message}


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
