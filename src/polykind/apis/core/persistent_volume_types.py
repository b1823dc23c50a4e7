"""The fields of PersistentVolumes."""

from __future__ import annotations

from polykind.apis.core.affinity_types import NODE_SELECTOR
from polykind.apis.core.reference_types import OBJECT_REFERENCE, SECRET_REFERENCE
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.volume_claim_types import PERSISTENT_VOLUME_ACCESS_MODE, PERSISTENT_VOLUME_MODE
from polykind.apis.core.volume_types import (
    AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE,
    AZURE_DISK_VOLUME_SOURCE,
    FC_VOLUME_SOURCE,
    FLOCKER_VOLUME_SOURCE,
    GCE_PERSISTENT_DISK_VOLUME_SOURCE,
    HOST_PATH_VOLUME_SOURCE,
    NFS_VOLUME_SOURCE,
    PHOTON_PERSISTENT_DISK_VOLUME_SOURCE,
    PORTWORX_VOLUME_SOURCE,
    QUOBYTE_VOLUME_SOURCE,
    VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE,
)
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    RESOURCE_LIST,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    ListOf,
    String,
)

_struct = CORE_V1.struct

_PERSISTENT_VOLUME_PHASE = String("v1.PersistentVolumePhase", ("Available", "Bound", "Failed", "Pending", "Released"))
PERSISTENT_VOLUME_RECLAIM_POLICY = String("v1.PersistentVolumeReclaimPolicy", ("Delete", "Recycle", "Retain"))

_GLUSTERFS_PERSISTENT_VOLUME_SOURCE = _struct(
    "GlusterfsPersistentVolumeSource",
    "A Glusterfs volume.",
    Field("endpoints", 1, STRING, omitempty=False),
    Field("path", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
    Field("endpointsNamespace", 4, STRING, pointer=True),
)

_RBD_PERSISTENT_VOLUME_SOURCE = _struct(
    "RBDPersistentVolumeSource",
    "A Rados block device.",
    Field("monitors", 1, STRINGS, omitempty=False),
    Field("image", 2, STRING, omitempty=False),
    Field("fsType", 3, STRING),
    Field("pool", 4, STRING, default="rbd"),
    Field("user", 5, STRING, default="admin"),
    Field("keyring", 6, STRING, default="/etc/ceph/keyring"),
    Field("secretRef", 7, SECRET_REFERENCE, pointer=True),
    Field("readOnly", 8, BOOL),
)

_ISCSI_PERSISTENT_VOLUME_SOURCE = _struct(
    "ISCSIPersistentVolumeSource",
    "An iSCSI disk.",
    Field("targetPortal", 1, STRING, omitempty=False),
    Field("iqn", 2, STRING, omitempty=False),
    Field("lun", 3, INT32, omitempty=False),
    Field("iscsiInterface", 4, STRING, default="default"),
    Field("fsType", 5, STRING),
    Field("readOnly", 6, BOOL),
    Field("portals", 7, STRINGS),
    Field("chapAuthDiscovery", 8, BOOL),
    Field("chapAuthSession", 11, BOOL),
    Field("secretRef", 10, SECRET_REFERENCE, pointer=True),
    Field("initiatorName", 12, STRING, pointer=True),
)

_CINDER_PERSISTENT_VOLUME_SOURCE = _struct(
    "CinderPersistentVolumeSource",
    "A Cinder volume of OpenStack.",
    Field("volumeID", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("readOnly", 3, BOOL),
    Field("secretRef", 4, SECRET_REFERENCE, pointer=True),
)

_CEPH_FS_PERSISTENT_VOLUME_SOURCE = _struct(
    "CephFSPersistentVolumeSource",
    "A Ceph file system.",
    Field("monitors", 1, STRINGS, omitempty=False),
    Field("path", 2, STRING),
    Field("user", 3, STRING),
    Field("secretFile", 4, STRING),
    Field("secretRef", 5, SECRET_REFERENCE, pointer=True),
    Field("readOnly", 6, BOOL),
)

_FLEX_PERSISTENT_VOLUME_SOURCE = _struct(
    "FlexPersistentVolumeSource",
    "A volume of an exec-based plugin. Deprecated.",
    Field("driver", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("secretRef", 3, SECRET_REFERENCE, pointer=True),
    Field("readOnly", 4, BOOL),
    Field("options", 5, STRING_MAP),
)

_AZURE_FILE_PERSISTENT_VOLUME_SOURCE = _struct(
    "AzureFilePersistentVolumeSource",
    "A file share of Azure.",
    Field("secretName", 1, STRING, omitempty=False),
    Field("shareName", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
    Field("secretNamespace", 4, STRING, omitempty=False, pointer=True),
)

_SCALE_IO_PERSISTENT_VOLUME_SOURCE = _struct(
    "ScaleIOPersistentVolumeSource",
    "A ScaleIO volume.",
    Field("gateway", 1, STRING, omitempty=False),
    Field("system", 2, STRING, omitempty=False),
    Field("secretRef", 3, SECRET_REFERENCE, omitempty=False, pointer=True, required=True),
    Field("sslEnabled", 4, BOOL),
    Field("protectionDomain", 5, STRING),
    Field("storagePool", 6, STRING),
    Field("storageMode", 7, STRING, default="ThinProvisioned"),
    Field("volumeName", 8, STRING),
    Field("fsType", 9, STRING, default="xfs"),
    Field("readOnly", 10, BOOL),
)

_LOCAL_VOLUME_SOURCE = _struct(
    "LocalVolumeSource",
    "A disk, partition or directory of one node.",
    Field("path", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING, pointer=True),
)

_STORAGEOS_PERSISTENT_VOLUME_SOURCE = _struct(
    "StorageOSPersistentVolumeSource",
    "A StorageOS volume.",
    Field("volumeName", 1, STRING),
    Field("volumeNamespace", 2, STRING),
    Field("fsType", 3, STRING),
    Field("readOnly", 4, BOOL),
    Field("secretRef", 5, OBJECT_REFERENCE, pointer=True),
)

_CSI_PERSISTENT_VOLUME_SOURCE = _struct(
    "CSIPersistentVolumeSource",
    "A volume of a CSI driver.",
    Field("driver", 1, STRING, omitempty=False),
    Field("volumeHandle", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
    Field("fsType", 4, STRING),
    Field("volumeAttributes", 5, STRING_MAP),
    Field("controllerPublishSecretRef", 6, SECRET_REFERENCE, pointer=True),
    Field("nodeStageSecretRef", 7, SECRET_REFERENCE, pointer=True),
    Field("nodePublishSecretRef", 8, SECRET_REFERENCE, pointer=True),
    Field("controllerExpandSecretRef", 9, SECRET_REFERENCE, pointer=True),
    Field("nodeExpandSecretRef", 10, SECRET_REFERENCE, pointer=True),
)

_PERSISTENT_VOLUME_SOURCE = _struct(
    "PersistentVolumeSource",
    "The source of a volume, of which exactly one field is set.",
    Field("gcePersistentDisk", 1, GCE_PERSISTENT_DISK_VOLUME_SOURCE, pointer=True),
    Field("awsElasticBlockStore", 2, AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE, pointer=True),
    Field("hostPath", 3, HOST_PATH_VOLUME_SOURCE, pointer=True),
    Field("glusterfs", 4, _GLUSTERFS_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("nfs", 5, NFS_VOLUME_SOURCE, pointer=True),
    Field("rbd", 6, _RBD_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("iscsi", 7, _ISCSI_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("cinder", 8, _CINDER_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("cephfs", 9, _CEPH_FS_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("fc", 10, FC_VOLUME_SOURCE, pointer=True),
    Field("flocker", 11, FLOCKER_VOLUME_SOURCE, pointer=True),
    Field("flexVolume", 12, _FLEX_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("azureFile", 13, _AZURE_FILE_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("vsphereVolume", 14, VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE, pointer=True),
    Field("quobyte", 15, QUOBYTE_VOLUME_SOURCE, pointer=True),
    Field("azureDisk", 16, AZURE_DISK_VOLUME_SOURCE, pointer=True),
    Field("photonPersistentDisk", 17, PHOTON_PERSISTENT_DISK_VOLUME_SOURCE, pointer=True),
    Field("portworxVolume", 18, PORTWORX_VOLUME_SOURCE, pointer=True),
    Field("scaleIO", 19, _SCALE_IO_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("local", 20, _LOCAL_VOLUME_SOURCE, pointer=True),
    Field("storageos", 21, _STORAGEOS_PERSISTENT_VOLUME_SOURCE, pointer=True),
    Field("csi", 22, _CSI_PERSISTENT_VOLUME_SOURCE, pointer=True),
)

_VOLUME_NODE_AFFINITY = _struct(
    "VolumeNodeAffinity",
    "The nodes from which a volume can be used.",
    Field("required", 1, NODE_SELECTOR, pointer=True),
)

PERSISTENT_VOLUME_SPEC = _struct(
    "PersistentVolumeSpec",
    "The desired state of a volume.",
    Field("capacity", 1, RESOURCE_LIST, "The size of the volume."),
    Field("", 2, _PERSISTENT_VOLUME_SOURCE),
    Field("accessModes", 3, ListOf(PERSISTENT_VOLUME_ACCESS_MODE), "The ways in which nodes can mount the volume."),
    Field(
        "claimRef", 4, OBJECT_REFERENCE, "The claim to which the volume is bound.", pointer=True, map_type="granular"
    ),
    Field(
        "persistentVolumeReclaimPolicy",
        5,
        PERSISTENT_VOLUME_RECLAIM_POLICY,
        "Retain, Delete or Recycle: the treatment after the claim is deleted.",
    ),
    Field("storageClassName", 6, STRING, "The storage class of the volume."),
    Field("mountOptions", 7, STRINGS),
    Field("volumeMode", 8, PERSISTENT_VOLUME_MODE, pointer=True),
    Field("nodeAffinity", 9, _VOLUME_NODE_AFFINITY, pointer=True),
    Field("volumeAttributesClassName", 10, STRING, pointer=True),
)

_PERSISTENT_VOLUME_STATUS = _struct(
    "PersistentVolumeStatus",
    "The observed state of a volume.",
    Field("phase", 1, _PERSISTENT_VOLUME_PHASE, "Pending, Available, Bound, Released or Failed."),
    Field("message", 2, STRING),
    Field("reason", 3, STRING),
    Field("lastPhaseTransitionTime", 4, TIME, pointer=True),
)

PERSISTENT_VOLUME_FIELDS = (
    Field("spec", 2, PERSISTENT_VOLUME_SPEC, "The desired state."),
    Field("status", 3, _PERSISTENT_VOLUME_STATUS, "The observed state."),
)
