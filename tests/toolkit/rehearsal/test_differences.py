from __future__ import annotations

from typing import Any

import pytest

from polykind.toolkit.rehearsal.rehearsal import visible_differences
from polykind.toolkit.rehearsal.rehearsal_finding import describe_difference


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1}}, []),
        ({"spec": {"a": 1}}, {"spec": {"a": 2}}, ["spec.a changed from 1 to 2"]),
        ({"spec": {"a": 1}}, {"spec": {"a": True}}, ["spec.a changed from 1 to true"]),
        ({"spec": {"a": 1}}, {"spec": {}}, ["spec.a was removed, it was 1"]),
        ({"spec": {}}, {"spec": {"a": "x"}}, ['spec.a was added: "x"']),
        ({"l": [{"a": 1}, 2]}, {"l": [{"a": 3}, 2]}, ["l[0].a changed from 1 to 3"]),
        ({"l": [1, 2]}, {"l": [1]}, ["l[1] was removed, it was 2"]),
        ({"a": "x" * 100}, {"a": {}}, [f'a changed from "{"x" * 56}... to {{}}']),
        ({"metadata": {"uid": "1", "generation": 1}}, {"metadata": {"uid": "2", "generation": 2}}, []),
        (
            {"metadata": {"annotations": {"b": "c"}}},
            {"metadata": {"annotations": {"b": "c", "example.com/conversion-stash": "{}"}}},
            [],
        ),
        ({"metadata": {"labels": {"a": "b"}}}, {"metadata": {}}, ['metadata.labels was removed, it was {"a": "b"}']),
    ],
)
def test_visible_differences_by_field(before: Any, after: Any, found: list[str]) -> None:
    assert [describe_difference(difference) for difference in visible_differences(before, after)] == found
