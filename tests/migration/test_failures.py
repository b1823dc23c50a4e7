"""What a failed migration says."""

from __future__ import annotations

from polykind.migration.failures import Failures
from polykind.schema.conditionrules import LONGEST_MESSAGE


def test_a_few_are_named_with_their_reasons() -> None:
    failures = Failures()
    failures.add("default/a", "stuck")
    assert failures.message() == (
        "migration encountered unhandled error: 1 object could not be migrated: default/a: stuck"
    )
    failures.add("default/b", "gone")
    assert failures.message() == (
        "migration encountered unhandled error: 2 objects could not be migrated: default/a: stuck; default/b: gone"
    )


def test_of_many_ten_are_named_and_all_fit_into_a_condition() -> None:
    failures = Failures()
    for number in range(1000):
        failures.add(f"{'n' * 63}/{number:0253}", "\U0001f9f1" * 20000)
    message = failures.message()
    assert message.startswith("migration encountered unhandled error: 1000 objects could not be migrated: ")
    assert message.endswith("; and 990 more")
    assert len(message.encode()) < LONGEST_MESSAGE


def test_what_is_no_text_is_replaced() -> None:
    failures = Failures()
    failures.add("default/a", "\ud800")
    assert failures.message().endswith(": default/a: ?")
