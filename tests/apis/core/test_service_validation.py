"""Validation of Services."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.service_defaults import default_service
from polykind.apis.core.service_validation import validate_service, validate_service_status, validate_service_update
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.strategies.core.service_strategy import drop_type_dependent_fields, service_warnings


def service(**spec: Any) -> JsonObject:
    obj: JsonObject = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **spec}, "status": {}}
    default_service(obj)
    return obj


def texts(found: list[FieldError]) -> list[str]:
    return [str(error) for error in found]


def errors_of(**spec: Any) -> list[str]:
    return texts(validate_service(service(**spec), None))


def test_defaults_of_types() -> None:
    assert service()["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "internalTrafficPolicy": "Cluster",
    }
    balancer = service(type="LoadBalancer", sessionAffinity="ClientIP")["spec"]
    assert balancer["allocateLoadBalancerNodePorts"] is True
    assert balancer["externalTrafficPolicy"] == "Cluster"
    assert balancer["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    external = service(type="ExternalName", sessionAffinityConfig={"clientIP": {}})["spec"]
    assert "internalTrafficPolicy" not in external
    assert "sessionAffinityConfig" not in external


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"ports": [], "clusterIP": "None", "clusterIPs": ["None"]}, []),
        ({"ports": [{"port": 1}, {"port": 2, "name": "b"}]}, ["spec.ports[0].name: Required value"]),
        (
            {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "a"}]},
            [
                'spec.ports[1].name: Duplicate value: "a"',
                'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,'
                '"TargetPort":0,"NodePort":0}',
            ],
        ),
        (
            {"ports": [{"port": 80, "targetPort": "a--b"}]},
            ['spec.ports[0].targetPort: Invalid value: "a--b": must not contain consecutive hyphens'],
        ),
        (
            {"ports": [{"port": 80, "nodePort": 30000}]},
            ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        ),
        (
            {"sessionAffinity": "X"},
            ['spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"'],
        ),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
            [
                "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: "
                "must be greater than 0 and less than 86400"
            ],
        ),
        (
            {"externalIPs": ["127.0.0.1"]},
            [
                'spec.externalIPs[0]: Invalid value: "127.0.0.1": '
                "may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ],
        ),
        ({"type": "ExternalName", "ports": []}, ["spec.externalName: Required value"]),
        (
            {"type": "ExternalName", "externalName": "a.", "clusterIPs": ["1.2.3.4"], "ipFamilies": ["IPv4"]},
            [
                "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
                "spec.ipFamilies: Forbidden: may not be set for ExternalName services",
            ],
        ),
        (
            {"loadBalancerSourceRanges": [" 10.0.0.0/8 "], "loadBalancerClass": "x"},
            [
                "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
                "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
            ],
        ),
        (
            {"externalTrafficPolicy": "Local"},
            ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services'],
        ),
        (
            {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
            ["spec.healthCheckNodePort: Required value"],
        ),
        (
            {"trafficDistribution": "X"},
            [
                'spec.trafficDistribution: Unsupported value: "X": '
                'supported values: "PreferClose", "PreferSameZone", "PreferSameNode"'
            ],
        ),
    ],
)
def test_specs(spec: JsonObject, expected: list[str]) -> None:
    assert errors_of(**spec) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"clusterIP": "1.2.3.4"}, ["spec.clusterIPs: Required value"]),
        (
            {"clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.5"]},
            ['spec.clusterIPs: Invalid value: ["1.2.3.5"]: first value must match `clusterIP`'],
        ),
        (
            {"clusterIP": "None", "clusterIPs": ["None", "1.2.3.4"]},
            ['spec.clusterIPs: Invalid value: ["None","1.2.3.4"]: \'None\' must be the first and only value'],
        ),
        (
            {"clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.4", "1.2.3.5"]},
            [
                'spec.clusterIPs: Invalid value: ["1.2.3.4","1.2.3.5"]: '
                "may specify no more than one IP for each IP family"
            ],
        ),
        (
            {"clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.4"], "ipFamilies": ["IPv6"]},
            ['spec.clusterIPs[0]: Invalid value: "1.2.3.4": expected an IPv6 value as indicated by `ipFamilies[0]`'],
        ),
        ({"ipFamilies": ["IPv4", "IPv4"]}, ['spec.ipFamilies[1]: Duplicate value: "IPv4"']),
    ],
)
def test_cluster_ip_fields(spec: JsonObject, expected: list[str]) -> None:
    assert errors_of(**spec) == expected


def test_source_range_annotation() -> None:
    obj = service(type="LoadBalancer")
    key = "service.beta.kubernetes.io/load-balancer-source-ranges"
    obj["metadata"]["annotations"] = {key: "10.0.0.0/8, bad"}
    (error,) = texts(validate_service(obj, None))
    assert error.startswith(f'metadata.annotations[{key}]: Invalid value: "bad": must be a valid CIDR value')
    assert validate_service(obj, obj) == []


def with_ips(*ips: str, **spec: Any) -> JsonObject:
    families = ["IPv6" if ":" in ip else "IPv4" for ip in ips]
    return service(clusterIP=ips[0], clusterIPs=list(ips), ipFamilies=families, **spec)


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (
            with_ips("1.2.3.5", ipFamilyPolicy="SingleStack"),
            with_ips("1.2.3.4", ipFamilyPolicy="SingleStack"),
            ['spec.clusterIPs[0]: Invalid value: ["1.2.3.5"]: may not change once set'],
        ),
        (
            with_ips("1.2.3.4", ipFamilyPolicy="PreferDualStack"),
            with_ips("1.2.3.4", "::1", ipFamilyPolicy="PreferDualStack"),
            [
                'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": '
                f"must be set to 'SingleStack' when releasing the secondary {name}"
                for name in ("clusterIP", "ipFamily")
            ],
        ),
        (
            service(type="LoadBalancer", loadBalancerClass="a/b"),
            service(type="LoadBalancer", loadBalancerClass="a/c"),
            ['spec.loadBalancerClass: Invalid value: "a/b": may not change once set'],
        ),
        (with_ips("1.2.3.4", "::1"), with_ips("1.2.3.4"), []),
        (service(type="ExternalName", externalName="a"), with_ips("1.2.3.4"), []),
    ],
)
def test_updates(new: JsonObject, old: JsonObject, expected: list[str]) -> None:
    assert texts(validate_service_update(new, old)) == expected


@pytest.mark.parametrize(
    ("ingress", "expected"),
    [
        ({"ip": "1.2.3.4", "ipMode": "VIP"}, []),
        ({"ip": "1.2.3.4"}, ["ipMode: Required value: must be specified when `ip` is set"]),
        ({"ipMode": "VIP"}, ["ipMode: Forbidden: may not be specified when `ip` is not set"]),
        ({"hostname": "1.2.3.4"}, ['hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address']),
    ],
)
def test_status(ingress: JsonObject, expected: list[str]) -> None:
    old, new = service(type="LoadBalancer"), service(type="LoadBalancer")
    new["status"] = {"loadBalancer": {"ingress": [ingress]}}
    assert texts(validate_service_status(new, old)) == [f"status.loadBalancer.ingress[0].{text}" for text in expected]
    new["spec"]["type"] = "ClusterIP"
    (error,) = validate_service_status(new, old)
    assert error.reason == "FieldValueForbidden"


def test_type_change_drops_fields_of_the_old_type() -> None:
    old = with_ips(
        "1.2.3.4",
        type="LoadBalancer",
        externalTrafficPolicy="Local",
        healthCheckNodePort=30001,
        ipFamilyPolicy="SingleStack",
        ports=[{"port": 80, "nodePort": 30000}],
    )["spec"]
    spec = {**old, "type": "ExternalName", "externalName": "a", "ports": [dict(old["ports"][0])]}
    drop_type_dependent_fields(spec, old)
    assert set(spec) == {"externalName", "internalTrafficPolicy", "ports", "sessionAffinity", "type"}
    assert "nodePort" not in spec["ports"][0]
    changed = {**old, "type": "ClusterIP", "healthCheckNodePort": 30002, "ports": [{"port": 80, "nodePort": 30005}]}
    drop_type_dependent_fields(changed, old)
    assert (changed["healthCheckNodePort"], changed["ports"][0]["nodePort"]) == (30002, 30005)


def test_warnings() -> None:
    obj = service(
        clusterIP="None", clusterIPs=["None"], sessionAffinity="ClientIP", externalIPs=["1.2.3.4"], externalName="x"
    )
    assert service_warnings(obj) == [
        "spec.externalIPs is ignored for headless services",
        "spec.SessionAffinity is ignored for headless services",
        'spec.externalName is ignored when spec.type is not "ExternalName"',
    ]
    assert service_warnings(service()) == []
