from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from polykind.conversion.conversion_errors import CALL, ConversionAttemptError
from polykind.conversion.converter_health import Health, condition, transition

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
REFUSED = ConversionAttemptError("conversion webhook for g/v1, Kind=K failed: connection refused", CALL, "Connection")


def _failed(times: int, health: Health | None = None) -> Health:
    health = health or Health()
    for _ in range(times):
        health = health.failed(REFUSED)
    return health


def test_a_converter_never_called_is_unknown_and_not_written() -> None:
    assert condition(Health(), NOW) == {
        "type": "ConversionHealthy",
        "status": "Unknown",
        "reason": "NotCalled",
        "message": "no conversion has been asked for yet",
    }
    assert transition(Health(), None, NOW) is None


def test_a_converter_that_works_leaves_no_trace() -> None:
    assert condition(Health().succeeded(NOW), NOW)["status"] == "True"
    assert transition(Health().succeeded(NOW), None, NOW) is None


def test_one_failure_is_no_news_three_are() -> None:
    assert transition(_failed(2, Health().succeeded(NOW)), None, NOW) is None
    assert transition(_failed(3, Health().succeeded(NOW)), None, NOW) == {
        "type": "ConversionHealthy",
        "status": "False",
        "reason": "Unreachable",
        "message": "the last 3 conversions failed, the last success was at 2026-11-15T12:00:00Z: "
        "conversion webhook for g/v1, Kind=K failed: connection refused",
        "lastTransitionTime": "2026-11-15T12:00:00Z",
    }


def test_further_failures_are_not_written_again() -> None:
    written = transition(_failed(3), None, NOW)
    assert transition(_failed(300), written, NOW) is None


def test_another_reason_is_written_without_a_new_transition_time() -> None:
    written = transition(_failed(3), None, NOW)
    slow = _failed(3).failed(ConversionAttemptError("late", CALL, "Timeout"))
    later = transition(slow, written, NOW + timedelta(hours=1))
    assert later
    assert (later["status"], later["reason"]) == ("False", "TimedOut")
    assert later["lastTransitionTime"] == "2026-11-15T12:00:00Z"


def test_recovery_is_written_once() -> None:
    broken = _failed(3)
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


def test_a_new_process_does_not_overwrite_what_an_older_one_found() -> None:
    written = transition(_failed(3), None, NOW)
    assert transition(Health(), written, NOW) is None
    assert transition(_failed(1), written, NOW) is None


@pytest.mark.parametrize(("days", "reason"), [(13, "CertificateExpires"), (15, "Converting")])
def test_a_certificate_that_ends_soon_is_told(days: int, reason: str) -> None:
    health = Health().succeeded(NOW, NOW + timedelta(days=days))
    assert condition(health, NOW)["reason"] == reason
    assert (transition(health, None, NOW) is not None) == (reason == "CertificateExpires")
