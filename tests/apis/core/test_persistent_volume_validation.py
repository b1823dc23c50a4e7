"""Validation of PersistentVolumes and their sources."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.persistent_volume_defaults import default_persistent_volume
from polykind.apis.core.persistent_volume_validation import validate_volume_spec, validate_volume_update
from polykind.contract import JsonObject
from polykind.errors import FieldError

IQN = "iqn.2001-04.com.example:storage"
HOST_PATH = {"hostPath": {"path": "/data"}}
CSI = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}}
SECRET = {"name": "a", "namespace": "b"}
ONE_TYPE = "Forbidden: may not specify more than 1 volume type"


def spec(**fields: Any) -> JsonObject:
    return {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **fields}


def affinity(key: str = "a", **more: Any) -> JsonObject:
    expression = {"key": key, "operator": "In", "values": ["b"], **more}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def texts(found: list[FieldError]) -> list[str]:
    return [str(error) for error in found]


def errors_of(value: JsonObject, **options: Any) -> list[str]:
    return texts(validate_volume_spec(value, "pv", "spec", **options))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (spec(**HOST_PATH), []),
        (spec(), ["spec: Required value: must specify a volume type"]),
        (
            {**HOST_PATH},
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                'spec.capacity: Unsupported value: null: supported values: "storage"',
            ],
        ),
        (
            spec(**HOST_PATH, capacity={"storage": "0"}),
            ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
        ),
        (
            spec(**HOST_PATH, accessModes=["ReadWriteOncePod", "ReadWriteOnce"]),
            ["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        ),
        (spec(**HOST_PATH, nfs={"server": "s", "path": "/"}), [f"spec.nfs: {ONE_TYPE}"]),
        (spec(**HOST_PATH, cephfs={"monitors": ["m"]}), [f"spec.cephFS: {ONE_TYPE}"]),
        (
            spec(hostPath={"path": "/"}, persistentVolumeReclaimPolicy="Recycle"),
            ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
        (
            spec(local={"path": "/a"}),
            ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
        ),
        (spec(local={"path": "/a"}, nodeAffinity=affinity()), []),
        (
            spec(**HOST_PATH, nodeAffinity={}),
            ["spec.nodeAffinity.required: Required value: must specify required node constraints"],
        ),
        (
            spec(**HOST_PATH, volumeAttributesClassName=""),
            [
                "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
                "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
            ],
        ),
    ],
)
def test_specs(value: JsonObject, expected: list[str]) -> None:
    assert errors_of(value) == expected


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ({"csi": {"driver": "D_", "volumeHandle": "", "nodePublishSecretRef": {"name": "A_"}}}, 4),
        ({"iscsi": {"targetPortal": "p", "iqn": IQN, "secretRef": {"name": "s"}, "chapAuthSession": True}}, 0),
        ({"iscsi": {"targetPortal": "p", "iqn": "iqn.x", "lun": 256, "initiatorName": "odd"}}, 3),
        ({"iscsi": {"targetPortal": "p" * 64, "iqn": IQN, "initiatorName": IQN}}, 1),
        ({"fc": {"targetWWNs": ["a"], "wwids": ["b"], "lun": 256}}, 2),
        ({"fc": {}}, 1),
        ({"flexVolume": {"driver": "d", "options": {"x.k8s.io/a": "b", "c": "d"}}}, 1),
        ({"azureDisk": {"diskName": "d", "diskURI": "x", "kind": "Managed", "cachingMode": "Odd"}}, 2),
        ({"azureFile": {"secretName": "s", "shareName": "t", "secretNamespace": ""}}, 1),
        ({"glusterfs": {"endpoints": "e", "path": "p", "endpointsNamespace": "N"}}, 1),
        ({"cinder": {"volumeID": "v", "secretRef": {}}}, 2),
        ({"storageos": {"volumeName": "N", "secretRef": {"name": "s"}}}, 2),
        ({"quobyte": {"registry": "a:1,b", "volume": "v"}}, 1),
        ({"flocker": {"datasetName": "a/b", "datasetUUID": "u"}}, 2),
        ({"gcePersistentDisk": {"pdName": "p", "partition": 256}}, 1),
        ({"rbd": {}}, 2),
        ({"scaleIO": {}}, 3),
        ({"nfs": {"server": "s", "path": "p"}}, 1),
        ({"hostPath": {"path": "/a/../b", "type": "Odd"}}, 2),
    ],
)
def test_sources(source: JsonObject, fields: int) -> None:
    assert len(errors_of(spec(**source))) == fields


def test_inline_volumes() -> None:
    inline = {"accessModes": ["ReadWriteOnce"], **CSI}
    assert errors_of(inline, inline=True) == []
    value = spec(**HOST_PATH, claimRef={}, volumeMode="Block", persistentVolumeReclaimPolicy="Delete")
    assert [text.partition(":")[0] for text in errors_of(value, inline=True)] == [
        "spec.capacity",
        "spec.csi",
        "spec.persistentVolumeReclaimPolicy",
        "spec.volumeMode",
    ]


def volume(**fields: Any) -> JsonObject:
    return {"metadata": {"name": "pv"}, "spec": spec(**fields)}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (volume(**HOST_PATH), volume(**HOST_PATH), []),
        (
            volume(hostPath={"path": "/other"}),
            volume(**HOST_PATH),
            [
                "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"
                '@@ -2,7 +2,7 @@\n  "GCEPersistentDisk": null,\n  "AWSElasticBlockStore": null,\n  "HostPath": {\n'
                '-  "Path": "/data",\n+  "Path": "/other",\n   "Type": null\n  },\n  "Glusterfs": null,\n'
            ],
        ),
        (volume(csi={**CSI["csi"], "controllerExpandSecretRef": SECRET}), volume(**CSI), []),
        (
            volume(**CSI, volumeMode="Block"),
            volume(**CSI, volumeMode="Filesystem"),
            ['volumeMode: Invalid value: "Block": field is immutable'],
        ),
        (volume(**CSI, nodeAffinity=affinity()), volume(**CSI), []),
        (
            volume(**CSI, nodeAffinity=affinity("kubernetes.io/os")),
            volume(**CSI, nodeAffinity=affinity("beta.kubernetes.io/os")),
            [],
        ),
        (
            volume(**CSI),
            volume(**CSI, nodeAffinity=affinity(), volumeAttributesClassName="a"),
            [
                "nodeAffinity: Invalid value: null: field is immutable, except for updating from beta label to GA",
                "spec.volumeAttributesClassName: Forbidden: update from non-nil value to nil is forbidden",
            ],
        ),
    ],
)
def test_updates(new: JsonObject, old: JsonObject, expected: list[str]) -> None:
    assert texts(validate_volume_update(new, old)) == expected


def test_defaults() -> None:
    obj: JsonObject = {"spec": {"capacity": {"storage": "100u"}, "rbd": {"pool": "p"}}}
    default_persistent_volume(obj)
    assert obj == {
        "spec": {
            "capacity": {"storage": "1m"},
            "persistentVolumeReclaimPolicy": "Retain",
            "rbd": {"pool": "p", "user": "admin", "keyring": "/etc/ceph/keyring"},
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Pending"},
    }
