"""Entries: stored bytes with the resourceVersion spliced in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind import errors
from polykind.cache.cached_object import CachedObject, labels_of, parse_stored
from polykind.codec import json_codec


def stored(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "x", "namespace": "a", "uid": "u-1", "labels": {"app": "web"}},
        **more,
    }


def test_the_resource_version_is_spliced_in_before_the_uid() -> None:
    entry = parse_stored("a/x", json_codec.encode(stored(spec={"n": 1})), 7, True)
    expected = stored(spec={"n": 1})
    expected["metadata"]["resourceVersion"] = "7"
    assert entry.raw == json_codec.encode(expected)
    assert (entry.key, entry.namespace, entry.name) == ("a/x", "a", "x")
    assert (entry.revision, entry.version, entry.labels, entry.normalized) == (7, "v1", {"app": "web"}, True)


def test_a_cluster_wide_object_has_no_namespace() -> None:
    entry = parse_stored("x", json_codec.encode(stored()), 7, True)
    assert (entry.namespace, entry.name) == ("", "x")


def test_a_newline_behind_the_object_is_left_out() -> None:
    """The reference stores one."""
    entry = parse_stored("a/x", json_codec.encode(stored()) + b"\n", 7, True)
    assert entry.raw.endswith(b"}}")
    assert entry.decode()["metadata"]["resourceVersion"] == "7"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4), st.text(max_size=6), st.integers(1, 2**62))
def test_whatever_the_object_holds_nothing_else_changes(more: dict[str, Any], uid: str, revision: int) -> None:
    obj = {**more, **stored()}
    obj["metadata"]["uid"] = uid
    value = json_codec.encode(obj)
    entry = parse_stored("a/x", value, revision, True)
    obj["metadata"]["resourceVersion"] = str(revision)
    assert entry.decode() == json_codec.decode(json_codec.encode(obj))


def test_a_copy_of_the_metadata_elsewhere_in_the_object_is_left_alone() -> None:
    obj = stored(copy=stored()["metadata"], zcopy=stored()["metadata"])
    entry = parse_stored("a/x", json_codec.encode(obj), 7, True)
    assert entry.decode()["metadata"]["resourceVersion"] == "7"
    assert "resourceVersion" not in entry.decode()["copy"]
    assert "resourceVersion" not in entry.decode()["zcopy"]


@pytest.mark.parametrize(
    "value",
    [
        b'{"metadata":{"uid":"u","name":"x"},"kind":"Foo","apiVersion":"example.com/v1"}',
        b'{ "metadata" : { "name" : "x" , "uid" : "u" }, "kind":"Foo", "apiVersion":"example.com/v1" }',
        b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"x","resourceVersion":"3","uid":"u"}}',
        b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"x"}}',
        b'{"apiVersion":"example.com/v1","kind":"Foo"}',
        b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":null}',
        b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":[1]}',
        b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"uid":7,"labels":{"a":1}}}',
    ],
)
def test_what_others_wrote_is_an_entry_as_well(value: bytes) -> None:
    entry = parse_stored("a/x", value, 9, True)
    assert entry.decode()["metadata"]["resourceVersion"] == "9"
    assert entry.decode()["kind"] == "Foo"
    assert entry.version == "v1"
    assert not entry.normalized


@pytest.mark.parametrize("value", [b"", b"nonsense", b'{"a":', b"[1]", b"null", b'"text"', b"\xff\x00", b"k8s\x00\x0a"])
def test_what_is_no_object_is_kept_and_told_to_its_reader(value: bytes) -> None:
    entry = parse_stored("a/x", value, 9, True)
    assert (entry.key, entry.revision, entry.version, entry.normalized) == ("a/x", 9, "", False)
    assert not entry.terminating()
    with pytest.raises(errors.InternalError, match="a/x is not"):
        entry.decode()


@pytest.mark.parametrize(
    ("metadata", "deleting"),
    [
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ({"deletionTimestamp": None}, False),
        ({"annotations": {"deletionTimestamp": "x"}}, False),
        ({}, False),
    ],
)
def test_whether_a_deletion_has_begun(metadata: dict[str, Any], deleting: bool) -> None:
    obj = stored()
    obj["metadata"].update(metadata)
    assert parse_stored("a/x", json.dumps(obj).encode(), 1, True).terminating() is deleting


@pytest.mark.parametrize(
    ("obj", "labels"),
    [
        ({}, None),
        ({"metadata": 1}, None),
        ({"metadata": {"labels": []}}, None),
        ({"metadata": {"labels": {}}}, None),
        ({"metadata": {"labels": {"a": "b", "c": 1}}}, {"a": "b"}),
    ],
)
def test_labels_of_odd_objects(obj: dict[str, Any], labels: dict[str, str] | None) -> None:
    assert labels_of(obj) == labels


def test_an_entry_of_a_key_with_slashes() -> None:
    assert CachedObject("a/x", b"{}", 1, "v1", None, True).namespace == "a"
