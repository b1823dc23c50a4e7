"""Reinvocation of webhooks and policies."""

from __future__ import annotations

import gc
import weakref

from polykind.admission.admission_chain import Reinvocation


def test_first_round_invokes_all() -> None:
    plugin = Reinvocation().for_plugin("step")
    assert plugin.due("a")


def test_those_invoked_before_a_change_are_due_again() -> None:
    reinvocation = Reinvocation()
    plugin = reinvocation.for_plugin("step")
    plugin.invoked("a")
    plugin.changed()
    plugin.invoked("b")
    assert reinvocation.rounds.second_needed
    reinvocation.rounds.is_second = True
    assert plugin.due("a")
    assert not plugin.due("b")


def test_change_by_another_plugin_makes_all_due() -> None:
    reinvocation = Reinvocation()
    plugin, other = reinvocation.for_plugin("step"), reinvocation.for_plugin(0)
    plugin.begin({"a": 1})
    plugin.invoked("a")
    plugin.end({"a": 1})
    other.changed()
    reinvocation.rounds.is_second = True
    plugin.begin({"a": 1})
    assert not plugin.due("a")
    plugin.begin({"a": 2})
    assert plugin.due("a")
    assert not other.due("a")


class _Object(dict[str, object]):
    """An object that a weak reference can refer to."""


def test_last_object_is_freed_with_the_request() -> None:
    reinvocation, obj = Reinvocation(), _Object()
    reinvocation.for_plugin("step").end(obj)
    seen = weakref.ref(obj)
    gc.disable()
    try:
        del reinvocation, obj
        assert seen() is None
    finally:
        gc.enable()
