"""The history checker finds every kind of violation."""

from __future__ import annotations

from tests.replicas.history import Operation, Seen, faults, gaps


def write(begin: float, end: float, revision: int | None, value: str, expect: int) -> Operation:
    return Operation("write", "a", begin, end, revision, value, expect)


def read(begin: float, end: float, revision: int | None, value: str | None) -> Operation:
    return Operation("read", "a", begin, end, revision, value)


GOOD = [
    write(0, 1, 2, "x", 0),
    read(0.5, 2, 2, "x"),
    write(3, 4, 5, "y", 2),
    read(3.5, 3.9, 2, "x"),
    read(5, 6, 5, "y"),
]


def test_linearizable_history_has_no_faults() -> None:
    assert faults(GOOD) == []


def test_stale_read_is_found() -> None:
    assert faults([*GOOD, read(4.5, 5, 2, "x")]) == ["a: a read gave 2 when 5 was known already"]


def test_lost_write_is_found() -> None:
    lost = [*GOOD, write(7, 8, 9, "z", 2)]
    assert faults(lost) == ["a: 9 replaced 5, though it expected 2"]
    assert faults([*GOOD, read(7, 8, None, None)]) == ["a: a read gave None when 5 was known already"]


def test_value_without_a_write_is_found() -> None:
    assert faults([*GOOD, read(7, 8, 5, "z")]) == ["a: revision 5 was read as z, which nobody wrote so"]


def test_write_with_unknown_outcome_may_appear_later() -> None:
    unknown = [*GOOD, write(7, 8, None, "z", 5), read(20, 21, 5, "y"), read(30, 31, 9, "z")]
    assert faults(unknown) == []
    assert faults([*unknown, read(40, 41, 5, "y")]) == ["a: a read gave 5 when 9 was known already"]


def test_repeated_revision_is_found() -> None:
    assert faults([*GOOD, write(7, 8, 5, "z", 2)])[0] == "a: two writes got revision 5"


def test_read_before_its_write_is_found() -> None:
    assert faults([read(0, 1, 2, "x"), write(3, 4, 2, "x", 0)])[-1] == "a: 2 was read before it was written"


def test_unjustified_conflict_is_found() -> None:
    refused = Operation("conflict", "a", 7, 8, None, None, 5)
    assert faults([*GOOD, refused]) == ["a: a write over 5 was refused, but nobody had changed it"]
    assert faults([*GOOD, refused, write(7.5, 9, 10, "z", 5)]) == []


def test_watch_gaps_are_found() -> None:
    whole = [Seen("a", 2, "x"), Seen("a", 5, "y")]
    assert gaps(GOOD, whole, 0) == gaps(GOOD, whole[1:], 2) == []
    assert gaps(GOOD, whole[:1], 0) == ["a: revision 5 was never told"]
    assert gaps(GOOD, [*whole, whole[1]], 0) == ["a: revision 5 came after 5"]
    assert gaps(GOOD, [whole[0], Seen("a", 5, "z")], 0)[0].startswith("a: revision 5 was told as Seen")
