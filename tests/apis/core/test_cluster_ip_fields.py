"""The fields of Services that the server completes."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.cluster_ip_fields import (
    default_stored_service,
    init_ip_families,
    normalize_cluster_ips,
    patch_allocated_values,
)
from polykind.contract import JsonObject

SINGLE, DUAL = ("IPv4",), ("IPv4", "IPv6")


def spec(**fields: Any) -> JsonObject:
    return {"type": "ClusterIP", **fields}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ({"clusterIP": "a"}, None, ["a"]),
        ({"clusterIP": "a", "clusterIPs": ["b"]}, None, ["b"]),
        ({}, None, None),
        ({"clusterIP": "a"}, {"clusterIP": "a", "clusterIPs": ["a", "b"]}, ["a", "b"]),
        ({"clusterIP": "c", "clusterIPs": ["a"]}, {"clusterIP": "a", "clusterIPs": ["a"]}, ["c"]),
        ({"clusterIPs": ["a"]}, {"clusterIP": "a", "clusterIPs": ["a"]}, None),
        ({"clusterIP": "c", "clusterIPs": ["d"]}, {"clusterIP": "a", "clusterIPs": ["a"]}, ["d"]),
    ],
)
def test_normalization(new: JsonObject, old: JsonObject | None, expected: list[str] | None) -> None:
    normalize_cluster_ips(new, old)
    assert new.get("clusterIPs") == expected


def test_update_keeps_allocated_values() -> None:
    old = spec(
        type="NodePort",
        clusterIP="a",
        clusterIPs=["a"],
        ports=[{"name": "x", "nodePort": 30001}, {"name": "y", "nodePort": 30002}],
    )
    new = spec(type="NodePort", ports=[{"name": "y"}, {"name": "z", "nodePort": 30001}, {"name": "x"}])
    patch_allocated_values(new, old)
    assert (new["clusterIP"], new["clusterIPs"]) == ("a", ["a"])
    assert [port.get("nodePort") for port in new["ports"]] == [30002, 30001, None]


@pytest.mark.parametrize(
    ("fields", "configured", "families", "policy"),
    [
        ({}, SINGLE, ["IPv4"], "SingleStack"),
        ({}, DUAL, ["IPv4"], "SingleStack"),
        ({"ipFamilyPolicy": "PreferDualStack"}, SINGLE, ["IPv4"], "PreferDualStack"),
        ({"ipFamilyPolicy": "PreferDualStack"}, DUAL, ["IPv4", "IPv6"], "PreferDualStack"),
        ({"ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv6"]}, DUAL, ["IPv6", "IPv4"], "RequireDualStack"),
        ({"clusterIP": "::1", "clusterIPs": ["::1"]}, DUAL, ["IPv6"], "SingleStack"),
        ({"clusterIP": "None", "clusterIPs": ["None"]}, SINGLE, ["IPv4", "IPv6"], "RequireDualStack"),
        ({"clusterIP": "None", "clusterIPs": ["None"], "selector": {"a": "b"}}, SINGLE, ["IPv4"], "SingleStack"),
    ],
)
def test_families_of_new_services(
    fields: JsonObject, configured: tuple[str, ...], families: list[str], policy: str
) -> None:
    new = spec(**fields)
    assert init_ip_families(new, None, configured) == []
    assert (new["ipFamilies"], new["ipFamilyPolicy"]) == (families, policy)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"ipFamilies": ["IPv6"]}, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'),
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
            "this cluster is not configured for dual-stack services",
        ),
        (
            {"clusterIP": "::1", "clusterIPs": ["::1"]},
            'spec.clusterIPs[0]: Invalid value: ["::1"]: IPv6 is not configured on this cluster',
        ),
        (
            {"ipFamilies": ["IPv4", "IPv6"]},
            'spec.ipFamilyPolicy: Invalid value: "SingleStack": '
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
        ),
    ],
)
def test_families_that_the_cluster_lacks(fields: JsonObject, expected: str) -> None:
    assert [str(error) for error in init_ip_families(spec(**fields), None, SINGLE)] == [expected]


def dual(**fields: Any) -> JsonObject:
    both = {"clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.4", "::1"], "ipFamilies": ["IPv4", "IPv6"]}
    return spec(**{**both, "ipFamilyPolicy": "RequireDualStack", **fields})


def test_update_to_a_single_stack_drops_the_secondary_values() -> None:
    new = dual(ipFamilyPolicy="SingleStack")
    assert init_ip_families(new, dual(), DUAL) == []
    assert (new["clusterIPs"], new["ipFamilies"]) == (["1.2.3.4"], ["IPv4"])


def test_update_releases_the_secondary_ip_only_with_a_single_stack() -> None:
    found = init_ip_families(dual(clusterIPs=["1.2.3.4"]), dual(), DUAL)
    assert [error.detail for error in found] == ["must be 'SingleStack' to release the secondary cluster IP"]


def test_preference_for_dual_stack_does_not_follow_the_cluster() -> None:
    old = spec(clusterIP="1.2.3.4", clusterIPs=["1.2.3.4"], ipFamilies=["IPv4"], ipFamilyPolicy="PreferDualStack")
    new = dict(old)
    assert init_ip_families(new, old, DUAL) == []
    assert new == old


def test_stored_services_of_older_servers() -> None:
    old = spec(clusterIP="1.2.3.4")
    default_stored_service(old, "IPv4")
    assert old == spec(clusterIP="1.2.3.4", clusterIPs=["1.2.3.4"], ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")
    external = spec(type="ExternalName", internalTrafficPolicy="Cluster")
    default_stored_service(external, "IPv4")
    assert external == spec(type="ExternalName")
