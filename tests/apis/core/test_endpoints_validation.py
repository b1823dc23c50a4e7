"""Validation of Endpoints."""

from __future__ import annotations

import pytest

from polykind.apis.core.defaults import default_endpoints
from polykind.apis.core.endpoints_validation import validate_subsets
from polykind.contract import JsonObject

ADDRESS = {"ip": "10.0.0.1"}


@pytest.mark.parametrize(
    ("subset", "expected"),
    [
        ({"addresses": [ADDRESS], "ports": [{"port": 80}]}, []),
        ({"addresses": [ADDRESS]}, []),
        ({"ports": []}, ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]),
        (
            {"notReadyAddresses": [{"ip": "127.0.0.1", "hostname": "a.b", "nodeName": "N"}]},
            ["hostname", "nodeName", "ip"],
        ),
        ({"addresses": [{"ip": "x"}]}, ["ip", "ip"]),
        ({"addresses": [ADDRESS], "ports": [{"port": 80}, {"port": 0, "name": "a"}]}, ["name", "port"]),
        (
            {"addresses": [ADDRESS], "ports": [{"port": 80, "protocol": "X", "appProtocol": "a b"}]},
            ["protocol", "appProtocol"],
        ),
    ],
)
def test_subsets(subset: JsonObject, expected: list[str]) -> None:
    default_endpoints({"subsets": [subset]})
    found = validate_subsets([subset])
    assert len(found) == len(expected)
    for error, text in zip(found, expected, strict=True):
        assert text in (str(error), error.field.rpartition(".")[2])
