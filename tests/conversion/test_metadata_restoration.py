from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.contract import JsonObject
from polykind.conversion.conversion_messages import InvalidMetadataError, restore_metadata

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
def test_only_labels_and_annotations_come_from_the_response(original: Any, response: Any) -> None:
    kept = copy.deepcopy(original), copy.deepcopy(response)
    out = restore_metadata({"metadata": original}, {"metadata": response})
    for field in ("labels", "annotations"):
        assert out.get(field) == response.get(field)
        assert (field in out) == (response.get(field) is not None)
    for field in ({*original, *response} | set(out)) - {"labels", "annotations"}:
        assert (field in out) == (field in original)
        assert out.get(field) == original.get(field)
    assert (original, response) == kept


@given(_metadata(), _metadata())
def test_restoration_is_idempotent(original: Any, response: Any) -> None:
    once = restore_metadata({"metadata": original}, {"metadata": response})
    assert restore_metadata({"metadata": original}, {"metadata": once}) == once


def test_unchanged_invalid_labels_are_accepted() -> None:
    bad = {"bad key": "bad value"}
    assert restore_metadata({"metadata": {"labels": bad}}, {"metadata": {"labels": dict(bad)}}) == {"labels": bad}


def test_annotation_size_limit_is_enforced() -> None:
    with pytest.raises(
        InvalidMetadataError, match=r"metadata\.annotation: Too long: may not be more than 262144 bytes"
    ):
        restore_metadata({"metadata": {}}, {"metadata": {"annotations": {"a": "x" * 262144}}})
