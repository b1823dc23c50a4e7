"""The volumes of pods."""

from __future__ import annotations

from polykind.apis.core.projected_volume_types import (
    CONFIG_MAP_VOLUME_SOURCE,
    DOWNWARD_API_VOLUME_SOURCE,
    PROJECTED_VOLUME_SOURCE,
    SECRET_VOLUME_SOURCE,
)
from polykind.apis.core.reference_types import LOCAL_OBJECT_REFERENCE
from polykind.apis.core.types import CORE_V1
from polykind.apis.core.volume_claim_types import PERSISTENT_VOLUME_CLAIM_TEMPLATE
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    QUANTITY,
    STRING,
    STRING_MAP,
    STRINGS,
    String,
)

_struct = CORE_V1.struct

_AZURE_DATA_DISK_CACHING_MODE = String("v1.AzureDataDiskCachingMode", ("None", "ReadOnly", "ReadWrite"))
_AZURE_DATA_DISK_KIND = String("v1.AzureDataDiskKind", ("Dedicated", "Managed", "Shared"))
_HOST_PATH_TYPE = String(
    "v1.HostPathType",
    ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
PULL_POLICY = String("v1.PullPolicy", ("Always", "IfNotPresent", "Never"))

HOST_PATH_VOLUME_SOURCE = _struct(
    "HostPathVolumeSource",
    "A file or directory of the node.",
    Field("path", 1, STRING, "The path on the node.", omitempty=False),
    Field("type", 2, _HOST_PATH_TYPE, "The expected type of the path; empty to check nothing.", pointer=True),
)

_EMPTY_DIR_VOLUME_SOURCE = _struct(
    "EmptyDirVolumeSource",
    "A temporary directory that lives as long as the pod.",
    Field(
        "medium", 1, String("v1.StorageMedium"), "Memory to keep the files in memory; empty for the disk of the node."
    ),
    Field("sizeLimit", 2, QUANTITY, "The greatest size of the volume.", pointer=True),
)

GCE_PERSISTENT_DISK_VOLUME_SOURCE = _struct(
    "GCEPersistentDiskVolumeSource",
    "A persistent disk of Google Compute Engine.",
    Field("pdName", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("partition", 3, INT32),
    Field("readOnly", 4, BOOL),
)

AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE = _struct(
    "AWSElasticBlockStoreVolumeSource",
    "A disk of Amazon Elastic Block Store.",
    Field("volumeID", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("partition", 3, INT32),
    Field("readOnly", 4, BOOL),
)

_GIT_REPO_VOLUME_SOURCE = _struct(
    "GitRepoVolumeSource",
    "A Git repository that is cloned into an empty directory. Deprecated.",
    Field("repository", 1, STRING, omitempty=False),
    Field("revision", 2, STRING),
    Field("directory", 3, STRING),
)


NFS_VOLUME_SOURCE = _struct(
    "NFSVolumeSource",
    "A directory of an NFS server.",
    Field("server", 1, STRING, omitempty=False),
    Field("path", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
)

_ISCSI_VOLUME_SOURCE = _struct(
    "ISCSIVolumeSource",
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
    Field("secretRef", 10, LOCAL_OBJECT_REFERENCE, pointer=True),
    Field("initiatorName", 12, STRING, pointer=True),
)

_GLUSTERFS_VOLUME_SOURCE = _struct(
    "GlusterfsVolumeSource",
    "A Glusterfs volume.",
    Field("endpoints", 1, STRING, omitempty=False),
    Field("path", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
)

_PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE = _struct(
    "PersistentVolumeClaimVolumeSource",
    "The volume of a claim in the pod's namespace.",
    Field("claimName", 1, STRING, "The name of the claim.", omitempty=False),
    Field("readOnly", 2, BOOL, "True to mount the volume without write access."),
)

_RBD_VOLUME_SOURCE = _struct(
    "RBDVolumeSource",
    "A Rados block device.",
    Field("monitors", 1, STRINGS, omitempty=False),
    Field("image", 2, STRING, omitempty=False),
    Field("fsType", 3, STRING),
    Field("pool", 4, STRING, default="rbd"),
    Field("user", 5, STRING, default="admin"),
    Field("keyring", 6, STRING, default="/etc/ceph/keyring"),
    Field("secretRef", 7, LOCAL_OBJECT_REFERENCE, pointer=True),
    Field("readOnly", 8, BOOL),
)

_FLEX_VOLUME_SOURCE = _struct(
    "FlexVolumeSource",
    "A volume of an exec-based plugin. Deprecated.",
    Field("driver", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("secretRef", 3, LOCAL_OBJECT_REFERENCE, pointer=True),
    Field("readOnly", 4, BOOL),
    Field("options", 5, STRING_MAP),
)

_CINDER_VOLUME_SOURCE = _struct(
    "CinderVolumeSource",
    "A Cinder volume of OpenStack.",
    Field("volumeID", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("readOnly", 3, BOOL),
    Field("secretRef", 4, LOCAL_OBJECT_REFERENCE, pointer=True),
)

_CEPH_FS_VOLUME_SOURCE = _struct(
    "CephFSVolumeSource",
    "A Ceph file system.",
    Field("monitors", 1, STRINGS, omitempty=False),
    Field("path", 2, STRING),
    Field("user", 3, STRING),
    Field("secretFile", 4, STRING),
    Field("secretRef", 5, LOCAL_OBJECT_REFERENCE, pointer=True),
    Field("readOnly", 6, BOOL),
)

FLOCKER_VOLUME_SOURCE = _struct(
    "FlockerVolumeSource",
    "A Flocker volume.",
    Field("datasetName", 1, STRING),
    Field("datasetUUID", 2, STRING),
)


FC_VOLUME_SOURCE = _struct(
    "FCVolumeSource",
    "A Fibre Channel disk.",
    Field("targetWWNs", 1, STRINGS),
    Field("lun", 2, INT32, pointer=True),
    Field("fsType", 3, STRING),
    Field("readOnly", 4, BOOL),
    Field("wwids", 5, STRINGS),
)

_AZURE_FILE_VOLUME_SOURCE = _struct(
    "AzureFileVolumeSource",
    "A file share of Azure.",
    Field("secretName", 1, STRING, omitempty=False),
    Field("shareName", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
)


VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE = _struct(
    "VsphereVirtualDiskVolumeSource",
    "A virtual disk of vSphere.",
    Field("volumePath", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("storagePolicyName", 3, STRING),
    Field("storagePolicyID", 4, STRING),
)

QUOBYTE_VOLUME_SOURCE = _struct(
    "QuobyteVolumeSource",
    "A Quobyte volume.",
    Field("registry", 1, STRING, omitempty=False),
    Field("volume", 2, STRING, omitempty=False),
    Field("readOnly", 3, BOOL),
    Field("user", 4, STRING),
    Field("group", 5, STRING),
    Field("tenant", 6, STRING),
)

AZURE_DISK_VOLUME_SOURCE = _struct(
    "AzureDiskVolumeSource",
    "A data disk of Azure.",
    Field("diskName", 1, STRING, omitempty=False),
    Field("diskURI", 2, STRING, omitempty=False),
    Field("cachingMode", 3, _AZURE_DATA_DISK_CACHING_MODE, pointer=True, default="ReadWrite"),
    Field("fsType", 4, STRING, pointer=True, default="ext4"),
    Field("readOnly", 5, BOOL, pointer=True, default=False),
    Field("kind", 6, _AZURE_DATA_DISK_KIND, pointer=True, default="Shared"),
)

PHOTON_PERSISTENT_DISK_VOLUME_SOURCE = _struct(
    "PhotonPersistentDiskVolumeSource",
    "A disk of Photon Controller.",
    Field("pdID", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
)


PORTWORX_VOLUME_SOURCE = _struct(
    "PortworxVolumeSource",
    "A Portworx volume.",
    Field("volumeID", 1, STRING, omitempty=False),
    Field("fsType", 2, STRING),
    Field("readOnly", 3, BOOL),
)

_SCALE_IO_VOLUME_SOURCE = _struct(
    "ScaleIOVolumeSource",
    "A ScaleIO volume.",
    Field("gateway", 1, STRING, omitempty=False),
    Field("system", 2, STRING, omitempty=False),
    Field("secretRef", 3, LOCAL_OBJECT_REFERENCE, omitempty=False, pointer=True, required=True),
    Field("sslEnabled", 4, BOOL),
    Field("protectionDomain", 5, STRING),
    Field("storagePool", 6, STRING),
    Field("storageMode", 7, STRING, default="ThinProvisioned"),
    Field("volumeName", 8, STRING),
    Field("fsType", 9, STRING, default="xfs"),
    Field("readOnly", 10, BOOL),
)

_STORAGEOS_VOLUME_SOURCE = _struct(
    "StorageOSVolumeSource",
    "A StorageOS volume.",
    Field("volumeName", 1, STRING),
    Field("volumeNamespace", 2, STRING),
    Field("fsType", 3, STRING),
    Field("readOnly", 4, BOOL),
    Field("secretRef", 5, LOCAL_OBJECT_REFERENCE, pointer=True),
)

_CSI_VOLUME_SOURCE = _struct(
    "CSIVolumeSource",
    "A temporary volume of a CSI driver.",
    Field("driver", 1, STRING, omitempty=False),
    Field("readOnly", 2, BOOL, pointer=True),
    Field("fsType", 3, STRING, pointer=True),
    Field("volumeAttributes", 4, STRING_MAP),
    Field("nodePublishSecretRef", 5, LOCAL_OBJECT_REFERENCE, pointer=True),
)

_EPHEMERAL_VOLUME_SOURCE = _struct(
    "EphemeralVolumeSource",
    "A volume that is provisioned for the pod and deleted with it.",
    Field("volumeClaimTemplate", 1, PERSISTENT_VOLUME_CLAIM_TEMPLATE, pointer=True),
)

_IMAGE_VOLUME_SOURCE = _struct(
    "ImageVolumeSource",
    "The content of an OCI image or artifact.",
    Field("reference", 1, STRING),
    Field("pullPolicy", 2, PULL_POLICY),
)

_VOLUME_SOURCE = _struct(
    "VolumeSource",
    "The source of a volume, of which exactly one field is set.",
    Field("hostPath", 1, HOST_PATH_VOLUME_SOURCE, "A file or directory of the node.", pointer=True),
    Field(
        "emptyDir", 2, _EMPTY_DIR_VOLUME_SOURCE, "A temporary directory that lives as long as the pod.", pointer=True
    ),
    Field("gcePersistentDisk", 3, GCE_PERSISTENT_DISK_VOLUME_SOURCE, pointer=True),
    Field("awsElasticBlockStore", 4, AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE, pointer=True),
    Field("gitRepo", 5, _GIT_REPO_VOLUME_SOURCE, pointer=True),
    Field("secret", 6, SECRET_VOLUME_SOURCE, "The values of a Secret as files.", pointer=True),
    Field("nfs", 7, NFS_VOLUME_SOURCE, "A directory of an NFS server.", pointer=True),
    Field("iscsi", 8, _ISCSI_VOLUME_SOURCE, pointer=True),
    Field("glusterfs", 9, _GLUSTERFS_VOLUME_SOURCE, pointer=True),
    Field(
        "persistentVolumeClaim",
        10,
        _PERSISTENT_VOLUME_CLAIM_VOLUME_SOURCE,
        "The volume of a claim in the pod's namespace.",
        pointer=True,
    ),
    Field("rbd", 11, _RBD_VOLUME_SOURCE, pointer=True),
    Field("flexVolume", 12, _FLEX_VOLUME_SOURCE, pointer=True),
    Field("cinder", 13, _CINDER_VOLUME_SOURCE, pointer=True),
    Field("cephfs", 14, _CEPH_FS_VOLUME_SOURCE, pointer=True),
    Field("flocker", 15, FLOCKER_VOLUME_SOURCE, pointer=True),
    Field("downwardAPI", 16, DOWNWARD_API_VOLUME_SOURCE, "Fields and resources of the pod as files.", pointer=True),
    Field("fc", 17, FC_VOLUME_SOURCE, pointer=True),
    Field("azureFile", 18, _AZURE_FILE_VOLUME_SOURCE, pointer=True),
    Field("configMap", 19, CONFIG_MAP_VOLUME_SOURCE, "The values of a ConfigMap as files.", pointer=True),
    Field("vsphereVolume", 20, VSPHERE_VIRTUAL_DISK_VOLUME_SOURCE, pointer=True),
    Field("quobyte", 21, QUOBYTE_VOLUME_SOURCE, pointer=True),
    Field("azureDisk", 22, AZURE_DISK_VOLUME_SOURCE, pointer=True),
    Field("photonPersistentDisk", 23, PHOTON_PERSISTENT_DISK_VOLUME_SOURCE, pointer=True),
    Field("projected", 26, PROJECTED_VOLUME_SOURCE, "Several sources in one directory.", pointer=True),
    Field("portworxVolume", 24, PORTWORX_VOLUME_SOURCE, pointer=True),
    Field("scaleIO", 25, _SCALE_IO_VOLUME_SOURCE, pointer=True),
    Field("storageos", 27, _STORAGEOS_VOLUME_SOURCE, pointer=True),
    Field("csi", 28, _CSI_VOLUME_SOURCE, "A temporary volume of a CSI driver.", pointer=True),
    Field("ephemeral", 29, _EPHEMERAL_VOLUME_SOURCE, "A volume that is provisioned for the pod.", pointer=True),
    Field("image", 30, _IMAGE_VOLUME_SOURCE, pointer=True),
)

VOLUME = _struct(
    "Volume",
    "A named volume that containers of the pod can mount.",
    Field("name", 1, STRING, "The name of the volume, unique in its pod.", omitempty=False),
    Field("", 2, _VOLUME_SOURCE),
)
