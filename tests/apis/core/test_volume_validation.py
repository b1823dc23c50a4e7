"""Tests of the validation of the volumes of pods and of their mounts."""

# ruff: noqa: E501 (one case per line)

from __future__ import annotations

import pytest

from polykind.contract import JsonObject
from tests.apis.core.pods import container, pod_errors


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"emptyDir": {"sizeLimit": "-1"}}, ["emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity"]),
        ({"hostPath": {"path": "/a/../b"}}, ["hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"]),
        ({"emptyDir": {}, "cephfs": {"monitors": ["m"]}, "downwardAPI": {}}, ["cephFS: Forbidden: may not specify more than 1 volume type", "downwarAPI: Forbidden: may not specify more than 1 volume type"]),
        ({"gcePersistentDisk": {}}, ["persistentDisk.pdName: Required value"]),
        ({"secret": {"defaultMode": 512}}, ["secret.secretName: Required value", "secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive"]),
        ({"configMap": {"name": "c", "items": [{"key": "k", "path": "../p"}]}}, ["configMap.items[0].path: Invalid value: \"../p\": must not contain '..'"]),
        ({"configMap": {"name": "c", "items": [{"key": "k", "path": "..p"}]}}, ["configMap.items[0].path: Invalid value: \"..p\": must not start with '..'"]),
        ({"downwardAPI": {"items": [{"path": "p"}]}}, ["downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"]),
        ({"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "spec.nodeName"}}]}}, ['downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"']),
        ({"projected": {"sources": [{"secret": {"name": "s"}, "configMap": {"name": "c"}}]}}, ["projected.sources[0]: Forbidden: may not specify more than 1 volume type per source"]),
        ({"projected": {"sources": [{"secret": {"name": s, "items": [{"key": "k", "path": "p"}]}} for s in "ab"]}}, ['projected: Invalid value: "b": conflicting duplicate paths']),
        ({"csi": {"driver": "d", "nodePublishSecretRef": {}}}, ["csi.nodePublishSecretRef.name: Required value"]),
        ({"iscsi": {"targetPortal": "p", "iqn": "x"}}, ['iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa']),
        ({"ephemeral": {}}, ["ephemeral.volumeClaimTemplate: Required value"]),
        ({"image": {"reference": "a", "pullPolicy": "X"}}, ['image.pullPolicy: Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"']),
    ],
)  # fmt: skip
def test_sources(source: JsonObject, expected: list[str]) -> None:
    assert pod_errors(volumes=[{"name": "v", **source}]) == [f"spec.volumes[0].{text}" for text in expected]


def test_token_paths_and_lifetimes() -> None:
    token = {"path": "", "expirationSeconds": 599}
    sources = {"name": "v", "projected": {"sources": [{"serviceAccountToken": token}]}}
    assert pod_errors(serviceAccountName="robot", volumes=[sources]) == [
        "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: "
        "may not specify a duration less than 10 minutes",
        "spec.volumes[0].projected.path: Required value",
    ]


def test_volume_names_are_unique() -> None:
    volumes = [{"name": "v"}, {"name": "v"}, {"name": ""}]
    assert pod_errors(volumes=volumes) == [
        'spec.volumes[1].name: Duplicate value: "v"',
        "spec.volumes[2].name: Required value",
    ]


def test_claims_of_ephemeral_volumes_are_reserved() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [
        {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}},
        {"name": "other", "persistentVolumeClaim": {"claimName": "web-data"}},
    ]
    assert pod_errors(volumes=volumes) == [
        'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "web-data": '
        "must not reference a PVC that gets created for an ephemeral volume"
    ]


@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ({"mountPath": ""}, "[0].mountPath: Required value"),
        ({"mountPath": "/a", "subPath": "/b"}, '.subPath: Invalid value: "/b": must be a relative path'),
        ({"mountPath": "/a", "subPath": "b", "subPathExpr": "c"}, '[0].subPathExpr: Invalid value: "c": subPathExpr and subPath are mutually exclusive'),
        ({"mountPath": "/a", "mountPropagation": "Bidirectional"}, ".mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers"),
        ({"mountPath": "/a", "recursiveReadOnly": "Enabled"}, ".recursiveReadOnly: Forbidden: may only be specified when readOnly is true"),
    ],
)  # fmt: skip
def test_mounts(mount: JsonObject, expected: str) -> None:
    containers = [container(volumeMounts=[{"name": "v", **mount}])]
    assert pod_errors(volumes=[{"name": "v"}], containers=containers) == [f"spec.containers[0].volumeMounts{expected}"]


def test_block_devices_are_claims() -> None:
    containers = [container(volumeDevices=[{"name": "v", "devicePath": "/dev/a"}])]
    assert pod_errors(volumes=[{"name": "v"}], containers=containers) == [
        'spec.containers[0].volumeDevices[0].name: Invalid value: "v": '
        "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
    ]
    claim = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    assert pod_errors(volumes=claim, containers=containers) == []


@pytest.mark.parametrize(
    ("source", "paths"),
    [
        ({"gitRepo": {"directory": "/a"}}, ["gitRepo.repository", "gitRepo.directory"]),
        ({"iscsi": {"targetPortal": "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp", "iqn": "iqn.2020-01.a:b", "initiatorName": "x"}}, ["iscsi.initiatorname", "name"]),
        ({"cinder": {"secretRef": {}}}, ["cinder.volumeID", "cinder.secretRef.name"]),
        ({"csi": {"driver": "d", "nodePublishSecretRef": {"name": "S_"}}}, ["csi.name"]),
        ({"downwardAPI": {"defaultMode": -1, "items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}, "resourceFieldRef": {"resource": "limits.cpu", "containerName": "a"}}, {"path": "", "resourceFieldRef": {"resource": "limits.cpu"}, "mode": 512}]}}, ["downwardAPI.defaultMode", "downwardAPI", "downwardAPI.path", "downwardAPI.resourceFieldRef.containerName", "downwardAPI.mode"]),
        ({"projected": {"sources": [{"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}, {"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}}]}}, ["projected"]),
    ],
)  # fmt: skip
def test_paths_of_source_errors(source: JsonObject, paths: list[str]) -> None:
    found = pod_errors(volumes=[{"name": "v", **source}])
    assert [text.partition(": ")[0].removeprefix("spec.volumes[0].") for text in found] == paths


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({"volumeMounts": [{"name": "", "mountPath": "/a"}, {"name": "v", "mountPath": "/a", "recursiveReadOnly": "X", "mountPropagation": "X"}]}, ["volumeMounts[0].name", "volumeMounts[0].name", "volumeMounts[1].mountPath", "volumeMounts.mountPropagation", "volumeMounts.recursiveReadOnly"]),
        ({"volumeMounts": [{"name": "v", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "Enabled", "mountPropagation": "HostToContainer"}]}, ["volumeMounts.recursiveReadOnly"]),
        ({"volumeMounts": [{"name": "c", "mountPath": "/a"}], "volumeDevices": [{"name": "c", "devicePath": "/a"}]}, ["volumeMounts[0].name", "volumeMounts[0].mountPath", "volumeDevices[0].name", "volumeDevices[0].devicePath"]),
        ({"volumeDevices": [{"name": "c", "devicePath": "/a"}, {"name": "c", "devicePath": "/a"}, {"name": "", "devicePath": ""}, {"name": "x", "devicePath": "/../a"}]}, ["volumeDevices[1].name", "volumeDevices[1].devicePath", "volumeDevices[2].name", "volumeDevices[2].name", "volumeDevices[2].devicePath", "volumeDevices[3].name", "volumeDevices[3].devicePath"]),
    ],
)  # fmt: skip
def test_paths_of_mount_errors(fields: JsonObject, paths: list[str]) -> None:
    volumes = [{"name": "v"}, {"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]
    found = pod_errors(volumes=volumes, containers=[container(**fields)])
    assert [text.partition(": ")[0].removeprefix("spec.containers[0].") for text in found] == paths
