from __future__ import annotations

import json

from polykind.codec import partial_metadata

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
