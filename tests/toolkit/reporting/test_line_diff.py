from __future__ import annotations

from polykind.toolkit.reporting.line_diff import DiffLine, align, unified


def shown(lines: list[DiffLine]) -> list[str]:
    return [f"{line.mark}:{line.text}" for line in lines]


def test_three_texts_are_aligned() -> None:
    before, converted, back = align("a\nb\nc\nd", "a\nB\nnew\nd", "a\nc\nD\ne")
    assert shown(before) == ["same:a", "removed:b", "same:c", "changed:d", "filler:"]
    assert shown(converted) == ["same:a", "other:B", "other:new", "same:d", "filler:"]
    assert shown(back) == ["same:a", "filler:", "same:c", "changed:D", "added:e"]
    assert [line.number for line in back] == [1, 0, 2, 3, 4]


def test_equal_and_empty_texts() -> None:
    assert [shown(column) for column in align("a", "a", "a")] == [["same:a"]] * 3
    assert [shown(column) for column in align("", "x", "")] == [["filler:"], ["other:x"], ["filler:"]]


def test_long_texts_are_not_matched() -> None:
    before, converted, back = align("a\n" * 6000, "b\n" * 7000, "a\n" * 10)
    assert len(before) == len(converted) == len(back) == 7000
    assert (back[9].mark, back[10].mark) == ("same", "filler")


def test_unified_diff_has_context_and_gaps() -> None:
    old = "\n".join(map(str, range(20)))
    lines = unified(old, old.replace("10", "ten"), context=1)
    assert shown(lines) == ["filler:", "same:9", "removed:10", "added:ten", "same:11"]
    assert unified("a", "a") == []
