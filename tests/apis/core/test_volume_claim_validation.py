"""Validation of PersistentVolumeClaims."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.volume_claim_validation import (
    validate_volume_claim_spec,
    validate_volume_claim_status,
    validate_volume_claim_template,
    validate_volume_claim_update,
)
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.strategies.core.volume_strategy import prepare_data_sources, volume_claim_spec_warnings

CLAIM = {"kind": "PersistentVolumeClaim", "name": "x"}
OTHER = {"kind": "Odd", "apiGroup": "a.b", "name": "x"}
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
IMMUTABLE = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)


def spec(size: str = "1Gi", **fields: Any) -> JsonObject:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **fields}


def texts(found: list[FieldError]) -> list[str]:
    return [str(error) for error in found]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (spec(), []),
        (
            {},
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        ),
        (spec("-1"), ['spec.resources[storage]: Invalid value: "-1": must be greater than zero']),
        (spec(storageClassName=""), []),
        (
            spec(volumeMode="Disk"),
            ['spec.volumeMode: Unsupported value: "Disk": supported values: "Block", "Filesystem"'],
        ),
        (
            spec(dataSource={"kind": "Odd"}),
            [
                "spec.dataSource.name: Required value",
                'spec.dataSource: Invalid value: "Odd": '
                "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            ],
        ),
        (spec(dataSource=CLAIM, dataSourceRef=OTHER), ["spec: Invalid value: {}: must match dataSourceRef"]),
        (
            spec(dataSource=CLAIM, dataSourceRef={**CLAIM, "namespace": "y"}),
            ["spec: Invalid value: {}: may not be specified when dataSourceRef.namespace is specified"],
        ),
    ],
)
def test_specs(value: JsonObject, expected: list[str]) -> None:
    assert texts(validate_volume_claim_spec(value, "spec")) == expected


def test_invalid_values_may_stay() -> None:
    value = spec(
        selector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]},
        dataSourceRef={"kind": "K", "apiGroup": "Bad_", "name": "x"},
    )
    assert len(validate_volume_claim_spec(value, "spec")) == 2
    assert validate_volume_claim_spec(value, "spec", value) == []


def test_template_metadata_has_only_labels_and_annotations() -> None:
    template = {"metadata": {"labels": {"a b": "c"}, "name": "x", "uid": "y"}, "spec": spec()}
    assert [error.field for error in validate_volume_claim_template(template, "t")] == [
        "t.metadata.labels",
        "t.metadata.name",
        "t.metadata.uID",
    ]


def claim(
    value: JsonObject, phase: str = "Pending", annotations: JsonObject | None = None, **status: Any
) -> JsonObject:
    return {"metadata": {"annotations": annotations or {}}, "spec": value, "status": {"phase": phase, **status}}


BETA = {BETA_CLASS: "x"}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (claim(spec()), claim(spec("1024Mi")), []),
        (claim(spec(volumeName="v")), claim(spec()), []),
        (claim(spec()), claim(spec(volumeName="v")), [IMMUTABLE]),
        (claim(spec("2Gi")), claim(spec()), [IMMUTABLE]),
        (claim(spec("2Gi"), "Bound"), claim(spec(), "Bound"), []),
        (
            claim(spec("1Gi"), "Bound"),
            claim(spec("2Gi"), "Bound", capacity={"storage": "1Gi"}),
            ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"],
        ),
        (claim(spec("1Gi"), "Bound"), claim(spec("2Gi"), "Bound", capacity={"storage": "500Mi"}), []),
        (claim(spec(storageClassName="x")), claim(spec()), []),
        (claim(spec(storageClassName="x")), claim(spec(), annotations=BETA), []),
        (
            claim(spec(storageClassName="y")),
            claim(spec(), annotations=BETA),
            [f'metadata.annotations.{BETA_CLASS}: Invalid value: "": field is immutable', IMMUTABLE],
        ),
        (
            claim(spec(volumeMode="Block")),
            claim(spec(volumeMode="Filesystem")),
            [IMMUTABLE, 'volumeMode: Invalid value: "Block": field is immutable'],
        ),
        (
            claim(spec(), "Bound"),
            claim(spec(volumeAttributesClassName="a"), "Bound", currentVolumeAttributesClassName="a"),
            [
                "spec.volumeAttributesClassName: Forbidden: "
                "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil"
            ],
        ),
    ],
)
def test_updates(new: JsonObject, old: JsonObject, expected: list[str]) -> None:
    found = texts(validate_volume_claim_update(new, old))
    assert [text.partition("\n")[0] for text in found] == expected


def test_update_of_an_immutable_field_shows_the_difference() -> None:
    new, old = claim(spec(accessModes=["ReadWriteMany"])), claim(spec())
    assert texts(validate_volume_claim_update(new, old)) == [
        f"{IMMUTABLE}\n@@ -1,6 +1,6 @@\n"
        ' {\n  "AccessModes": [\n-  "ReadWriteOnce"\n+  "ReadWriteMany"\n  ],\n  "Selector": null,\n  "Resources": {\n'
    ]


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ({"capacity": {"storage": "1Gi"}, "allocatedResourceStatuses": {"storage": "NodeResizePending"}}, []),
        ({"capacity": {"storage": "-1"}}, ["status.capacity[storage]"]),
        ({"allocatedResourceStatuses": {"cpu": "Odd"}}, ["status.allocatedResourceStatuses"] * 2),
        ({"allocatedResources": {"cpu": "1"}}, ["status.allocatedResources"]),
        ({"allocatedResources": {"storage": "-1"}}, ["status.allocatedResources[storage]"]),
    ],
)
def test_status(status: JsonObject, fields: list[str]) -> None:
    assert [error.field for error in validate_volume_claim_status(claim(spec(), **status))] == fields


@pytest.mark.parametrize(
    ("value", "old", "expected"),
    [
        ({"dataSource": CLAIM}, {}, (CLAIM, CLAIM)),
        ({"dataSourceRef": OTHER}, {}, (OTHER, OTHER)),
        ({"dataSource": OTHER}, {}, (None, None)),
        ({"dataSource": OTHER}, {"dataSource": OTHER}, (OTHER, OTHER)),
        ({"dataSourceRef": {**CLAIM, "namespace": "y"}}, {}, (None, None)),
    ],
)
def test_data_sources(value: JsonObject, old: JsonObject, expected: tuple[JsonObject | None, ...]) -> None:
    value = dict(value)
    prepare_data_sources(value, old)
    assert (value.get("dataSource"), value.get("dataSourceRef")) == expected


def test_warnings() -> None:
    assert volume_claim_spec_warnings(spec("500m"), "spec") == [
        'spec.resources.requests[storage]: fractional byte value "500m" is invalid, must be an integer'
    ]
