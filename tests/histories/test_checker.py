"""The checker accepts histories that are right, and finds each kind of violation."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import pytest

from tests.histories.checker import check
from tests.histories.history import (
    EVERYTHING,
    Change,
    Event,
    History,
    ListPage,
    ListRead,
    Log,
    Read,
    Selection,
    State,
    Stream,
    Write,
)

T = TypeVar("T")
LEFT = Selection(side="left")
A1 = State(11, "u1", "1", "left")
A2 = State(14, "u1", "2", "right")
B1 = State(16, "u2", "3", "left")
A3 = State(18, "u3", "4", "left")


def _events(*changes: tuple[str, str, State]) -> list[Event]:
    return [Event(kind, name, state, 50.0) for kind, name, state in changes]


ALL = [("ADDED", "a", A1), ("MODIFIED", "a", A2), ("ADDED", "b", B1)]
GONE = ("DELETED", "a", A2._replace(revision=17))
BOOKMARK = ("BOOKMARK", "", State(16, "", "", ""))


def good() -> tuple[History, Log]:
    """Return a history without a violation, and its log."""
    log = Log([Change(11, "a", A1), Change(14, "a", A2), Change(16, "b", B1), Change(17, "a", None)])
    log.changes = [*log.changes, Change(18, "a", A3)]
    history = History(
        writes=[
            Write("create", "a", 0, 1, "done", 0, "1", "left", 11, "u1"),
            Write("update", "a", 2, 4, "done", 11, "2", "right", 14, "u1"),
            Write("update", "a", 5, 6, "conflict", 11, "9", "left"),
            Write("create", "b", 7, 9, "unknown", 0, "3", "left"),
            Write("delete", "a", 10, 12, "done", uid="u1"),
            Write("create", "a", 14, 16, "done", 0, "4", "left", 18, "u3"),
        ],
        reads=[
            Read("a", 0.5, 1.5, A1),
            Read("a", 2.5, 3.5, A1),
            Read("a", 2.5, 3.5, A2),
            Read("a", 12.5, 13, None),
            Read("a", 20, 21, A2, fresh=False, not_older_than=12),
        ],
        lists=[
            ListRead(9, 9.5, [ListPage(16, [("a", A2)], 1), ListPage(16, [("b", B1)])]),
            ListRead(9, 9.5, [ListPage(16, [("b", B1)])], LEFT),
            ListRead(20, 21, [ListPage(15, [("a", A2)])], fresh=False, exact=15),
        ],
        streams=[
            Stream(1, 0, events=_events(*ALL, BOOKMARK, GONE, ("ADDED", "a", A3)), must_reach=18),
            Stream(1, 14, events=_events(ALL[2], GONE)),
            Stream(
                1,
                0,
                LEFT,
                _events(ALL[0], ("DELETED", "a", A1._replace(revision=14)), ALL[2], ("ADDED", "a", A3)),
            ),
            Stream(10, -1, events=[*_events(("ADDED", "a", A2), ALL[2]), _initial_end(16), *_events(GONE)]),
        ],
    )
    return history, log


def _initial_end(revision: int) -> Event:
    return Event("BOOKMARK", "", State(revision, "", "", ""), 51.0, True)


def test_right_history_has_no_violation() -> None:
    result = check(*good())
    assert result.violations == []
    assert (result.writes, result.unknown, result.reads, result.lists, result.streams) == (6, 1, 5, 3, 4)


Wrong = Callable[[History, Log], object]


def _set(items: list[T], index: int, **fields: object) -> None:
    items[index] = replace(items[index], **fields)  # type: ignore[type-var]


def _events_of(history: History, *changes: tuple[str, str, State]) -> None:
    history.streams[0].events = _events(*changes)


def _lose(history: History, log: Log) -> None:
    log.changes = log.changes[:-1]


def _lose_event(history: History, log: Log) -> None:
    del history.streams[0].events[1]


WRONG: dict[str, tuple[Wrong, str]] = {
    "lost write": (_lose, "a: the create that was acknowledged at 18 is lost"),
    "lost deletion": (
        lambda history, log: history.writes.append(Write("delete", "b", 20, 21, "done", uid="u2")),
        "b: the delete that was acknowledged at 0 is lost",
    ),
    "double write": (
        lambda history, log: setattr(log, "changes", [*log.changes, Change(20, "b", State(20, "u9", "3", "left"))]),
        "b: one create was done at 16 and at 20",
    ),
    "repeated write": (
        lambda history, log: setattr(log, "changes", [*log.changes, Change(20, "b", B1._replace(revision=20))]),
        "b: revision 20 repeats the write of 16",
    ),
    "refused write that happened": (
        lambda history, log: _set(history.writes, 3, outcome="rejected"),
        "b: the create at 16 was refused (rejected), but is in the log",
    ),
    "write by no client": (lambda history, log: history.writes.pop(3), "b: no client wrote revision 16"),
    "deletion by no client": (lambda history, log: history.writes.pop(4), "a: no client wrote revision 17"),
    "update that creates an object": (
        lambda history, log: _set(history.writes, 5, verb="update", expect=None),
        "a: the update at 18 changed an object that did not exist",
    ),
    "replaced object": (
        lambda history, log: setattr(log, "changes", [*log.changes[:1], Change(14, "a", A2._replace(uid="u7"))]),
        "a: the update at 14 changed the uid from u1 to u7",
    ),
    "broken compare-and-swap": (
        lambda history, log: _set(history.writes, 1, expect=9),
        "a: the update at 14 replaced 11, but expected 9",
    ),
    "refusal without a reason": (
        lambda history, log: history.writes.append(Write("update", "b", 20, 21, "conflict", 16)),
        "b: a update over 16 was refused, but it is the newest",
    ),
    "early refusal": (
        lambda history, log: history.writes.append(Write("update", "a", 0, 1.5, "conflict", 11)),
        "but a update was refused at 1.500",
    ),
    "wrong revision in the answer": (
        lambda history, log: _set(history.writes, 1, revision=15),
        "a: the update was acknowledged at 15, but is at 14",
    ),
    "late effect": (
        lambda history, log: _set(history.writes, 1, begin=15, end=15.5),
        "revision 14 (a) has no moment",
    ),
    "two deletions of one object": (
        lambda history, log: history.writes.append(Write("delete", "a", 10, 12, "done", uid="u1")),
        "a: two deletions of u1 were acknowledged",
    ),
    "stale read": (
        lambda history, log: history.reads.append(Read("a", 5, 6, A1)),
        "revision 14 (a) has no moment: a was read as 11 from 5.000 to 6.000",
    ),
    "read back in time after a newer read": (
        lambda history, log: history.reads.extend([Read("a", 2, 2.2, A2), Read("a", 2.4, 2.6, A1)]),
        "revision 14 (a) has no moment",
    ),
    "stale absence": (
        lambda history, log: history.reads.append(Read("a", 5, 6, None)),
        "a was absent between 5.000 and 6.000, which the log does not allow",
    ),
    "create refused because of an object that is gone": (
        lambda history, log: history.writes.append(Write("create", "a", 12.5, 13, "exists", 0, "7", "left")),
        "a was present between 12.500 and 13.000, which the log does not allow",
    ),
    "read of the future": (
        lambda history, log: history.reads.append(Read("a", 0, 1, A2)),
        "but a was read as 14 from 0.000 to 1.000",
    ),
    "read of a state that never was": (
        lambda history, log: history.reads.append(Read("a", 5, 6, A2._replace(value="8"))),
        "the store never had it",
    ),
    "read older than asked for": (
        lambda history, log: _set(history.reads, 4, not_older_than=17),
        "but it had to be as new as 17",
    ),
    "stale list": (
        lambda history, log: history.lists.append(ListRead(9.6, 9.8, [ListPage(14, [("a", A2)])])),
        "revision 16 (b) has no moment: a list showed 14",
    ),
    "list of the future": (
        lambda history, log: history.lists.append(ListRead(5, 6, [ListPage(16, [("a", A2), ("b", B1)])])),
        "but a list showed 16 from 5.000 to 6.000",
    ),
    "list with an older object": (
        lambda history, log: history.lists[0].pages[0].items.__setitem__(0, ("a", A1)),
        "differs from the log: a is State(revision=11",
    ),
    "list with a newer object": (
        lambda history, log: history.lists[2].pages[0].items.append(("b", B1)),
        "differs from the log: b is State(revision=16",
    ),
    "list that lacks an object": (
        lambda history, log: history.lists[0].pages.pop(),
        "differs from the log: b is None",
    ),
    "list in another order": (
        lambda history, log: history.lists[0].pages.reverse(),
        "differs from the log: the order of names",
    ),
    "pages of two revisions": (
        lambda history, log: history.lists[0].pages.__setitem__(1, ListPage(15, [("b", B1)])),
        "has pages of revisions [15, 16]",
    ),
    "wrong remainder": (
        lambda history, log: history.lists[0].pages.__setitem__(0, ListPage(16, [("a", A2)], 2)),
        "says that 2 objects remain, but it is 1",
    ),
    "list at another revision": (lambda history, log: _set(history.lists, 2, exact=14), "should be exactly at 14"),
    "list older than asked for": (
        lambda history, log: _set(history.lists, 2, exact=0, not_older_than=16),
        "should not be older than 16",
    ),
    "selector that disagrees": (
        lambda history, log: history.lists[1].pages[0].items.insert(0, ("a", A2)),
        "differs from the log: a is State(revision=14",
    ),
    "gap in a watch": (_lose_event, "got ('ADDED', 'b'"),
    "missing last event of a watch": (
        lambda history, log: history.streams[0].events.pop(),
        "a watch from 0 of Selection(side='', name='') never got the event at 18",
    ),
    "repeated event": (lambda history, log: _events_of(history, *ALL, ALL[2]), "got ADDED b 16 after 16"),
    "reordered events": (lambda history, log: _events_of(history, ALL[1], ALL[0]), "got ('MODIFIED', 'a'"),
    "event before the first revision": (
        lambda history, log: history.streams[1].events.insert(0, _events(ALL[1])[0]),
        "got MODIFIED a 14 after 14",
    ),
    "travel in time after a restart": (
        lambda history, log: _events_of(history, *ALL, GONE, ALL[2]),
        "got ADDED b 16 after 17",
    ),
    "wrong type of event": (
        lambda history, log: _events_of(history, ALL[0], ("ADDED", "a", A2)),
        "got ('ADDED', 'a'",
    ),
    "deletion without the last state": (
        lambda history, log: _events_of(history, *ALL, ("DELETED", "a", A1._replace(revision=17))),
        "got ('DELETED', 'a'",
    ),
    "event of an object that is not selected": (
        lambda history, log: history.streams[2].events.insert(1, _events(ALL[1])[0]),
        "got ('MODIFIED', 'a'",
    ),
    "selected object that stays": (lambda history, log: history.streams[2].events.pop(1), "got ('ADDED', 'b'"),
    "bookmark before an event": (
        lambda history, log: _events_of(history, ALL[0], BOOKMARK, ALL[1]),
        "got a bookmark at 16 before the event at 14",
    ),
    "event behind a bookmark": (
        lambda history, log: history.streams[0].events.insert(4, _events(ALL[2])[0]),
        "got ADDED b 16 after 16",
    ),
    "bookmark that goes back": (
        lambda history, log: _events_of(history, *ALL, GONE, BOOKMARK),
        "got BOOKMARK  16 after 17",
    ),
    "initial events without an object": (
        lambda history, log: history.streams[3].events.pop(0),
        "differs from the log: a is None",
    ),
    "initial events without a marked end": (
        lambda history, log: history.streams[3].events.__setitem__(2, _events(BOOKMARK)[0]),
        "the first bookmark of a watch does not end the initial events",
    ),
    "repeated initial event": (
        lambda history, log: history.streams[3].events.insert(0, _events(("ADDED", "a", A1))[0]),
        "the initial events of a watch have ('ADDED', 'a'",
    ),
    "stale initial events": (
        lambda history, log: _set(history.streams, 3, begin=13),
        "revision 17 (a) has no moment",
    ),
    "initial bookmark with a wrong revision": (
        lambda history, log: history.streams[3].events.__setitem__(2, _initial_end(18)),
        "differs from the log: a is State(revision=14",
    ),
    "event before its write": (
        lambda history, log: history.streams[0].events.__setitem__(0, Event("ADDED", "a", A1, -1.0)),
        "but a watch delivered it at -1.000",
    ),
    "refused revision that was not compacted": (
        lambda history, log: history.streams.append(Stream(20, 14, expired="too old")),
        "a watch from 14 was refused (too old), but was never compacted",
    ),
    "refused list that was not compacted": (
        lambda history, log: history.expired_reads.append(12),
        "revision 12 was refused as too old, but was never compacted",
    ),
    "log that goes back": (
        lambda history, log: setattr(log, "changes", [*log.changes, Change(17, "b", None)]),
        "the log has revision 17 after 18",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_history_is_found(name: str) -> None:
    history, log = copy.deepcopy(good())
    make_wrong, expected = WRONG[name]
    make_wrong(history, log)
    violations = check(history, log).violations
    assert any(expected in violation for violation in violations), violations


def test_compacted_revisions_may_be_refused() -> None:
    history, log = good()
    history.streams.append(Stream(20, 14, expired="too old"))
    history.expired_reads.append(14)
    log.compacted = 14
    assert check(history, log).violations == []


def test_objects_before_the_log_are_known() -> None:
    old = State(5, "u0", "0", "left")
    history = History(
        writes=[Write("delete", "o", 1, 2, "done", uid="u0")],
        reads=[Read("o", 0, 1, old), Read("o", 3, 4, None)],
        lists=[ListRead(0, 1, [ListPage(8, [("o", old)])])],
        streams=[Stream(0, 7, events=_events(("DELETED", "o", old._replace(revision=9))))],
    )
    log = Log([Change(9, "o", None)], initial={"o": old}, start=7)
    assert check(history, log).violations == []
    history.reads.append(Read("o", 5, 6, old))
    assert check(history, log).violations != []


def test_rewrites_are_allowed_in_a_migration() -> None:
    history, log = good()
    log.changes = [*log.changes, Change(20, "b", B1._replace(revision=20))]
    history.streams[0].events += _events(("MODIFIED", "b", B1._replace(revision=20)))
    log.rewrites = True
    assert check(history, log).violations == []


class Step(NamedTuple):
    """One operation on one object: a write of `revision` over `expect`, or a read of `revision` if `expect` is -1."""

    begin: float
    end: float
    revision: int
    expect: int = -1


def search(steps: list[Step]) -> bool:
    """Search for an order of operations on one object that explains their results: the algorithm of Wing and Gong,
    with Lowe's memory of what was tried.

    The state of the model is the revision of the object. This is the definition of linearizability, without the
    checker's shortcut by the order of revisions, and too slow for long histories.
    """
    tried: set[tuple[frozenset[int], int]] = set()

    def explained(left: frozenset[int], revision: int) -> bool:
        if not left:
            return True
        if (left, revision) in tried:
            return False
        tried.add((left, revision))
        first_end = min(steps[i].end for i in left)
        return any(
            explained(left - {i}, steps[i].revision)
            for i in left
            if steps[i].begin <= first_end
            and revision == (steps[i].expect if steps[i].expect >= 0 else steps[i].revision)
        )

    return explained(frozenset(range(len(steps))), 0)


def _random_steps(chance: random.Random) -> list[Step]:
    """Return operations with moments at which they took effect, with some of their times or results changed."""
    steps, revision, now = [], 0, 0.0
    for _ in range(chance.randrange(2, 9)):
        now += 1
        begin, end = now - 2 * chance.random(), now + 2 * chance.random()
        if chance.random() < 0.5:
            steps.append(Step(begin, end, revision + 1, revision))
            revision += 1
        elif revision:
            steps.append(Step(begin, end, revision))
    for index, step in enumerate(steps):
        if chance.random() < 0.3:
            moved = 6 * chance.random() - 3
            steps[index] = step._replace(begin=step.begin + moved, end=step.end + moved)
        elif step.expect < 0 and chance.random() < 0.2:
            steps[index] = step._replace(revision=chance.randrange(1, revision + 1))
    return steps


def _as_history(steps: Iterable[Step]) -> tuple[History, Log]:
    history, changes = History(), []
    for begin, end, revision, expect in steps:
        state = State(revision, "u", str(revision), "")
        if expect < 0:
            history.reads.append(Read("a", begin, end, state))
        else:
            verb = "update" if expect else "create"
            history.writes.append(Write(verb, "a", begin, end, "done", expect, str(revision), "", revision))
            changes.append(Change(revision, "a", state))
    return history, Log(changes)


def test_checker_agrees_with_a_search_of_all_orders() -> None:
    chance = random.Random(0)
    counts = {True: 0, False: 0}
    for _ in range(3000):
        steps = _random_steps(chance)
        found = search(steps)
        counts[found] += 1
        violations = check(*_as_history(steps)).violations
        assert (violations == []) is found, (steps, violations)
    assert min(counts.values()) > 300, counts


def test_selection_of_everything_matches_every_object() -> None:
    assert EVERYTHING.matches("a", A1)
    assert not Selection(name="b").matches("a", A1)
