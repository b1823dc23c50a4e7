"""Tests of updates of pods: immutable fields, status, resizes, ephemeral containers."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

import copy
from typing import Any

import pytest

from polykind.apis.core.pod_options import pod_options
from polykind.apis.core.pod_resize_validation import validate_pod_resize
from polykind.apis.core.pod_status_validation import validate_pod_status_update
from polykind.apis.core.pod_update_validation import validate_ephemeral_containers_update, validate_pod_update
from polykind.contract import JsonObject
from tests.apis.core.pods import container, pod

IMMUTABLE = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def update_errors(old: JsonObject, **changed: Any) -> list[str]:
    new = copy.deepcopy(old)
    new["spec"].update(changed)
    return [str(error) for error in validate_pod_update(new, old, pod_options(old["spec"]))]


def test_images_may_change() -> None:
    old = pod(initContainers=[container("init")])
    changed = [{**old["spec"]["containers"][0], "image": "app:2"}]
    assert update_errors(old, containers=changed) == []
    assert (
        update_errors(old, containers=[{**changed[0], "image": ""}])[-1] == "spec.containers[0].image: Required value"
    )
    assert update_errors(old, containers=[*changed, *changed])[-1] == (
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    )


def test_other_fields_may_not_change() -> None:
    [error] = update_errors(pod(), hostname="other")
    assert error.startswith(IMMUTABLE)
    assert error.endswith(
        '\n@@ -64,7 +64,7 @@\n   "SELinuxChangePolicy": null\n  },\n  "ImagePullSecrets": null,\n- "Hostname": "",\n'
        '+ "Hostname": "other",\n  "Subdomain": "",\n  "SetHostnameAsFQDN": null,\n  "Affinity": null,\n'
    )


def test_quantities_may_change_their_text() -> None:
    old = pod(containers=[container(resources={"requests": {"cpu": "1e3"}})], overhead={"cpu": "1e3"})
    same = [{**old["spec"]["containers"][0], "resources": {"requests": {"cpu": "1k"}}}]
    assert update_errors(old, containers=same, overhead={"cpu": "1k"}) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, 10, []),
        (10, 5, []),
        (5, 10, ["spec.activeDeadlineSeconds: Invalid value: 10: must be less than or equal to previous value"]),
        (
            5,
            None,
            ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
        ),
    ],
)
def test_deadlines_may_only_become_shorter(old: int | None, new: int | None, expected: list[str]) -> None:
    spec: JsonObject = {} if old is None else {"activeDeadlineSeconds": old}
    stored = pod(**spec)
    changed = copy.deepcopy(stored)
    changed["spec"].pop("activeDeadlineSeconds", None)
    if new is not None:
        changed["spec"]["activeDeadlineSeconds"] = new
    assert [str(e) for e in validate_pod_update(changed, stored, pod_options(stored["spec"]))] == expected


def test_tolerations_may_only_be_added() -> None:
    toleration = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    old = pod(tolerations=[toleration])
    assert update_errors(old, tolerations=[{**toleration, "tolerationSeconds": 6}, {"operator": "Exists"}]) == []
    assert update_errors(old, tolerations=[{**toleration, "key": "b"}]) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    ]


def test_gated_pods_may_select_fewer_nodes() -> None:
    requirement = {"key": "zone", "operator": "In", "values": ["a"]}
    affinity = {"nodeAffinity": {TERMS: {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}}
    old = pod(schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"}, affinity=affinity)
    stricter = copy.deepcopy(affinity)
    stricter["nodeAffinity"][TERMS]["nodeSelectorTerms"][0]["matchExpressions"].append({**requirement, "key": "b"})
    assert update_errors(old, nodeSelector={"a": "b", "c": "d"}, affinity=stricter, schedulingGates=[]) == []
    assert update_errors(old, nodeSelector={"c": "d"}) == [
        'spec.nodeSelector: Invalid value: {"c":"d"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)'
    ]
    other = {"nodeAffinity": {TERMS: {"nodeSelectorTerms": [{"matchExpressions": [{**requirement, "key": "b"}]}]}}}
    assert update_errors(old, affinity=other) == [
        f"spec.affinity.nodeAffinity.{TERMS}.nodeSelectorTerms[0]: Invalid value: "
        '{"MatchExpressions":[{"Key":"b","Operator":"In","Values":["a"]}],"MatchFields":null}: '
        "only additions are allowed (no mutations or deletions)"
    ]
    assert update_errors(old, schedulingGates=[{"name": "h"}]) == [
        "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'"
    ]


def test_mirror_annotation_may_not_change() -> None:
    old = pod(nodeName="n")
    new = copy.deepcopy(old)
    new["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert [str(e) for e in validate_pod_update(new, old, pod_options(old["spec"]))] == [
        "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation"
    ]


def test_ephemeral_containers_may_only_be_added() -> None:
    old = pod(ephemeralContainers=[container("debug")])

    def errors(*containers: JsonObject) -> list[str]:
        new = copy.deepcopy(old)
        new["spec"]["ephemeralContainers"] = list(containers)
        found = validate_ephemeral_containers_update(new, old, pod_options(old["spec"]))
        return [str(error).partition("\n")[0] for error in found]

    [debug] = old["spec"]["ephemeralContainers"]
    assert errors(debug, {**debug, "name": "more"}) == []
    at = "spec.ephemeralContainers: Forbidden: existing ephemeral containers"
    assert errors() == [f'{at} "debug" may not be removed']
    assert errors({**debug, "image": "other"}) == [f'{at} "debug" may not be changed']


def resize_errors(old: JsonObject, resources: JsonObject, /, **spec: Any) -> list[str]:
    new = copy.deepcopy(old)
    new["spec"].update(spec)
    if resources:
        new["spec"]["containers"][0]["resources"] = resources
    return [str(error) for error in validate_pod_resize(new, old, pod_options(old["spec"]))]


def test_resizes_change_cpu_and_memory_only() -> None:
    resources = {"requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}}
    old = pod(containers=[container(resources=resources)])
    assert resize_errors(old, {"requests": {**resources["requests"], "cpu": "2"}, "limits": {"cpu": "4"}}) == []
    assert resize_errors(old, {"requests": {**resources["requests"], "ephemeral-storage": "2Gi"}}) == [
        "spec: Forbidden: only cpu and memory resources are mutable"
    ]
    assert resize_errors(old, {"requests": {"cpu": "1"}})[0] == (
        "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"
    )
    assert resize_errors(old, resources, hostname="other") == [
        "spec: Forbidden: only cpu and memory resources are mutable"
    ]


def test_resizes_keep_the_qos_class() -> None:
    same = {"cpu": "1", "memory": "1Gi"}
    old = pod(containers=[container(resources={"limits": same})])
    found = resize_errors(old, {"limits": same, "requests": {**same, "cpu": "500m"}})
    assert found == ['spec: Invalid value: "": Pod QOS Class may not change as a result of resizing']


def test_resizes_need_a_node_that_reports_resources() -> None:
    old = pod(containers=[container(resources={"requests": {"cpu": "1"}})])
    old["status"]["containerStatuses"] = [{"name": "app", "state": {"running": {}}}]
    assert resize_errors(old, {"requests": {"cpu": "2"}}) == [
        "spec: Forbidden: Pod running on node without support for resize"
    ]


def status_errors(old_status: JsonObject, status: JsonObject, **spec: Any) -> list[str]:
    old = {**pod(**spec), "status": old_status}
    return [str(error) for error in validate_pod_status_update({**old, "status": status}, old)]


def state(name: str, **states: Any) -> JsonObject:
    return {"name": name, "state": states}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"conditions": [{"type": "Ready"}, {"type": "example.com/x"}]}, []),
        ({"conditions": [{"type": "a b"}]}, None),
        ({"conditions": [{"type": "Ready", "observedGeneration": -1}]}, ["status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer"]),
        ({"qosClass": "Guaranteed"}, ['status.qosClass: Invalid value: "Guaranteed": field is immutable']),
        ({"podIPs": [{"ip": "1.2.3"}]}, ['status.podIPs[0]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']),
        ({"podIPs": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.5"}]}, ['status.podIPs: Invalid value: [{"IP":"1.2.3.4"},{"IP":"1.2.3.5"}]: may specify no more than one IP for each IP family']),
        ({"podIPs": [{"ip": "1.2.3.4"}, {"ip": "::1"}]}, []),
        ({"hostIPs": [{"ip": "1.2.3.4"}]}, ['status.hostIPs[0].ip: Invalid value: "1.2.3.4": must be equal to `hostIP`']),
        ({"nominatedNodeName": "A"}, None),
        ({"resourceClaimStatuses": [{"name": "x"}]}, ['status.resourceClaimStatuses[0].name: Invalid value: "x": must match the name of an entry in `spec.resourceClaims`']),
        ({"containerStatuses": [{"name": "app", "user": {"linux": {"uid": -1}}}]}, ["status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive"]),
        ({"containerStatuses": [{"name": "app", "allocatedResourcesStatus": [{"name": "gpu"}]}]}, ["status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: \"gpu\": must match one of the container's resource requests"]),
    ],
)  # fmt: skip
def test_status(status: JsonObject, expected: list[str] | None) -> None:
    found = status_errors({}, status)
    assert len(found) == 1 if expected is None else found == expected


@pytest.mark.parametrize(
    ("policy", "exit_code", "allowed"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_terminated_containers_may_only_restart_by_policy(policy: str, exit_code: int, allowed: bool) -> None:
    old = {"containerStatuses": [state("app", terminated={"exitCode": exit_code})]}
    new = {"containerStatuses": [state("app", running={})]}
    found = status_errors(old, new, restartPolicy=policy)
    reason = "may not be transitioned to non-terminated state"
    assert found == ([] if allowed else [f"status.containerStatuses[0].state: Forbidden: {reason}"])


@pytest.mark.parametrize(
    ("status", "paths"),
    [
        ({"observedGeneration": -1}, ["observedGeneration"]),
        ({"podIPs": [{"ip": "bad"}, {"ip": "::1"}]}, ["podIPs[0]", "podIPs", "podIPs"]),
        ({"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "R"}, {"name": "c"}]}, ["resourceClaimStatuses[0].resourceClaimName", "resourceClaimStatuses[1].name"]),
        ({"extendedResourceClaimStatus": {}}, ["extendedResourceClaimStatus.requestMappings", "extendedResourceClaimStatus.resourceClaimName"]),
        ({"extendedResourceClaimStatus": {"resourceClaimName": "r", "requestMappings": [{"containerName": "x", "requestName": "r"}, {"containerName": "app", "resourceName": "x", "requestName": "R"}]}}, ["extendedResourceClaimStatus.requestMappings[0].containerName", "extendedResourceClaimStatus.requestMappings[1].resourceName", "extendedResourceClaimStatus.requestName"]),
        ({"extendedResourceClaimStatus": {"resourceClaimName": "R_", "requestMappings": [{"containerName": "app", "resourceName": "cpu", "requestName": "r"}] * 2}}, [*(f"extendedResourceClaimStatus.requestMappings[1].{field}" for field in ("containerName", "resourceName", "requestName")), "extendedResourceClaimStatus.resourceClaimName"]),
        ({"containerStatuses": [{"name": "app", "user": {"linux": {"gid": -1, "supplementalGroups": [-1]}}}]}, ["containerStatuses[0].user.linux.gid", "containerStatuses[0].user.linux.supplementalGroups[0]"]),
        ({"containerStatuses": [{"name": "app", "allocatedResourcesStatus": [{"name": "claim:x", "resources": [{"resourceID": "a", "health": "Healthy", "message": ""}, {"resourceID": "a", "health": "Bad", "message": "m" * 1001}]}]}]}, [f"containerStatuses[0].allocatedResourcesStatus[0].{path}" for path in ("name", "resources[0].message", "resources[1].health", "resources[1].message", "resources[1].resourceID")]),
        ({"containerStatuses": [{"name": "app", "allocatedResourcesStatus": [{"name": "claim:c/r"}, {"name": "cpu"}]}]}, []),
        ({"ephemeralContainerStatuses": [{"name": "d", "allocatedResourcesStatus": [{"name": "x"}]}]}, ["ephemeralContainerStatuses[0].allocatedResourcesStatus"]),
    ],
)  # fmt: skip
def test_paths_of_status_errors(status: JsonObject, paths: list[str]) -> None:
    resources = {"requests": {"cpu": "1"}, "claims": [{"name": "c", "request": "r"}]}
    claims = [{"name": "c", "resourceClaimName": "x"}]
    found = status_errors({}, status, containers=[container(resources=resources)], resourceClaims=claims)
    assert [text.partition(": ")[0].removeprefix("status.") for text in found] == paths


def test_bound_pods_have_no_nominated_node() -> None:
    assert status_errors({}, {"nominatedNodeName": "n"}, nodeName="m") == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]


def test_users_of_windows_containers() -> None:
    status = {"containerStatuses": [{"name": "app", "user": {"linux": {"uid": 1}}}]}
    assert status_errors({}, status, os={"name": "windows"}) == [
        "status.containerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"
    ]


@pytest.mark.parametrize(
    ("fields", "allowed"),
    [
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}]}, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [3]}}]}, False),
        ({"restartPolicy": "Always"}, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [9]}}]}, True),
    ],
)  # fmt: skip
def test_restart_rules_of_containers(fields: JsonObject, allowed: bool) -> None:
    old = {"containerStatuses": [state("app", terminated={"exitCode": 3})]}
    new = {"containerStatuses": [state("app", running={})]}
    found = status_errors(old, new, restartPolicy="Never", containers=[container(**fields)])
    assert (found == []) is allowed


def test_pod_level_resources_can_be_resized() -> None:
    old = pod(resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}})
    assert resize_errors(old, {}, resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2", "memory": "1Gi"}}) == []
    assert resize_errors(old, {}, resources={"requests": {"cpu": "1"}}) == [
        "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"
    ]
    huge = {"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}, "limits": {"cpu": "2", "hugepages-2Mi": "2Mi"}}
    assert resize_errors(old, {}, resources=huge) == [
        "spec: Forbidden: only cpu and memory resources are mutable at pod-level"
    ]
    without = copy.deepcopy(old)
    del without["spec"]["resources"]
    found = [str(error) for error in validate_pod_resize(without, old, pod_options(old["spec"]))]
    assert "spec.resources: Forbidden: pod-level resources cannot be removed" in found


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"containers": [container("other")]}, "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"),
        ({"containers": [container(), container("b")]}, "spec.containers: Forbidden: containers may not be added or removed on resize"),
        ({"initContainers": []}, "spec.initContainers: Forbidden: initContainers may not be added or removed on resize"),
        ({"initContainers": [container("init", resources={"limits": {"ephemeral-storage": "1Gi"}})]}, "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable"),
    ],
)  # fmt: skip
def test_resizes_keep_the_containers(changed: JsonObject, expected: str) -> None:
    old = pod(initContainers=[container("init")])
    new = pod(**{"initContainers": [container("init")], **changed})
    found = [str(error) for error in validate_pod_resize(new, old, pod_options(old["spec"]))]
    assert expected in found


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        (pod(nodeName="n", annotations={"kubernetes.io/config.mirror": "x"}), "static pods cannot be resized"),
        (pod(os={"name": "windows"}), "windows pods cannot be resized"),
    ],
)
def test_pods_that_cannot_be_resized(old: JsonObject, reason: str) -> None:
    assert resize_errors(old, {"requests": {"cpu": "1"}}) == [f"[]: Forbidden: {reason}"]
