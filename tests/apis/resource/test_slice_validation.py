"""Validation of ResourceSlices, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.resource.slice_validation import validate_slice_spec
from polykind.apis.resource.types import RESOURCE_SLICE
from polykind.contract import JsonObject
from polykind.strategies.resource.strategy import ResourceSliceStrategy
from tests.support.objects import edited, texts

SPEC: JsonObject = {
    "driver": "d.example.com",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
    "nodeName": "n",
    "devices": [
        {
            "name": "a",
            "attributes": {"model": {"string": "x"}},
            "allowMultipleAllocations": True,
            "capacity": {
                "mem": {
                    "value": "10Gi",
                    "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}},
                }
            },
        }
    ],
}
DEVICE = "devices[0]"
POLICY = f"{DEVICE}.capacity[mem].requestPolicy"
RANGE = f"{POLICY}.validRange"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("driver", "", "spec.driver: Required value"),
        ("pool.resourceSliceCount", 0, "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"),
        ("pool.generation", -1, "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"),
        ("nodeName", None, "spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNo"),
        ("nodeName", "", 'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string'),
        ("allNodes", True, 'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector'),
        ("allNodes", False, "spec.allNodes: Invalid value: false: must be either unset or set to true"),
        ("sharedCounters", [{"name": "c", "counters": {"x": {}}}], 'spec: Invalid value: "": only one of `sharedCount'),
        (f"{DEVICE}.name", "A", f'spec.{DEVICE}.name: Invalid value: "A": a lowercase RFC 1123 label'),
        (f"{DEVICE}.nodeName", "n", f"spec.{DEVICE}: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` c"),
        (f"{DEVICE}.attributes[model]", {}, f'spec.{DEVICE}.attributes[model]: Invalid value: "": exactly one value m'),
        (f"{DEVICE}.attributes[model].int", 1, f'spec.{DEVICE}.attributes[model]: Invalid value: {{"IntValue":1,"Bool'),
        (f"{DEVICE}.attributes[model]", {"version": "1"}, f'spec.{DEVICE}.attributes[model].version: Invalid value: "'),
        (f"{DEVICE}.attributes[model].string", "x" * 65, f"spec.{DEVICE}.attributes[model].string: Too long: may not "),
        (f"{DEVICE}.taints", [{"key": "k"}], f"spec.{DEVICE}.taints[0].effect: Required value"),
        (f"{DEVICE}.consumesCounters", [{}], f"spec.{DEVICE}.consumesCounters[0].counterSet: Required value"),
        (f"{DEVICE}.allowMultipleAllocations", False, f"spec.{POLICY}: Forbidden: allowMultipleAllocations must be tr"),
        (f"{POLICY}.validValues", ["1Gi"], f"spec.{POLICY}: Forbidden: exactly one policy can be specified"),
        (f"{POLICY}.default", None, f"spec.{POLICY}.default: Required value: required when validRange is defined"),
        (f"{POLICY}.default", "5Gi", f'spec.{RANGE}.max: Invalid value: "5Gi": default is more than max: 4Gi'),
        (f"{RANGE}.min", None, f"spec.{RANGE}.min: Required value: required when validRange is defined"),
        (f"{RANGE}.max", "11Gi", f'spec.{RANGE}.max: Invalid value: "11Gi": max is larger than capacity value: 10Gi'),
        (f"{RANGE}.step", "10Gi", f'spec.{RANGE}.step: Invalid value: "10Gi": one step 11Gi is larger than capacity'),
    ],
)
def test_slices(path: str, value: Any, message: str) -> None:
    assert validate_slice_spec(SPEC) == []
    found = texts(validate_slice_spec(edited(SPEC, (path, value))))
    assert found[0].startswith(message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1Gi", "2Gi"], None),
        (["2Gi", "1Gi"], 'validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order'),
        (["1Gi", "11Gi"], 'validValues[1]: Invalid value: "11Gi": option is larger than capacity value: 10Gi'),
        (["2Gi"], 'validValues: Invalid value: "1Gi": default value is not valid according to the requestPolicy'),
    ],
)
def test_discrete_request_policies(values: list[str], message: str | None) -> None:
    found = texts(validate_slice_spec(edited(SPEC, (POLICY, {"default": "1Gi", "validValues": values}))))
    assert found == ([f"spec.{POLICY}.{message}"] if message else [])


def test_the_limit_of_devices_is_lower_with_taints() -> None:
    plain = [{"name": f"d{i}"} for i in range(65)]
    assert validate_slice_spec(edited(SPEC, ("devices", plain))) == []
    tainted = [{**plain[0], "taints": [{"key": "k", "effect": "None"}]}, *plain[1:]]
    [found] = texts(validate_slice_spec(edited(SPEC, ("devices", tainted))))
    assert found == "spec.devices: Too many: 65: must have at most 64 items"


def test_pool_driver_and_node_are_immutable() -> None:
    changed = edited(SPEC, ("pool.name", "q"), ("driver", "e"), ("nodeName", "m"))
    assert texts(validate_slice_spec(changed, SPEC)) == [
        'spec.pool.name: Invalid value: "q": field is immutable',
        'spec.driver: Invalid value: "e": field is immutable',
        'spec.nodeName: Invalid value: "m": field is immutable',
    ]


def test_fields_of_disabled_features_are_dropped_and_uppercase_drivers_get_a_warning() -> None:
    strategy = ResourceSliceStrategy(RESOURCE_SLICE)
    obj: JsonObject = {"metadata": {}, "spec": {"driver": "D", "devices": [{"attributes": {"a": {"ints": [1]}}}]}}
    strategy.prepare_create(obj)
    assert obj["spec"]["devices"] == [{"attributes": {"a": {}}}]
    [warning] = strategy.warnings(obj, None)
    assert warning == 'spec.driver: driver names should be lowercase; "D" contains uppercase characters'
