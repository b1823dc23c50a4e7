from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polykind.codec import json_codec, partial_metadata

BIRD = {
    "apiVersion": "example.com/v1",
    "kind": "Bird",
    "metadata": {
        "annotations": {},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "generation": 1,
        "labels": {"b": "1", "a": "2"},
        "name": "crow",
        "namespace": "default",
        "ownerReferences": [{"uid": "u", "name": "n", "kind": "K", "apiVersion": "v1"}],
        "resourceVersion": "5",
        "uid": "x",
    },
    "spec": {"colour": "black"},
}


def test_partial_object() -> None:
    got = partial_metadata.partial_object(BIRD)
    assert json.dumps(got) == json.dumps(
        {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {
                "name": "crow",
                "namespace": "default",
                "uid": "x",
                "resourceVersion": "5",
                "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "deletionGracePeriodSeconds": 0,
                "labels": {"a": "2", "b": "1"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}],
            },
        }
    )


def test_partial_list() -> None:
    got = partial_metadata.partial_list(
        [BIRD], {"resourceVersion": "9", "continue": "", "remainingItemCount": 2}, "v1beta1"
    )
    assert got["kind"] == "PartialObjectMetadataList"
    assert got["apiVersion"] == "meta.k8s.io/v1beta1"
    assert got["metadata"] == {"resourceVersion": "9", "remainingItemCount": 2}
    assert [item["kind"] for item in got["items"]] == ["PartialObjectMetadata"]


def test_object_and_list_mismatch_errors() -> None:
    assert partial_metadata.is_a_list_error(partial_metadata.CUSTOM_LIST).message == (
        "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)"
    )
    alone = partial_metadata.not_a_list_error(partial_metadata.CUSTOM_OBJECT)
    assert (alone.code, alone.message) == (500, "content is not a list")
    other = partial_metadata.not_a_list_error("*apiextensions.CustomResourceDefinition")
    assert (other.code, other.message) == (
        406,
        "you requested PartialObjectMetadataList, but the requested object is not a list "
        "(*apiextensions.CustomResourceDefinition)",
    )


def test_annotations_that_carry_fields_are_hidden() -> None:
    annotations = {"deprecated.daemonset.template.generation": "1", "own": "x"}
    obj = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"annotations": annotations, "finalizers": ["f"]}}
    metadata = partial_metadata.partial_object(obj)["metadata"]
    assert metadata == {"annotations": {"own": "x"}, "finalizers": ["f"]}
    assert list(metadata) == ["annotations", "finalizers"]
    other = partial_metadata.partial_object({**obj, "kind": "Other"})
    assert other["metadata"]["annotations"] == annotations


names = st.text(max_size=4)
_TEXT_FIELDS = ("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "creationTimestamp")
entries = st.fixed_dictionaries({}, optional={"manager": names, "fieldsV1": st.just({"f:a": {}}), "time": names})
owners = st.fixed_dictionaries({}, optional={"kind": names, "uid": names, "controller": st.booleans()})
metadata = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(_TEXT_FIELDS, names),
        "generation": st.integers(0, 2),
        "deletionGracePeriodSeconds": st.integers(0, 2),
        "labels": st.dictionaries(names, names, max_size=2),
        "annotations": st.dictionaries(names | st.just("deprecated.deployment.rollback.to"), names, max_size=2),
        "ownerReferences": st.lists(owners, max_size=2),
        "finalizers": st.lists(names, max_size=2),
        "managedFields": st.lists(entries, max_size=2),
        "unknown": names,
    },
)


@given(
    st.just({}) | st.fixed_dictionaries({"metadata": metadata | st.none() | names}), st.sampled_from(["v1", "v1beta1"])
)
def test_copied_metadata_equals_decoded_metadata(fields: dict[str, Any], version: str) -> None:
    data = json_codec.encode({"apiVersion": "apps/v1", "kind": "Deployment", **fields})
    encoded = partial_metadata.encode_partial(data, version)
    decoded = json_codec.encode_ordered(partial_metadata.partial_object(json_codec.decode(data), version))
    assert encoded in (None, decoded)


def test_usual_metadata_is_copied() -> None:
    entry = {"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:a": {}}}}
    meta = {"name": "a", "labels": {"a": "b"}, "annotations": {"x": "<&>"}, "managedFields": [entry], "uid": "u"}
    data = json_codec.encode({"apiVersion": "example.com/v1", "kind": "A", "metadata": meta, "spec": {"a": ""}})
    assert partial_metadata.encode_partial(data) is not None


def test_metadata_of_a_deeply_nested_object_is_decoded() -> None:
    data = b'{"metadata":{"name":"a"},"spec":' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}"
    assert partial_metadata.encode_partial(data) is None
