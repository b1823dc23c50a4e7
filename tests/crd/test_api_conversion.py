from __future__ import annotations

import pytest

from polykind.contract import JsonObject
from polykind.crd import api_conversion

PARTS: list[tuple[JsonObject, JsonObject]] = [
    ({}, {}),
    ({"spec": {}}, {"spec": {}}),
    ({"status": {"storedVersions": ["v1"]}}, {"status": {"storedVersions": ["v1"]}}),
    ({"spec": {"names": {"kind": "CronTab"}}}, {"spec": {"names": {"kind": "CronTab"}}}),
    ({"spec": {"conversion": {"strategy": "None"}}}, {"spec": {"conversion": {"strategy": "None"}}}),
    (
        {"spec": {"conversion": {"webhook": {"clientConfig": {"url": "x"}, "conversionReviewVersions": ["v1"]}}}},
        {"spec": {"conversion": {"webhookClientConfig": {"url": "x"}, "conversionReviewVersions": ["v1"]}}},
    ),
    (
        {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}]}},
        {
            "spec": {
                "version": "v1",
                "validation": {"openAPIV3Schema": {"type": "object"}},
                "versions": [{"name": "v1"}],
            }
        },
    ),
]


@pytest.mark.parametrize(("v1", "v1beta1"), PARTS)
def test_partial_crd_gains_no_fields_by_conversion(v1: JsonObject, v1beta1: JsonObject) -> None:
    one, other = {"apiVersion": api_conversion.V1, **v1}, {"apiVersion": api_conversion.V1BETA1, **v1beta1}
    if "spec" in other:
        # v1beta1 always has this boolean, because it is no pointer in the internal type.
        other["spec"] = {**other["spec"], "preserveUnknownFields": False}
    assert api_conversion.at_version(one, api_conversion.V1BETA1) == other
    assert api_conversion.at_version(other, api_conversion.V1) == one
    assert api_conversion.at_version(one, api_conversion.V1) == one


def test_unknown_version_returns_none() -> None:
    assert api_conversion.at_version({"apiVersion": api_conversion.V1}, "apiextensions.k8s.io/v2") is None
