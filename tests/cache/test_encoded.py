"""Objects as they are stored and served."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polykind.cache.cached_object import Encoded, parse_stored
from polykind.codec import json_codec

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
metas = st.fixed_dictionaries(
    {"name": st.text(min_size=1, max_size=5), "uid": st.text("0123456789abcdef-", min_size=1, max_size=8)},
    optional={
        "labels": st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
        "generation": st.just(1),
    },
)


@given(metas, st.dictionaries(st.text(max_size=6), values, max_size=4), st.integers(1, 2**62))
def test_what_is_stored_and_spliced_is_what_is_served(
    meta: dict[str, Any], more: dict[str, Any], revision: int
) -> None:
    obj = {**more, "apiVersion": "g/v1", "kind": "Foo", "metadata": {**meta, "resourceVersion": "3"}}
    encoded = Encoded(obj)
    assert obj["metadata"]["resourceVersion"] == "3"
    assert encoded.stored() == json_codec.encode({**obj, "metadata": meta})
    served = json_codec.encode({**obj, "metadata": {**meta, "resourceVersion": str(revision)}})
    assert encoded.served(revision) == served
    assert parse_stored("x", encoded.stored(), revision, True).raw == served


def test_encoded_object_matches_a_cached_object_that_differs_only_in_its_revision() -> None:
    obj: dict[str, Any] = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x", "uid": "u"}, "n": 1}
    encoded = Encoded(obj)
    cached = parse_stored("x", encoded.stored(), 12, True)
    assert encoded.matches(cached)
    assert not Encoded({**obj, "n": 2}).matches(cached)
    assert not Encoded({**obj, "n": 10}).matches(cached)
    assert not Encoded({**obj, "metadata": {"name": "y", "uid": "u"}}).matches(cached)


def test_an_object_that_was_never_stored_keeps_having_no_revision() -> None:
    obj: dict[str, Any] = {"apiVersion": "v1", "metadata": {"name": "x", "uid": "u"}}
    assert Encoded(obj).stored() == b'{"apiVersion":"v1","metadata":{"name":"x","uid":"u"}}'
    assert obj == {"apiVersion": "v1", "metadata": {"name": "x", "uid": "u"}}
