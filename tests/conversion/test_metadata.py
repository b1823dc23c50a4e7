from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.contract import JsonObject
from polykind.conversion.metadata_restoration import InvalidMetadataError, restore_metadata

_value = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3), max_size=2)
_labels = st.dictionaries(st.sampled_from(["a", "b", "example.com/c"]), st.sampled_from(["", "x", "y-1"]), max_size=3)
_rest = st.dictionaries(
    st.sampled_from(["name", "uid", "finalizers", "managedFields", "generation", "ownerReferences"]), _value, max_size=5
)


@st.composite
def _metadata(draw: st.DrawFn) -> JsonObject:
    out: JsonObject = dict(draw(_rest))
    for field in ("labels", "annotations"):
        value = draw(st.none() | _labels)
        if value is not None or draw(st.booleans()):
            out[field] = value
    return out


@given(_metadata(), _metadata())
def test_labels_and_annotations_are_the_answer_s_and_all_else_the_original_s(before: Any, answer: Any) -> None:
    kept = copy.deepcopy(before), copy.deepcopy(answer)
    out = restore_metadata({"metadata": before}, {"metadata": answer})
    for field in ("labels", "annotations"):
        assert out.get(field) == answer.get(field)
        assert (field in out) == (answer.get(field) is not None)
    for field in ({*before, *answer} | set(out)) - {"labels", "annotations"}:
        assert (field in out) == (field in before)
        assert out.get(field) == before.get(field)
    assert (before, answer) == kept


@given(_metadata(), _metadata())
def test_restoring_twice_changes_nothing(before: Any, answer: Any) -> None:
    once = restore_metadata({"metadata": before}, {"metadata": answer})
    assert restore_metadata({"metadata": before}, {"metadata": once}) == once


def test_bad_labels_that_were_there_before_are_left_alone() -> None:
    bad = {"bad key": "bad value"}
    assert restore_metadata({"metadata": {"labels": bad}}, {"metadata": {"labels": dict(bad)}}) == {"labels": bad}


def test_annotations_may_not_grow_beyond_their_limit() -> None:
    with pytest.raises(
        InvalidMetadataError, match=r"metadata\.annotation: Too long: may not be more than 262144 bytes"
    ):
        restore_metadata({"metadata": {}}, {"metadata": {"annotations": {"a": "x" * 262144}}})
