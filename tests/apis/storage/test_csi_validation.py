"""Validation of CSIDrivers and CSINodes, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.storage import csi_validation
from polykind.apis.storage.defaults import default_csi_driver
from polykind.apis.storage.types import CSI_DRIVER
from polykind.contract import JsonObject
from polykind.strategies.storage.strategy import CSIDriverStrategy
from tests.support.objects import edited, texts


def _driver() -> JsonObject:
    driver: JsonObject = {"metadata": {"name": "d"}, "spec": {}}
    default_csi_driver(driver)
    return driver


NODE: JsonObject = {"drivers": [{"name": "d", "nodeID": "i", "topologyKeys": ["a"]}]}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("attachRequired", None, "spec.attachedRequired: Required value"),
        ("seLinuxMount", None, "spec.seLinuxMount: Required value"),
        ("fsGroupPolicy", "X", 'spec.fsGroupPolicy: Unsupported value: "X": supported values: "File", "None", "ReadWr'),
        ("volumeLifecycleModes", ["X"], 'spec.volumeLifecycleModes: Unsupported value: "X": supported values: "Persis'),
        ("tokenRequests", [{}, {}], 'spec.tokenRequests[1].audience: Duplicate value: ""'),
        ("tokenRequests", [{"expirationSeconds": 1}], "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may"),
        ("nodeAllocatableUpdatePeriodSeconds", 9, "spec.nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be"),
        ("serviceAccountTokenInSecrets", True, "spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccoun"),
    ],
)
def test_csi_drivers(path: str, value: Any, message: str) -> None:
    spec = _driver()["spec"]
    assert csi_validation.validate_csi_driver_spec(spec) == []
    [found] = texts(csi_validation.validate_csi_driver_spec(edited(spec, (path, value))))
    assert found.startswith(message)


def test_two_fields_of_a_csi_driver_are_immutable() -> None:
    old = _driver()["spec"]
    changed = edited(old, ("attachRequired", False), ("volumeLifecycleModes", ["Ephemeral"]), ("podInfoOnMount", True))
    assert texts(csi_validation.validate_csi_driver_update(changed, old)) == [
        "spec.attachedRequired: Invalid value: false: field is immutable",
        'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ]


def test_a_csi_driver_warns_about_tokens_in_volume_attributes() -> None:
    strategy, driver = CSIDriverStrategy(CSI_DRIVER), edited(_driver(), ("spec.tokenRequests", [{}]))
    assert strategy.warnings(driver, None) == [csi_validation.TOKENS_IN_SECRETS_WARNING]
    assert strategy.warnings(driver, driver) == []
    assert strategy.warnings(edited(driver, ("spec.serviceAccountTokenInSecrets", False)), None) == []


def test_the_generation_of_a_csi_driver_starts_with_its_first_change() -> None:
    strategy, old = CSIDriverStrategy(CSI_DRIVER), _driver()
    strategy.prepare_create(old)
    assert "generation" not in old["metadata"]
    new = edited(old, ("spec.podInfoOnMount", True))
    strategy.prepare_update(new, old)
    assert new["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("drivers[0].name", "", "spec.drivers[0].name: Required value"),
        ("drivers[0].nodeID", "", "spec.drivers[0].nodeID: Required value"),
        ("drivers[0].nodeID", "x" * 257, f'spec.drivers[0].nodeID: Invalid value: "{"x" * 257}": must be 256 characte'),
        ("drivers[0].allocatable", {"count": -1}, "spec.drivers[0].allocatable.count: Invalid value: -1: must be grea"),
        ("drivers[0].topologyKeys", ["a", "a"], 'spec.drivers[0]: Duplicate value: "a"'),
        ("drivers", NODE["drivers"] * 2, 'spec.drivers[1].name: Duplicate value: "d"'),
    ],
)
def test_csi_nodes(path: str, value: Any, message: str) -> None:
    assert csi_validation.validate_csi_node_spec(NODE) == []
    [found] = texts(csi_validation.validate_csi_node_spec(edited(NODE, (path, value))))
    assert found.startswith(message)


def test_drivers_of_a_csi_node_may_only_change_their_allocatable_volumes() -> None:
    assert csi_validation.validate_csi_node_update(edited(NODE, ("drivers[0].allocatable", {"count": 1})), NODE) == []
    [found] = texts(csi_validation.validate_csi_node_update(edited(NODE, ("drivers[0].nodeID", "j")), NODE))
    shown = '{"Name":"d","NodeID":"j","TopologyKeys":["a"],"Allocatable":null}'
    assert found == f"spec.drivers: Invalid value: {shown}: field is immutable"
