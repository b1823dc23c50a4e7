"""Tests of the validation of pod specs and pod templates."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.apis.core.pods import container, pod_errors, template_errors

WINDOWS = "cannot be set for a windows pod"
TERM = "requiredDuringSchedulingIgnoredDuringExecution"


def test_valid_pods_have_no_errors() -> None:
    assert pod_errors() == template_errors() == []
    assert (
        pod_errors(
            hostUsers=False,
            nodeSelector={"kubernetes.io/os": "linux"},
            tolerations=[
                {"operator": "Exists"},
                {"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 5},
            ],
            dnsPolicy="None",
            dnsConfig={"nameservers": ["10.0.0.1"], "searches": ["a_b.example.com", "."]},
            schedulingGates=[{"name": "example.com/wait"}],
            securityContext={"sysctls": [{"name": "net/ipv4/ip_forward", "value": "1"}], "fsGroup": 0},
        )
        == []
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, ["spec.containers: Required value"]),
        ({"restartPolicy": "Sometimes"}, ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"']),
        ({"activeDeadlineSeconds": 0}, ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"]),
        ({"dnsPolicy": "None"}, ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        ({"dnsConfig": {"options": [{}]}}, ["spec.dnsConfig.options[0]: Required value: must not be empty"]),
        ({"hostAliases": [{"ip": "1.2.3"}]}, ['spec.hostAliases[0].ip: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']),
        ({"os": {"name": ""}}, ["spec.os.name: Required value"]),
        ({"os": {"name": "plan9"}}, ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"']),
        ({"os": {"name": "windows"}, "hostPID": True}, [f"spec.hostPID: Forbidden: {WINDOWS}"]),
        ({"os": {"name": "linux"}, "securityContext": {"windowsOptions": {}}}, ["spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"]),
        ({"hostUsers": False, "hostNetwork": True}, ["spec.hostNetwork: Forbidden: when `hostUsers` is false"]),
        ({"hostPID": True, "shareProcessNamespace": True}, ["spec.securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"]),
        ({"ephemeralContainers": [container("debug")]}, ["spec.ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"nodeName": "n", "schedulingGates": [{"name": "g"}]}, ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"]),
        ({"schedulingGates": [{"name": "g"}, {"name": "g"}]}, ['spec.schedulingGates[1]: Duplicate value: "g"']),
        ({"resourceClaims": [{"name": "c"}]}, ['spec.resourceClaims[0]: Invalid value: {"Name":"c","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`']),
        ({"securityContext": {"seLinuxChangePolicy": "MountOption"}}, ['spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"']),
        ({"securityContext": {"runAsUser": -1}}, ["spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"]),
        ({"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}}, ["spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true"]),
        ({"hostnameOverride": "a", "hostNetwork": True}, ["spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true"]),
        ({"resources": {"requests": {"cpu": "1"}}, "containers": [container(resources={"requests": {"cpu": "2"}})]}, ['spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2']),
        ({"resources": {"limits": {"storage": "1"}}}, ['spec.resources.limits[storage]: Unsupported value: "storage": supported values: "cpu", "hugepages-", "memory"']),
        ({"overhead": {"cpu": "-1"}}, ['spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
    ],
)  # fmt: skip
def test_pod_spec(spec: JsonObject, expected: list[str]) -> None:
    assert pod_errors(**spec) == expected


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"value": "x"}, 'operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"'),
        ({"key": "a", "operator": "Lt", "value": "1"}, 'operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"'),
        ({"key": "a", "operator": "Near"}, 'operator: Unsupported value: "Near": supported values: "Equal", "Exists"'),
        ({"key": "a", "operator": "Exists", "value": "x"}, "operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"),
        ({"key": "a", "tolerationSeconds": 1}, "effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"),
        ({"key": "a", "effect": "Later"}, 'effect: Unsupported value: "Later": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'),
    ],
)  # fmt: skip
def test_tolerations(toleration: JsonObject, expected: str) -> None:
    assert pod_errors(tolerations=[toleration]) == [f"spec.tolerations[0].{expected}"]


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [
        ({"nodeAffinity": {TERM: {"nodeSelectorTerms": []}}}, [f"nodeAffinity.{TERM}.nodeSelectorTerms: Required value: must have at least one node selector term"]),
        ({"podAffinity": {TERM: [{"topologyKey": "zone", "matchLabelKeys": ["a"]}]}}, [f"podAffinity.{TERM}[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"]),
        ({"podAffinity": {TERM: [{"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}]}}, [f'podAffinity.{TERM}[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys']),
        ({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]}}, ["nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100"]),
    ],
)  # fmt: skip
def test_affinity(affinity: JsonObject, expected: list[str]) -> None:
    assert pod_errors(affinity=affinity) == [f"spec.affinity.{text}" for text in expected]


def test_pod_affinity_needs_a_topology_key() -> None:
    found = pod_errors(affinity={"podAntiAffinity": {TERM: [{}]}})
    assert found[0] == f"spec.affinity.podAntiAffinity.{TERM}[0].topologyKey: Required value: can not be empty"
    assert len(found) == 3


def constraint(**fields: Any) -> JsonObject:
    return {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}, **fields}


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([constraint()], []),
        ([constraint(maxSkew=0)], ["[0].maxSkew: Invalid value: 0: must be greater than zero"]),
        ([constraint(topologyKey="")], ["[0].topologyKey: Required value: can not be empty"]),
        ([constraint(), constraint()], ['[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"']),
        ([constraint(whenUnsatisfiable="ScheduleAnyway", minDomains=2)], ["[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"]),
        ([constraint(nodeTaintsPolicy="Maybe")], ['[0].nodeTaintsPolicy: Unsupported value: "Maybe": supported values: "Honor", "Ignore"']),
        ([constraint(matchLabelKeys=["a"], labelSelector={"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["c"]}]})], ['[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector']),
    ],
)  # fmt: skip
def test_topology_spread_constraints(constraints: list[JsonObject], expected: list[str]) -> None:
    found = pod_errors(topologySpreadConstraints=constraints)
    assert found == [f"spec.topologySpreadConstraints{text}" for text in expected]


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"kubernetes.io/config.mirror": "x"}, '[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set'),
        ({"controller.kubernetes.io/pod-deletion-cost": "+1"}, '[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer'),
        ({"seccomp.security.alpha.kubernetes.io/pod": "x"}, '.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp profile'),
        ({"container.apparmor.security.beta.kubernetes.io/b": "unconfined"}, '[container.apparmor.security.beta.kubernetes.io/b]: Invalid value: "b": container not found'),
        ({"container.apparmor.security.beta.kubernetes.io/app": "x"}, '[container.apparmor.security.beta.kubernetes.io/app]: Invalid value: "x": invalid AppArmor profile name: "x"'),
    ],
)  # fmt: skip
def test_annotations(annotations: dict[str, str], expected: str) -> None:
    assert pod_errors(annotations=annotations) == [f"metadata.annotations{expected}"]


def test_profiles_in_annotations_and_fields_must_match() -> None:
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    context = {"seccompProfile": {"type": "RuntimeDefault"}}
    assert pod_errors(annotations=annotations, securityContext=context) == [
        "spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match"
    ]
    local = {"container.apparmor.security.beta.kubernetes.io/app": "localhost/a"}
    context = {"appArmorProfile": {"type": "Localhost", "localhostProfile": "b"}}
    assert pod_errors(annotations=local, securityContext=context) == [
        "spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden: "
        "apparmor profile in annotation and field must match"
    ]


def test_rules_that_do_not_apply_to_templates() -> None:
    padded = [container(image=" app ")]
    assert pod_errors(containers=padded) == [
        'spec.containers[0].image: Invalid value: " app ": must not have leading or trailing whitespace'
    ]
    assert template_errors(containers=padded) == []
    image: JsonObject = {"volumes": [{"name": "v", "image": {}}]}
    assert pod_errors(**image) == ["spec.volumes[0].image.reference: Required value"]
    assert template_errors(**image) == []
    token: JsonObject = {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}
    assert pod_errors(**token) == [
        "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: "
        "must not be specified when serviceAccountName is not set"
    ]
    assert template_errors(**token) == []


def test_templates_have_no_ephemeral_containers() -> None:
    assert template_errors(ephemeralContainers=[container("debug")]) == [
        "template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"
    ]


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"readinessGates": [{"conditionType": "a b"}]}, ["readinessGates[0].conditionType"]),
        ({"nodeName": "N", "hostname": "a.b", "priorityClassName": "P", "runtimeClassName": "R", "preemptionPolicy": "X"}, ["nodeName", "hostname", "priorityClassName", "runtimeClassName", "preemptionPolicy"]),
        ({"resourceClaims": [{"name": "", "resourceClaimName": "a"}, {"name": "c", "resourceClaimName": "A_"}, {"name": "c", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}]}, ["resourceClaims[0].name", "resourceClaims[1].resourceClaimName", "resourceClaims[2].name", "resourceClaims[2]"]),
        ({"os": {"name": "windows"}, "resources": {"limits": {"cpu": "1"}}}, ["resources"]),
        ({"resources": {"claims": [{"name": "c"}], "limits": {"cpu": "1"}}, "resourceClaims": [{"name": "c", "resourceClaimName": "r"}]}, ["resources.claims"]),
        ({"resources": {"limits": {"cpu": "1"}}, "containers": [{"name": "app", "image": "app:1", "resources": {"limits": {"cpu": "2"}}}]}, ["resources.requests", "resources.containers[0][cpu].limits"]),
        ({"resources": {"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}}, "containers": [{"name": "app", "image": "app:1", "resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}}]}, ["resources.requests[hugepages-2Mi]", "resources.limits[hugepages-2Mi]", "resources.containers[0][hugepages-2Mi].limits"]),
        ({"hostNetwork": True, "containers": [{"name": "app", "image": "app:1", "ports": [{"containerPort": 80, "hostPort": 81}]}]}, ["containers[0].ports[0].hostPort"]),
        ({"dnsPolicy": "None", "dnsConfig": {"searches": ["A"]}}, ["dnsConfig.nameservers"]),
        ({"dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1"], "searches": ["A."]}}, ["dnsConfig.nameservers", "dnsConfig.searches[0]"]),
        ({"hostnameOverride": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "setHostnameAsFQDN": True}, ["hostnameOverride", "hostnameOverride"]),
        ({"hostUsers": False, "hostPID": True, "containers": [{"name": "app", "image": "app:1", "volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}], "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, ["HostPID", "containers[0].volumeDevices"]),
        ({"containers": [{"name": "app", "image": "app:1", "env": [{"name": "A", "valueFrom": {"fileKeyRef": {"key": "A", "volumeName": "v", "path": "p"}}}]}], "volumes": [{"name": "v", "configMap": {"name": "c"}}]}, ["containers[0].env[0].valueFrom.fileKeyRef.volumeName"]),
        ({"securityContext": {"supplementalGroups": [-1], "sysctls": [{"name": "", "value": "1"}, {"name": "A", "value": "1"}, {"name": "a.b", "value": "1"}, {"name": "a.b", "value": "1"}]}}, ["securityContext.supplementalGroups[0]", "securityContext.sysctls[0].name", "securityContext.sysctls[1].name", "securityContext.sysctls[3].name"]),
        ({"hostIPC": True, "securityContext": {"sysctls": [{"name": "kernel.shmmax", "value": "1"}, {"name": "fs/mqueue/x", "value": "1"}]}}, ["securityContext.sysctls[0].name", "securityContext.sysctls[1].name"]),
        ({"securityContext": {"windowsOptions": {"hostProcess": True}}, "containers": [{"name": "app", "image": "app:1"}, {"name": "b", "image": "app:1", "securityContext": {"windowsOptions": {"hostProcess": False}}}]}, ["containers[1].securityContext.windowsOptions.hostProcess", "spec", "hostNetwork", "spec"]),
        ({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "podAffinityTerm": {"topologyKey": "a", "namespaces": ["A"]}}]}}}, ["affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight", "affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespace"]),
        ({"initContainers": [{"name": "i", "image": "app:1", "restartPolicyRules": [{"action": "Restart"}], "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}]}, ["initContainers[0].restartPolicy", "initContainers[0].resizePolicy[0].restartPolicy"]),
        ({"tolerations": [{"key": "a", "value": "-"}]}, ["tolerations[0].operator"]),
    ],
)  # fmt: skip
def test_paths_of_errors(spec: JsonObject, paths: list[str]) -> None:
    assert [text.partition(": ")[0].removeprefix("spec.") for text in pod_errors(**spec)] == paths
