from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from polykind.conversion.conversion_errors import CALL, AttemptError
from polykind.conversion.converter_health import Health, condition, transition

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
REFUSED = AttemptError("conversion webhook for g/v1, Kind=K failed: connection refused", CALL, "Connection")


def health_after_failures(times: int, health: Health | None = None) -> Health:
    health = health or Health()
    for _ in range(times):
        health = health.failed(REFUSED)
    return health


def test_uncalled_converter_is_unknown_and_has_no_condition() -> None:
    assert condition(Health(), NOW) == {
        "type": "ConversionHealthy",
        "status": "Unknown",
        "reason": "NotCalled",
        "message": "no conversion has been asked for yet",
    }
    assert transition(Health(), None, NOW) is None


def test_working_converter_has_no_condition() -> None:
    assert condition(Health().succeeded(NOW), NOW)["status"] == "True"
    assert transition(Health().succeeded(NOW), None, NOW) is None


def test_condition_is_written_after_three_failures() -> None:
    assert transition(health_after_failures(2, Health().succeeded(NOW)), None, NOW) is None
    assert transition(health_after_failures(3, Health().succeeded(NOW)), None, NOW) == {
        "type": "ConversionHealthy",
        "status": "False",
        "reason": "Unreachable",
        "message": "the last 3 conversions failed, the last success was at 2026-11-15T12:00:00Z: "
        "conversion webhook for g/v1, Kind=K failed: connection refused",
        "lastTransitionTime": "2026-11-15T12:00:00Z",
    }


def test_webhooks_own_words_are_in_the_condition() -> None:
    health = Health()
    for _ in range(3):
        health = health.failed(AttemptError("rejected", CALL, "HTTPStatus", status=400, detail="no such schedule"))
    assert condition(health, NOW)["message"].endswith("no call has succeeded yet: rejected (no such schedule)")


def test_repaired_answers_are_written_until_a_large_review_succeeds() -> None:
    repaired = transition(Health().succeeded(NOW, repair="a review of 2 objects failed: x"), None, NOW)
    assert repaired
    assert (repaired["status"], repaired["reason"]) == ("True", "AnswersRepaired")
    assert repaired["message"].endswith("only in small reviews: a review of 2 objects failed: x")
    fixed = transition(Health().succeeded(NOW), repaired, NOW)
    assert fixed
    assert fixed["reason"] == "Converting"


def test_refused_conversion_has_its_own_reason() -> None:
    health = Health()
    for _ in range(3):
        health = health.failed(AttemptError("told to fail", CALL, "Refused"))
    assert condition(health, NOW)["reason"] == "ConversionRefused"


def test_further_failures_write_no_new_condition() -> None:
    written = transition(health_after_failures(3), None, NOW)
    assert transition(health_after_failures(300), written, NOW) is None


def test_new_reason_keeps_the_transition_time() -> None:
    written = transition(health_after_failures(3), None, NOW)
    slow = health_after_failures(3).failed(AttemptError("late", CALL, "Timeout"))
    later = transition(slow, written, NOW + timedelta(hours=1))
    assert later
    assert (later["status"], later["reason"]) == ("False", "TimedOut")
    assert later["lastTransitionTime"] == "2026-11-15T12:00:00Z"


def test_recovery_is_written_once() -> None:
    broken = health_after_failures(3)
    written = transition(broken, None, NOW)
    well = broken.succeeded(NOW)
    later = transition(well, written, NOW + timedelta(hours=1))
    assert later
    assert (later["status"], later["reason"], later["lastTransitionTime"]) == (
        "True",
        "Converting",
        "2026-11-15T13:00:00Z",
    )
    assert transition(well.succeeded(NOW), later, NOW) is None


def test_restart_does_not_overwrite_the_condition() -> None:
    written = transition(health_after_failures(3), None, NOW)
    assert transition(Health(), written, NOW) is None
    assert transition(health_after_failures(1), written, NOW) is None


@pytest.mark.parametrize(("days", "reason"), [(13, "CertificateExpires"), (15, "Converting")])
def test_expiring_certificate_is_reported(days: int, reason: str) -> None:
    health = Health().succeeded(NOW, NOW + timedelta(days=days))
    assert condition(health, NOW)["reason"] == reason
    assert (transition(health, None, NOW) is not None) == (reason == "CertificateExpires")
