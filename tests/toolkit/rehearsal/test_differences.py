from __future__ import annotations

from typing import Any

import pytest

from polykind.toolkit.rehearsal.differences import describe_difference, visible_differences


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1}}, []),
        ({"spec": {"a": 1}}, {"spec": {"a": 2}}, ["spec.a was 1 and is 2"]),
        ({"spec": {"a": 1}}, {"spec": {"a": True}}, ["spec.a was 1 and is true"]),
        ({"spec": {"a": 1}}, {"spec": {}}, ["spec.a has gone, it was 1"]),
        ({"spec": {}}, {"spec": {"a": "x"}}, ['spec.a has come, "x"']),
        ({"l": [{"a": 1}, 2]}, {"l": [{"a": 3}, 2]}, ["l[0].a was 1 and is 3"]),
        ({"l": [1, 2]}, {"l": [1]}, ["l[1] has gone, it was 2"]),
        ({"a": "x" * 100}, {"a": {}}, [f'a was "{"x" * 56}... and is {{}}']),
        ({"metadata": {"uid": "1", "generation": 1}}, {"metadata": {"uid": "2", "generation": 2}}, []),
        (
            {"metadata": {"annotations": {"b": "c"}}},
            {"metadata": {"annotations": {"b": "c", "example.com/conversion-stash": "{}"}}},
            [],
        ),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {}}, ['metadata.labels has gone, it was {"a": "b"}']),
    ],
)
def test_what_an_author_would_miss_is_told_by_field(before: Any, after: Any, found: list[str]) -> None:
    assert [describe_difference(difference) for difference in visible_differences(before, after)] == found
