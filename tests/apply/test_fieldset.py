"""Operations on field sets, and their format in managedFields."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.apply import fieldset
from polykind.apply.fieldset import Fields

KEYS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'v:"y"', "v:1", "v:10", "i:0"])
PATHS = st.lists(KEYS, min_size=1, max_size=4).map(tuple)
LISTED = st.lists(PATHS, max_size=8).map(frozenset)
Path = tuple[str, ...]


def build_set(paths: frozenset[Path]) -> Fields:
    out: Fields = {}
    for path in paths:
        out = fieldset.union(out, fieldset.of_path(path))
    return out


def path_set(fields: Fields) -> frozenset[Path]:
    return frozenset(fieldset.paths(fields))


@given(LISTED)
def test_set_contains_exactly_its_paths(paths: frozenset[Path]) -> None:
    fields = build_set(paths)
    assert path_set(fields) == paths
    assert all(fieldset.contains(fields, path) for path in paths)


@given(LISTED)
def test_set_survives_a_round_trip(paths: frozenset[Path]) -> None:
    fields = build_set(paths)
    assert fieldset.decode(fields) == fields
    assert fieldset.sort_fields(fields) == fields


@given(LISTED, LISTED)
def test_operations_match_sets_of_paths(left: frozenset[Path], right: frozenset[Path]) -> None:
    ours, theirs = build_set(left), build_set(right)
    assert path_set(fieldset.union(ours, theirs)) == left | right
    assert path_set(fieldset.intersection(ours, theirs)) == left & right
    assert path_set(fieldset.difference(ours, theirs)) == left - right
    below = {path for path in left if any(path[: n + 1] in right for n in range(len(path)))}
    assert path_set(fieldset.recursive_difference(ours, theirs)) == left - below
    assert (path_set(ours), path_set(theirs)) == (left, right)


@given(LISTED, LISTED)
def test_results_are_normalized(left: frozenset[Path], right: frozenset[Path]) -> None:
    ours, theirs = build_set(left), build_set(right)
    for result, paths in (
        (fieldset.union(ours, theirs), left | right),
        (fieldset.intersection(ours, theirs), left & right),
        (fieldset.difference(ours, theirs), left - right),
    ):
        assert result == build_set(paths)


def test_unchanged_parts_are_shared() -> None:
    fields = build_set(frozenset({("f:a", "f:b"), ("f:c",)}))
    assert fieldset.difference(fields, {"f:x": {}}) is fields
    assert fieldset.union(fields, {"f:c": {}}) is fields


def test_order_of_path_elements() -> None:
    keys = ["v:10", "i:10", "v:2", 'v:"a"', 'k:{"n":"b"}', 'k:{"n":"a"}', "f:b", ".", "f:a", "i:2", "v:true", "v:1.5"]
    assert list(fieldset.sort_fields(dict.fromkeys(keys, fieldset.LEAF))) == [
        ".", "f:a", "f:b", 'k:{"n":"a"}', 'k:{"n":"b"}', "v:1.5", "v:2", "v:10", 'v:"a"', "v:true", "i:2", "i:10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("f:spec", "f:beds", 'k:{"name":"a"}', "f:plant"), '.spec.beds[name="a"].plant'),
        (("f:l", 'k:{"a":1,"b":true}'), ".l[a=1,b=true]"),
        (("f:tags", 'v:"x\\"y"'), '.tags[="x\\"y"]'),
        (("f:nums", "v:1.5", "i:3"), ".nums[=1.5][3]"),
    ],
)
def test_paths_are_formatted_like_kube_apiserver(path: Path, text: str) -> None:
    assert fieldset.format_path(path) == text


def test_large_or_stored_numbers_in_paths_are_floats() -> None:
    assert fieldset.format_path(("v:9223372036854775807", "v:10000000000000000000")) == "[=9223372036854775807][=1e+19]"
    path = ('k:{"a":1234567,"b":80}', "v:1000000")
    assert fieldset.format_path(path) == "[a=1234567,b=80][=1000000]"
    assert fieldset.format_path(path, from_store=True) == "[a=1.234567e+06,b=80][=1e+06]"


def test_elements_are_normalized() -> None:
    sent: dict[str, Any] = {'k:{ "b": 1, "a": "<" }': {".": {}, "f:x": {}}, "v: 1": {}, "i:01": {}, "x:unknown": {}}
    assert fieldset.decode(sent) == {'k:{"a":"\\u003c","b":1}': {".": {}, "f:x": {}}, "v:1": {}, "i:1": {}}


@pytest.mark.parametrize("sent", [[], "f:a", {"f": {}}, {"fx": {}}, {"v:{": {}}, {"i:x": {}}, {"k:1": {}}, {"f:a": 1}])
def test_invalid_set_is_rejected(sent: Any) -> None:
    with pytest.raises(ValueError):
        fieldset.decode(sent)
