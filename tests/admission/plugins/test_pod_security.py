"""The PodSecurity plugin: levels, versions, warnings and namespace labels."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from polykind.admission.plugins.pod_security import LevelVersion, PodSecurity, existing_pod_warnings, namespace_policy
from polykind.admission.plugins.pod_security_checks import LATEST, evaluate
from polykind.contract import JsonObject
from tests.admission.plugins.plugin_support import FakeObjects, pod, rejection, request, services

RESTRICTED_CONTEXT = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def container(name: str = "c", **fields: Any) -> JsonObject:
    return {"name": name, "image": "i", **fields}


def violations(level: str, spec: JsonObject, minor: int = LATEST, **annotations: str) -> list[str]:
    return [str(violation) for violation in evaluate(level, minor, {"annotations": annotations}, spec)]


def context(**fields: Any) -> JsonObject:
    return {"containers": [container(securityContext=fields)]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hostNetwork": True, "hostIPC": True}, "host namespaces (hostNetwork=true, hostIPC=true)"),
        ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, 'hostPath volumes (volume "v")'),
        (
            {"containers": [container("a", ports=[{"hostPort": 9}, {"hostPort": 80}]), container("b")]},
            'hostPort (container "a" uses hostPorts 80, 9)',
        ),
        (
            context(privileged=True),
            'privileged (container "c" must not set securityContext.privileged=true)',
        ),
        (
            context(capabilities={"add": ["KILL", "NET_RAW"]}),
            'non-default capabilities (container "c" must not include "NET_RAW" in securityContext.capabilities.add)',
        ),
        (
            context(procMount="Unmasked"),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            {"securityContext": {"seLinuxOptions": {"type": "t", "user": "u"}}},
            'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "t"; user may not be set)',
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}, "containers": [container()]},
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        ({"securityContext": {"sysctls": [{"name": "a"}, {"name": "b"}]}}, "forbidden sysctls (a, b)"),
        (
            {"securityContext": {"windowsOptions": {"hostProcess": True}}},
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
        (
            {"containers": [container(livenessProbe={"httpGet": {"host": "h"}})]},
            'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
        ),
        (
            context(appArmorProfile={"type": "Unconfined"}),
            'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
        ),
    ],
)
def test_baseline(spec: JsonObject, expected: str) -> None:
    assert violations("baseline", spec) == [expected]


def test_restricted_names_all_violations() -> None:
    spec = {"containers": [container("a"), container("b")], "volumes": [{"name": "n", "nfs": {}}]}
    both = 'containers "a", "b"'
    assert violations("restricted", spec) == [
        f"allowPrivilegeEscalation != false ({both} must set securityContext.allowPrivilegeEscalation=false)",
        f'unrestricted capabilities ({both} must set securityContext.capabilities.drop=["ALL"])',
        'restricted volume types (volume "n" uses restricted volume type "nfs")',
        f"runAsNonRoot != true (pod or {both} must set securityContext.runAsNonRoot=true)",
        f"seccompProfile (pod or {both} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost")',
    ]


def test_restricted_admits_a_restricted_pod() -> None:
    assert violations("restricted", context(**RESTRICTED_CONTEXT)) == []


@pytest.mark.parametrize(
    ("level", "minor", "spec", "allowed"),
    [
        ("baseline", 26, {"securityContext": {"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]}}, False),
        ("baseline", 27, {"securityContext": {"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]}}, True),
        ("baseline", 33, {"containers": [container(startupProbe={"tcpSocket": {"host": "h"}})]}, True),
        ("baseline", 34, {"containers": [container(startupProbe={"tcpSocket": {"host": "h"}})]}, False),
        ("baseline", 34, {"hostUsers": False, **context(procMount="Unmasked")}, False),
        ("baseline", 35, {"hostUsers": False, **context(procMount="Unmasked")}, True),
        ("restricted", 35, {"hostUsers": False, **context(**RESTRICTED_CONTEXT, procMount="Unmasked")}, False),
        ("restricted", 22, context(**RESTRICTED_CONTEXT, runAsUser=0), True),
        ("restricted", 23, context(**RESTRICTED_CONTEXT, runAsUser=0), False),
        ("restricted", 24, {"os": {"name": "windows"}, **context(runAsNonRoot=True)}, False),
        ("restricted", 25, {"os": {"name": "windows"}, **context(runAsNonRoot=True)}, True),
        ("privileged", 36, {"hostPID": True}, True),
    ],
)
def test_versions(level: str, minor: int, spec: JsonObject, allowed: bool) -> None:
    assert (violations(level, spec, minor) == []) is allowed


def test_seccomp_annotations_before_1_19() -> None:
    found = violations(
        "baseline", {"containers": [container()]}, 18, **{"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    )
    assert found == ['seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")']


def labels(**modes: str) -> JsonObject:
    return {f"pod-security.kubernetes.io/{name.replace('_', '-')}": value for name, value in modes.items()}


def test_policy_of_labels() -> None:
    policy, problems = namespace_policy(labels(enforce="baseline", enforce_version="v1.30", audit="restricted"))
    assert not problems
    assert [str(mode) for mode in policy] == ["baseline:v1.30", "restricted:latest", "baseline:v1.30"]


def test_invalid_labels() -> None:
    policy, problems = namespace_policy(labels(enforce="x", warn="y", audit_version="v1.07"))
    assert policy.enforce.level == "restricted"
    assert policy.warn.level == "privileged"
    assert [str(problem) for problem in problems] == [
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": '
        "must be one of privileged, baseline, restricted",
        'metadata.labels[pod-security.kubernetes.io/audit-version]: Invalid value: "v1.07": must be "latest" or "v1.x"',
        'metadata.labels[pod-security.kubernetes.io/warn]: Invalid value: "y": '
        "must be one of privileged, baseline, restricted",
    ]


def namespace(**modes: str) -> JsonObject:
    return {"kind": "Namespace", "metadata": {"name": "default", "labels": labels(**modes)}}


def test_enforced_level_rejects_pods() -> None:
    attributes = request(pod(hostPID=True), namespace_object=lambda: namespace(enforce="baseline"))
    assert rejection(PodSecurity(services(FakeObjects())), attributes) == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    )


def test_warned_level_warns_about_pods_and_templates() -> None:
    warnings: list[str] = []
    template = {"kind": "CronJob", "metadata": {"name": "j"}}
    template["spec"] = {"jobTemplate": {"spec": {"template": {"spec": {"hostPID": True}}}}}
    plugin = PodSecurity(services(FakeObjects()))
    more: dict[str, Any] = {"namespace_object": lambda: namespace(warn="baseline"), "warnings": warnings}
    assert rejection(plugin, request(pod(hostPID=True), **more)) == ""
    assert rejection(plugin, request(template, group="batch", plural="cronjobs", **more)) == ""
    assert warnings == ['would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'] * 2


@pytest.mark.parametrize(("image", "rejected"), [("i", False), ("other", True)])
def test_update_is_checked_if_an_image_changes(image: str, rejected: bool) -> None:
    new = pod(hostPID=True, containers=[container(image=image)])
    attributes = request(new, pod(hostPID=True), namespace_object=lambda: namespace(enforce="baseline"))
    assert bool(rejection(PodSecurity(services(FakeObjects())), attributes)) is rejected


def test_stricter_namespace_warns_about_its_pods() -> None:
    objects, warnings = FakeObjects(), list[str]()
    for name in ("b", "a", "c"):
        objects.put("", "pods", pod(name, hostPID=True))
    attributes = request(namespace(enforce="baseline"), namespace(), plural="namespaces", warnings=warnings)
    assert rejection(PodSecurity(services(objects)), attributes) == ""
    assert warnings == [
        'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 2 other pods): host namespaces",
    ]


def test_namespace_with_invalid_labels_is_rejected_unless_they_are_old() -> None:
    plugin = PodSecurity(services(FakeObjects()))
    bad = namespace(enforce="x")
    assert "must be one of" in rejection(plugin, request(bad, plural="namespaces"))
    assert rejection(plugin, request(bad, namespace(enforce="x"), plural="namespaces")) == ""


def test_only_the_first_pods_are_checked() -> None:
    pods = [pod(f"p{index}", hostPID=True) for index in range(3001)]
    warnings = asyncio.run(existing_pod_warnings("n", LevelVersion("baseline"), pods))
    assert warnings[0] == "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods"
