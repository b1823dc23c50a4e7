"""Tests of the validation of containers: ports, environment, probes, resources, security contexts."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

import pytest

from polykind.contract import JsonObject
from tests.apis.core.pods import container, container_errors, pod_errors

CONTEXT = (
    '{"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,'
    '"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,'
    '"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}'
)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"image": ""}, ["image: Required value"]),
        ({"imagePullPolicy": "Often"}, ['imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"']),
        ({"terminationMessagePolicy": "X"}, ['terminationMessagePolicy: Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"']),
        ({"ports": [{}]}, ["ports[0].containerPort: Required value"]),
        ({"ports": [{"containerPort": 70000}]}, ["ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"]),
        ({"ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]}, ['ports[1].name: Duplicate value: "a"']),
        ({"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]}, ['ports[1].hostPort: Duplicate value: "TCP//5"']),
        ({"env": [{}]}, ["env[0].name: Required value"]),
        ({"env": [{"name": "A", "valueFrom": {}}]}, ['env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`']),
        ({"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}, ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty']),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.unknown"}}}]}, ['env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.unknown": error converting fieldPath: field label not supported: spec.unknown']),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}]}, []),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName['a']"}}}]}, ["env[0].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.nodeName['a']\": error converting fieldPath: field label does not support subscript: spec.nodeName['a']"]),
        ({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "3"}}}]}, ['env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource']),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]}, ["env[0].valueFrom.secretKeyRef.key: Required value"]),
        ({"envFrom": [{}]}, ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']),
        ({"envFrom": [{"configMapRef": {}}]}, ["envFrom[0].configMapRef.name: Required value"]),
        ({"livenessProbe": {}}, ["livenessProbe: Required value: must specify a handler type"]),
        ({"livenessProbe": {"exec": {"command": ["a"]}, "successThreshold": 2}}, ["livenessProbe.successThreshold: Invalid value: 2: must be 1"]),
        ({"readinessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 5}}, ["readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes"]),
        ({"startupProbe": {"exec": {"command": ["a"]}, "httpGet": {"port": 1}}}, ["startupProbe.httpGet: Forbidden: may not specify more than 1 handler type"]),
        ({"livenessProbe": {"httpGet": {"port": 1, "scheme": "FTP"}}}, ['livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"']),
        ({"livenessProbe": {"exec": {"command": ["a"]}, "periodSeconds": -1}}, ["livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0"]),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}, ["lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)"]),
        ({"volumeMounts": [{"name": "v", "mountPath": "/"}]}, ['volumeMounts[0].name: Not found: "v"']),
        ({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}, ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1']),
        ({"resources": {"requests": {"example.com/gpu": "1"}}}, ["resources.limits: Required value: Limit must be set for non overcommitable resources"]),
        ({"resources": {"limits": {"gpu": "1"}}}, [f'resources.{f}[gpu]: Invalid value: "gpu": {text}' for f in ("limits", "requests") for text in ("must be a standard resource type or fully qualified", "must be a standard resource for containers")]),
        ({"resources": {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}}, [f'resources.{f}[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi' for f in ("limits", "requests")]),
        ({"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}, ["resources: Forbidden: HugePages require cpu or memory"]),
        ({"resources": {"claims": [{"name": "c"}]}}, ['resources.claims[0]: Not found: "c": must be one of the names in pod.spec.resourceClaims which is empty']),
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "X"}]}, ['resizePolicy: Unsupported value: "X": supported values: "NotRequired", "RestartContainer"']),
        ({"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]}, ["restartPolicy: Required value: must specify restartPolicy when restart rules are used"]),
        ({"securityContext": {"allowPrivilegeEscalation": False, "privileged": True}}, ["securityContext.privileged: Forbidden: disallowed by cluster policy", f"securityContext: Invalid value: {CONTEXT}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true"]),
        ({"securityContext": {"procMount": "Unmasked"}}, ['securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`']),
        ({"securityContext": {"seccompProfile": {"type": "Localhost"}}}, ["securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"]),
        ({"securityContext": {"seccompProfile": {"type": "Unconfined", "localhostProfile": "a"}}}, ['securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost']),
        ({"securityContext": {"appArmorProfile": {"type": "Localhost", "localhostProfile": " "}}}, ['securityContext.appArmorProfile.localhostProfile: Invalid value: " ": must not be padded with whitespace']),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "a\\b\\c"}}}, ['securityContext.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash']),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "..."}}}, ["securityContext.windowsOptions.runAsUserName: Invalid value: \"...\": runAsUserName's User cannot contain only periods or spaces"]),
    ],
)  # fmt: skip
def test_containers(fields: JsonObject, expected: list[str]) -> None:
    assert container_errors(**fields) == expected


def test_names_are_unique_among_all_containers() -> None:
    assert pod_errors(containers=[container("a"), container("a")], initContainers=[container("a")]) == [
        'spec.containers[1].name: Duplicate value: "a"',
        'spec.initContainers[0].name: Duplicate value: "a"',
    ]


def test_only_sidecars_have_probes() -> None:
    probe = {"exec": {"command": ["a"]}}
    sidecar = container("s", restartPolicy="Always", livenessProbe=probe)
    assert pod_errors(initContainers=[sidecar]) == []
    assert pod_errors(initContainers=[container("i", livenessProbe=probe)]) == [
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always"
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"targetContainerName": "x"}, ['targetContainerName: Not found: "x"']),
        ({"ports": [{"containerPort": 1}]}, ["ports: Forbidden: cannot be set for an Ephemeral Container"]),
        ({"lifecycle": {}}, ["lifecycle: Forbidden: cannot be set for an Ephemeral Container"]),
        ({"resources": {}, "targetContainerName": "app"}, []),
    ],
)
def test_ephemeral_containers(fields: JsonObject, expected: list[str]) -> None:
    found = pod_errors(ephemeralContainers=[container("debug", **fields)])
    assert found[:-1] == [f"spec.ephemeralContainers[0].{text}" for text in expected]


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}, {"resourceName": "cpu", "restartPolicy": "NotRequired"}]}, ["resizePolicy[1]"]),
        ({"restartPolicy": "X"}, ["restartPolicy"]),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Wait", "exitCodes": {"operator": "Near", "values": [1]}}, {"action": "Restart"}]}, ["restartPolicyRules[0].action", "restartPolicyRules[0].exitCodes.operator", "restartPolicyRules[1].exitCodes"]),
        ({"ports": [{"containerPort": 1, "hostPort": 70000, "name": "A", "protocol": "HTTP"}]}, ["ports[0].name", "ports[0].name", "ports[0].hostPort", "ports[0].protocol"]),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": ""}}}]}, ["env[0].valueFrom.fieldRef.fieldPath"]),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v2"}}}]}, ["env[0].valueFrom.fieldRef.fieldPath"]),
        ({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": ""}}}, {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.disk", "divisor": "2"}}}]}, ["env[0].valueFrom.resourceFieldRef.resource", "env[1].valueFrom.resourceFieldRef.resource"]),
        ({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.hugepages-2Mi", "divisor": "3"}}}]}, ["env[0].valueFrom.resourceFieldRef.divisor"]),
        ({"env": [{"name": "A", "valueFrom": {"fileKeyRef": {}}}, {"name": "B", "valueFrom": {"fileKeyRef": {"key": "B", "volumeName": "v", "path": "p"}}}]}, ["env[0].valueFrom.fileKeyRef.key", "env[0].valueFrom.fileKeyRef.volumeName", "env[0].valueFrom.fileKeyRef.path", "env[0].valueFrom.fileKeyRef.volumeName", "env[1].valueFrom.fileKeyRef.volumeName"]),
        ({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}, "configMapKeyRef": {"name": "c", "key": "a b"}}}]}, ["env[0].valueFrom.configMapKeyRef.key", "env[0].valueFrom"]),
        ({"envFrom": [{"prefix": "a=", "configMapRef": {"name": "c"}, "secretRef": {"name": "S_"}}]}, ["envFrom[0].prefix", "envFrom[0].secretRef.name", "envFrom"]),
        ({"lifecycle": {"postStart": {"exec": {}}}}, ["lifecycle.postStart.exec.command"]),
        ({"livenessProbe": {"grpc": {"port": 0}, "terminationGracePeriodSeconds": 0}}, ["livenessProbe.grpc.port", "livenessProbe.terminationGracePeriodSeconds"]),
        ({"readinessProbe": {"httpGet": {"port": "", "httpHeaders": [{"name": "a b", "value": "c"}]}}}, ["readinessProbe.httpGet.port", "readinessProbe.httpGet.port", "readinessProbe.httpGet.httpHeaders"]),
        ({"resources": {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}}}, ["resources.requests"]),
        ({"resources": {"limits": {"hugepages-x": "1", "memory": "1"}}}, ["resources.limits[hugepages-x]", "resources.requests[hugepages-x]"]),
        ({"resources": {"claims": [{"name": ""}, {"name": "c", "request": "r"}, {"name": "c"}, {"name": "c", "request": "R"}]}}, ["resources.claims[0]", "resources.claims[1]", "resources.claims[2]", "resources.claims[2]", "resources.claims[3]", "resources.claims[3]"]),
        ({"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}}, ["securityContext"]),
        ({"securityContext": {"seccompProfile": {"type": "", "localhostProfile": "a"}, "appArmorProfile": {"type": ""}}}, ["securityContext.seccompProfile.type", "securityContext.seccompProfile.localhostProfile", "securityContext.appArmorProfile.type"]),
        ({"securityContext": {"seccompProfile": {"type": "Other"}, "appArmorProfile": {"type": "Other"}}}, ["securityContext.seccompProfile.type", "securityContext.appArmorProfile.type"]),
        ({"securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}, "appArmorProfile": {"type": "Unconfined", "localhostProfile": "a"}}}, ["securityContext.seccompProfile.localhostProfile", "securityContext.appArmorProfile.localhostProfile"]),
        ({"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "A_", "gmsaCredentialSpec": "", "runAsUserName": ""}}}, ["securityContext.windowsOptions.gmsaCredentialSpecName", "securityContext.windowsOptions.gmsaCredentialSpec", "securityContext.windowsOptions.runAsUserName"]),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "-\\a<"}}}, ["securityContext.windowsOptions.runAsUserName"]),
    ],
)  # fmt: skip
def test_paths_of_container_errors(fields: JsonObject, paths: list[str]) -> None:
    assert [text.partition(": ")[0] for text in container_errors(**fields)] == paths
