"""Who is asked a second time."""

from __future__ import annotations

from polykind.admission.reinvocation import Reinvocation


def test_in_the_first_round_all_are_due() -> None:
    asked = Reinvocation().of("step")
    assert asked.due("a")


def test_who_was_asked_before_a_change_and_wants_it_is_due_again() -> None:
    rounds = Reinvocation()
    asked = rounds.of("step")
    asked.invoked("a")
    asked.changed()
    asked.invoked("b")
    assert rounds.needed
    rounds.second = True
    assert asked.due("a")
    assert not asked.due("b")


def test_what_others_have_changed_since_makes_all_due_who_want_it() -> None:
    rounds = Reinvocation()
    asked, other = rounds.of("step"), rounds.of(0)
    asked.begin({"a": 1})
    asked.invoked("a")
    asked.end({"a": 1})
    other.changed()
    rounds.second = True
    asked.begin({"a": 1})
    assert not asked.due("a")
    asked.begin({"a": 2})
    assert asked.due("a")
    assert not other.due("a")
