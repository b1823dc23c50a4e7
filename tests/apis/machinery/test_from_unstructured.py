"""Tests of the errors of Go's FromUnstructured."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1 as CRD
from polykind.apis.core.types import NAMESPACE
from polykind.apis.machinery.from_unstructured import conversion_error, wrap_integers
from tests.apis.machinery.test_decoding import JSON


def _trusting(bundle: Any) -> Any:
    return {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": bundle}}}}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"metadata": {"labels": {"a": "b"}}, "spec": {"versions": [{"name": "v1", "served": True}]}}, ""),
        ({"metadata": None, "spec": {"names": None}, "unknown": 1}, ""),
        ({"metadata": []}, "cannot restore struct from: slice"),
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": True}}}, "unrecognized type: string"),
        ({"metadata": {"creationTimestamp": 1}}, "json: cannot unmarshal number into Go value of type string"),
        ({"spec": {"versions": {}}}, "cannot restore slice from map"),
        ({"spec": {"versions": [{"served": "yes"}]}}, "unrecognized type: bool"),
        ({"spec": {"scope": 1}}, "cannot convert int64 to v1.ResourceScope"),
        ({"spec": {"versions": "x"}, "metadata": "y"}, "cannot restore struct from: string"),
        ({"metadata": {"generation": 1.5}}, "cannot convert float64 to int64"),
        ({"metadata": {"generation": "1"}}, "unrecognized type: int64"),
        ({"apiVersion": 1, "metadata": []}, "cannot convert int64 to string"),
        ({"apiVersion": 1, "kind": True}, "unrecognized type: string"),
        (_trusting("x"), "error decoding from json: illegal base64 data at input byte 0"),
        (_trusting(["x"]), "unrecognized type: uint8"),
        (_trusting([104, None]), ""),
    ],
)
def test_first_error_in_the_order_of_fields(value: Any, message: str) -> None:
    assert conversion_error(value, CRD) == message


@given(JSON)
def test_any_value_has_a_result(value: Any) -> None:
    for placed in (value, {"metadata": value}, {"metadata": {"labels": value}}, {"spec": {"finalizers": value}}):
        assert isinstance(conversion_error(placed, NAMESPACE), str)


def test_integers_that_are_out_of_range_wrap() -> None:
    def webhook(port: int) -> Any:
        return {"spec": {"conversion": {"webhook": {"clientConfig": {"service": {"port": port}}}}}}

    value = webhook((1 << 31) + 5)
    assert wrap_integers(value, CRD)
    assert value == webhook(5 - (1 << 31))
    assert not wrap_integers(value, CRD)
