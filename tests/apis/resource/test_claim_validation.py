"""Validation of ResourceClaims, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.resource.claim_validation import (
    validate_claim_spec,
    validate_claim_spec_update,
    validate_claim_status,
)
from polykind.apis.resource.defaults import default_resource_claim
from polykind.apis.resource.types import RESOURCE_CLAIM, RESOURCE_V1
from polykind.contract import JsonObject
from polykind.strategies.resource.strategy import ResourceClaimStrategy
from tests.support.objects import edited, texts

SPEC: JsonObject = {
    "devices": {
        "requests": [
            {"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}},
            {"name": "s", "firstAvailable": [{"name": "t", "deviceClassName": "c", "allocationMode": "All"}]},
        ],
        "constraints": [{"requests": ["r", "s/t"], "matchAttribute": "d.example.com/a"}],
        "config": [{"requests": ["r"], "opaque": {"driver": "d", "parameters": {}}}],
    }
}
REQUEST = "devices.requests[0]"
RESULT: JsonObject = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "dev"}
DEVICE: JsonObject = {"driver": "d.example.com", "pool": "p", "device": "dev", "networkData": {"ips": ["10.0.0.1/24"]}}


def claim(status: JsonObject) -> JsonObject:
    return {"metadata": {"name": "a", "namespace": "default"}, "spec": SPEC, "status": status}


ALLOCATED = claim(
    {
        "allocation": {"devices": {"results": [RESULT]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        "devices": [DEVICE],
    }
)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (f"{REQUEST}.name", "R", f'spec.{REQUEST}.name: Invalid value: "R": a lowercase RFC 1123 label'),
        (f"{REQUEST}.exactly", None, f"spec.{REQUEST}: Required value: exactly one of `exactly` or `firstAvailable`"),
        (f"{REQUEST}.firstAvailable", [{}], f"spec.{REQUEST}: Invalid value: null: exactly one of `exactly` or `first"),
        (f"{REQUEST}.exactly.deviceClassName", "", f"spec.{REQUEST}.exactly.deviceClassName: Required value"),
        (f"{REQUEST}.exactly.allocationMode", "All", f"spec.{REQUEST}.exactly.count: Invalid value: 1: must not be sp"),
        (f"{REQUEST}.exactly.allocationMode", "X", f'spec.{REQUEST}.exactly.allocationMode: Unsupported value: "X": s'),
        (f"{REQUEST}.exactly.count", 0, f"spec.{REQUEST}.exactly.count: Invalid value: 0: must be greater than zero"),
        ("devices.constraints[0].requests", ["x"], 'spec.devices.constraints[0].requests[0]: Invalid value: "x": must'),
        ("devices.constraints[0].requests", ["r", "r"], 'spec.devices.constraints[0].requests[1]: Duplicate value: "r'),
        ("devices.constraints[0]", {}, 'spec.devices.constraints[0]: Required value: exactly one of "matchAttribute" '),
        ("devices.config[0].opaque", None, "spec.devices.config[0].opaque: Required value"),
    ],
)
def test_specs(path: str, value: Any, message: str) -> None:
    assert validate_claim_spec(SPEC, "spec") == []
    found = texts(validate_claim_spec(edited(SPEC, (path, value)), "spec"))
    assert found[0].startswith(message)


def test_request_names_are_unique() -> None:
    spec = edited(SPEC, ("devices.requests", [SPEC["devices"]["requests"][0]] * 2), ("devices.constraints", []))
    assert texts(validate_claim_spec(spec, "spec")) == ['spec.devices.requests[1]: Duplicate value: "r"']


def test_the_spec_is_immutable() -> None:
    assert validate_claim_spec_update(SPEC, SPEC, RESOURCE_V1.struct("ResourceClaimSpec")) == []
    [found] = texts(
        validate_claim_spec_update({"devices": {"requests": None}}, SPEC, RESOURCE_V1.struct("ResourceClaimSpec"))
    )
    shown = '{"Devices":{"Requests":null,"Constraints":null,"Config":null}}'
    assert found == f"spec: Invalid value: {shown}: field is immutable"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("status.allocation", None, 'status.devices[0]: Invalid value: {"Driver":"d.example.com","Pool":"p",'),
        ("status.reservedFor[0].uid", "", "status.reservedFor[0].uid: Required value"),
        ("status.devices[0].driver", "", "status.devices[0].driver: Required value"),
        ("status.devices[0].networkData.ips", ["10.0.0.1"], 'status.devices[0].networkData.ips[0]: Invalid value: "10'),
        ("status.devices[0].data", [], 'status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSO'),
        ("status.allocation.devices.results[0].request", "x", "status.allocation.devices.results[0].request: Invalid "),
        ("status.allocation.devices.config", [{}], "status.allocation.devices.config[0].source: Required value"),
    ],
)
def test_statuses(path: str, value: Any, message: str) -> None:
    assert validate_claim_status(ALLOCATED, claim({})) == []
    found = texts(validate_claim_status(edited(ALLOCATED, (path, value)), claim({})))
    assert found[0].startswith(message)


def test_an_allocation_cannot_change() -> None:
    changed = edited(ALLOCATED, ("status.allocation.devices.results[0].pool", "q"), ("status.devices", []))
    [found] = texts(validate_claim_status(changed, ALLOCATED))
    assert found.startswith('status.allocation: Invalid value: {"Devices":{"Results":[{"Request":"r","Driver":')


def test_a_status_update_drops_the_devices_of_removed_allocations() -> None:
    new = edited(ALLOCATED, ("status.allocation", None), ("status.reservedFor", []))
    prepared = ResourceClaimStrategy(RESOURCE_CLAIM).prepare_status(new, ALLOCATED)
    assert "devices" not in prepared["status"]


def test_defaults() -> None:
    requests: list[JsonObject] = [
        {"exactly": {"tolerations": [{}]}},
        {"firstAvailable": [{"allocationMode": "All"}, {}]},
    ]
    default_resource_claim({"spec": {"devices": {"requests": requests}}})
    one = {"allocationMode": "ExactCount", "count": 1}
    assert requests == [
        {"exactly": {"tolerations": [{"operator": "Equal"}], **one}},
        {"firstAvailable": [{"allocationMode": "All"}, one]},
    ]
