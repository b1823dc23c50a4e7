"""Validation of EndpointSlices, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.discovery.defaults import default_endpoint_slice
from polykind.apis.discovery.types import ENDPOINT_SLICE
from polykind.apis.discovery.validation import endpoint_slice_warnings, validate_endpoint_slice
from polykind.contract import JsonObject
from polykind.strategies.discovery.strategy import EndpointSliceStrategy
from tests.support.objects import edited, texts

SLICE: JsonObject = {
    "metadata": {"name": "a", "namespace": "default"},
    "addressType": "IPv4",
    "endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "z"}]}}],
    "ports": [{"name": "a", "protocol": "TCP"}],
}
ADDRESSES = "endpoints[0].addresses"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("addressType", "", "addressType: Required value"),
        ("addressType", "X", 'addressType: Unsupported value: "X": supported values: "FQDN", "IPv4", "IPv6"'),
        (ADDRESSES, [], f"{ADDRESSES}: Required value: must contain at least 1 address"),
        (ADDRESSES, ["2001:db8::1"], f'{ADDRESSES}: Invalid value: "2001:db8::1": must be an IPv4 address'),
        (ADDRESSES, ["127.0.0.1"], f'{ADDRESSES}[0]: Invalid value: "127.0.0.1": may not be in the loopback range'),
        (ADDRESSES, ["10.0.0.1"] * 101, f"{ADDRESSES}: Too many: 101: must have at most 100 items"),
        ("endpoints", SLICE["endpoints"] * 1001, "endpoints: Too many: 1001: must have at most 1000 items"),
        ("endpoints[0].hostname", "A", 'endpoints[0].hostname: Invalid value: "A": a lowercase RFC 1123 label'),
        (
            "endpoints[0].hints.forZones",
            [{"name": "z"}] * 9,
            "endpoints[0].hints.forZones: Too many: 9: must have at m",
        ),
        (
            "endpoints[0].hints.forNodes",
            [{"name": "n"}] * 2,
            'endpoints[0].hints.forNodes[1].name: Duplicate value: "n"',
        ),
        ("ports[0].name", "-", 'ports[0].name: Invalid value: "-": a lowercase RFC 1123 label'),
        ("ports[0].protocol", "X", 'ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'),
        ("ports", SLICE["ports"] * 2, 'ports[1].name: Duplicate value: "a"'),
    ],
)
def test_invalid_values(path: str, value: Any, message: str) -> None:
    assert validate_endpoint_slice(SLICE) == []
    [found] = texts(validate_endpoint_slice(edited(SLICE, (path, value))))
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("a.example.com.", None),
        ("", "Required value"),
        ("a", 'Invalid value: "a": should be a domain with at least two segments separated by dots'),
        ("A.b", 'Invalid value: "A.b": a lowercase RFC 1123 subdomain'),
    ],
)
def test_domain_names(address: str, message: str | None) -> None:
    found = texts(validate_endpoint_slice(edited(SLICE, ("addressType", "FQDN"), (ADDRESSES, [address]))))
    assert [text.startswith(f"{ADDRESSES}[0]: {message}") for text in found] == ([True] if message else [])


def test_an_update_may_keep_invalid_endpoints_but_not_change_the_address_type() -> None:
    old = edited(SLICE, (ADDRESSES, ["127.0.0.1"]))
    assert validate_endpoint_slice(old, old) == []
    [found] = texts(validate_endpoint_slice(edited(old, ("addressType", "IPv6")), old))
    assert found == 'addressType: Invalid value: "IPv6": field is immutable'


def test_warnings() -> None:
    fqdn = edited(SLICE, ("addressType", "FQDN"))
    assert endpoint_slice_warnings(fqdn, created=True) == ["spec.addressType: FQDN endpoints are deprecated"]
    assert endpoint_slice_warnings(fqdn, created=False) == []
    managed = {"labels": {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}}
    zeros = edited(SLICE, (ADDRESSES, ["010.0.0.1"]))
    assert len(endpoint_slice_warnings(zeros, created=True)) == 1
    assert endpoint_slice_warnings(edited(zeros, ("metadata", managed)), created=True) == []


def test_ports_have_an_empty_name_and_tcp_by_default() -> None:
    endpoint_slice = {"ports": [{"port": 80}]}
    default_endpoint_slice(endpoint_slice)
    assert endpoint_slice["ports"] == [{"port": 80, "name": "", "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("path", "value", "generation"),
    [
        ("metadata.annotations", {"a": "b"}, 3),
        ("metadata.labels", {"a": "b"}, 4),
        ("ports", [], 4),
        ("endpoints[0].nodeName", "n", 4),
    ],
)
def test_the_generation_counts_labels_and_all_other_fields(path: str, value: Any, generation: int) -> None:
    old = edited(SLICE, ("metadata.generation", 3))
    new = edited(old, (path, value))
    EndpointSliceStrategy(ENDPOINT_SLICE).prepare_update(new, old)
    assert new["metadata"]["generation"] == generation


def test_the_deprecated_topology_is_dropped() -> None:
    new = edited(SLICE, ("endpoints[0].deprecatedTopology", {"a": "b"}))
    EndpointSliceStrategy(ENDPOINT_SLICE).prepare_create(new)
    assert "deprecatedTopology" not in new["endpoints"][0]
