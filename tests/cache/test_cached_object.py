"""Cached objects: stored bytes with the resourceVersion spliced in."""

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


def test_resource_version_is_inserted_before_uid() -> None:
    cached = parse_stored("a/x", json_codec.encode(stored(spec={"n": 1})), 7, True)
    expected = stored(spec={"n": 1})
    expected["metadata"]["resourceVersion"] = "7"
    assert cached.raw == json_codec.encode(expected)
    assert (cached.key, cached.namespace, cached.name) == ("a/x", "a", "x")
    assert (cached.revision, cached.version, cached.labels, cached.normalized) == (7, "v1", {"app": "web"}, True)


def test_cluster_scoped_object_has_no_namespace() -> None:
    cached = parse_stored("x", json_codec.encode(stored()), 7, True)
    assert (cached.namespace, cached.name) == ("", "x")


def test_trailing_newline_is_removed() -> None:
    """kube-apiserver stores a trailing newline."""
    cached = parse_stored("a/x", json_codec.encode(stored()) + b"\n", 7, True)
    assert cached.raw.endswith(b"}}")
    assert cached.decode()["metadata"]["resourceVersion"] == "7"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4), st.text(max_size=6), st.integers(1, 2**62))
def test_splicing_changes_nothing_else(more: dict[str, Any], uid: str, revision: int) -> None:
    obj = {**more, **stored()}
    obj["metadata"]["uid"] = uid
    value = json_codec.encode(obj)
    cached = parse_stored("a/x", value, revision, True)
    obj["metadata"]["resourceVersion"] = str(revision)
    assert cached.decode() == json_codec.decode(json_codec.encode(obj))


def test_embedded_copy_of_metadata_is_unchanged() -> None:
    obj = stored(copy=stored()["metadata"], zcopy=stored()["metadata"])
    cached = parse_stored("a/x", json_codec.encode(obj), 7, True)
    assert cached.decode()["metadata"]["resourceVersion"] == "7"
    assert "resourceVersion" not in cached.decode()["copy"]
    assert "resourceVersion" not in cached.decode()["zcopy"]


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
def test_objects_written_by_other_programs_are_parsed(value: bytes) -> None:
    cached = parse_stored("a/x", value, 9, True)
    assert cached.decode()["metadata"]["resourceVersion"] == "9"
    assert cached.decode()["kind"] == "Foo"
    assert cached.version == "v1"
    assert not cached.normalized


@pytest.mark.parametrize("value", [b"", b"nonsense", b'{"a":', b"[1]", b"null", b'"text"', b"\xff\x00", b"k8s\x00\x0a"])
def test_stored_bytes_that_are_not_an_object_fail_on_decoding(value: bytes) -> None:
    cached = parse_stored("a/x", value, 9, True)
    assert (cached.key, cached.revision, cached.version, cached.normalized) == ("a/x", 9, "", False)
    assert not cached.terminating()
    with pytest.raises(errors.InternalError, match="a/x is not"):
        cached.decode()


@pytest.mark.parametrize(
    ("metadata", "terminating"),
    [
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        ({"deletionTimestamp": None}, False),
        ({"annotations": {"deletionTimestamp": "x"}}, False),
        ({}, False),
    ],
)
def test_terminating(metadata: dict[str, Any], terminating: bool) -> None:
    obj = stored()
    obj["metadata"].update(metadata)
    assert parse_stored("a/x", json.dumps(obj).encode(), 1, True).terminating() is terminating


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
def test_labels_of_malformed_objects(obj: dict[str, Any], labels: dict[str, str] | None) -> None:
    assert labels_of(obj) == labels


def test_namespace_is_read_from_key() -> None:
    assert CachedObject(b"{}", None, key="a/x", revision=1, version="v1", normalized=True).namespace == "a"
