from __future__ import annotations

import pytest

from polykind.apis.batch.job_indexes import IndexesError, count_indexes, overlapping_index


@pytest.mark.parametrize(("text", "count"), [("", 0), ("0", 1), ("0,2-4,9", 5)])
def test_count_of_indexes(text: str, count: int) -> None:
    assert count_indexes(text, 10) == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", 'too large index: "10"'),
        ("1-10", 'too large index: "10"'),
        ("x", 'cannot convert string to integer for index: "x"'),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("3,2", "non-increasing order, previous: 3, current: 2"),
        ("1-3,3", "non-increasing order, previous: 3, current: 3"),
        ("3-3", "non-increasing order, previous: 3, current: 3"),
        (
            "1-2-3",
            'the fragment "1-2-3" violates the requirement that an index interval can have at most two parts '
            "separated by '-'",
        ),
    ],
)
def test_invalid_indexes(text: str, message: str) -> None:
    with pytest.raises(IndexesError) as raised:
        count_indexes(text, 10)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("completed", "failed", "index"),
    [
        ("", "1", None),
        ("0,2", "1,3", None),
        ("0-4", "3-8", 3),
        ("5-6", "0,2,6", 6),
        ("x,2", "2,y", 2),
    ],
)
def test_overlap(completed: str, failed: str, index: int | None) -> None:
    assert overlapping_index(completed, failed, 10) == index
