"""The volumes that show API data as files: ConfigMaps, Secrets, pod fields, and projections of several sources."""

from __future__ import annotations

from polykind.apis.core.reference_types import LOCAL_OBJECT_REFERENCE, OBJECT_FIELD_SELECTOR, RESOURCE_FIELD_SELECTOR
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    INT64,
    STRING,
    STRING_MAP,
    ListOf,
)
from polykind.apis.meta.types import LABEL_SELECTOR

_struct = CORE_V1.struct

_KEY_TO_PATH = _struct(
    "KeyToPath",
    "The file into which a key is written.",
    Field("key", 1, STRING, omitempty=False),
    Field("path", 2, STRING, omitempty=False),
    Field("mode", 3, INT32, pointer=True),
)

SECRET_VOLUME_SOURCE = _struct(
    "SecretVolumeSource",
    "The values of a Secret as files.",
    Field("secretName", 1, STRING, "The name of the Secret."),
    Field("items", 2, ListOf(_KEY_TO_PATH), "The keys to write; by default all."),
    Field("defaultMode", 3, INT32, "The mode bits of the files.", pointer=True),
    Field("optional", 4, BOOL, "True if the Secret or its keys may be missing.", pointer=True),
)

_DOWNWARD_API_VOLUME_FILE = _struct(
    "DownwardAPIVolumeFile",
    "A file with a field or resource of the pod.",
    Field("path", 1, STRING, omitempty=False),
    Field("fieldRef", 2, OBJECT_FIELD_SELECTOR, pointer=True),
    Field("resourceFieldRef", 3, RESOURCE_FIELD_SELECTOR, pointer=True),
    Field("mode", 4, INT32, pointer=True),
)

DOWNWARD_API_VOLUME_SOURCE = _struct(
    "DownwardAPIVolumeSource",
    "Fields and resources of the pod as files.",
    Field("items", 1, ListOf(_DOWNWARD_API_VOLUME_FILE)),
    Field("defaultMode", 2, INT32, pointer=True),
)

CONFIG_MAP_VOLUME_SOURCE = _struct(
    "ConfigMapVolumeSource",
    "The values of a ConfigMap as files.",
    Field("", 1, LOCAL_OBJECT_REFERENCE),
    Field("items", 2, ListOf(_KEY_TO_PATH), "The keys to write; by default all."),
    Field("defaultMode", 3, INT32, "The mode bits of the files.", pointer=True),
    Field("optional", 4, BOOL, "True if the ConfigMap or its keys may be missing.", pointer=True),
)

_SECRET_PROJECTION = _struct(
    "SecretProjection",
    "Values of a Secret in a projected volume.",
    Field("", 1, LOCAL_OBJECT_REFERENCE),
    Field("items", 2, ListOf(_KEY_TO_PATH)),
    Field("optional", 4, BOOL, pointer=True),
)

_DOWNWARD_API_PROJECTION = _struct(
    "DownwardAPIProjection",
    "Fields and resources of the pod in a projected volume.",
    Field("items", 1, ListOf(_DOWNWARD_API_VOLUME_FILE)),
)

_CONFIG_MAP_PROJECTION = _struct(
    "ConfigMapProjection",
    "Values of a ConfigMap in a projected volume.",
    Field("", 1, LOCAL_OBJECT_REFERENCE),
    Field("items", 2, ListOf(_KEY_TO_PATH)),
    Field("optional", 4, BOOL, pointer=True),
)

_SERVICE_ACCOUNT_TOKEN_PROJECTION = _struct(
    "ServiceAccountTokenProjection",
    "A token of the pod's service account in a projected volume.",
    Field("audience", 1, STRING),
    Field("expirationSeconds", 2, INT64, pointer=True),
    Field("path", 3, STRING, omitempty=False),
)

_CLUSTER_TRUST_BUNDLE_PROJECTION = _struct(
    "ClusterTrustBundleProjection",
    "Certificates of ClusterTrustBundles in a projected volume.",
    Field("name", 1, STRING, pointer=True),
    Field("signerName", 2, STRING, pointer=True),
    Field("labelSelector", 3, LABEL_SELECTOR, pointer=True),
    Field("optional", 5, BOOL, pointer=True),
    Field("path", 4, STRING, omitempty=False),
)

_POD_CERTIFICATE_PROJECTION = _struct(
    "PodCertificateProjection",
    "A private key and its certificate in a projected volume.",
    Field("signerName", 1, STRING, required=True),
    Field("keyType", 2, STRING, required=True),
    Field("maxExpirationSeconds", 3, INT32, pointer=True),
    Field("credentialBundlePath", 4, STRING),
    Field("keyPath", 5, STRING),
    Field("certificateChainPath", 6, STRING),
    Field("userAnnotations", 7, STRING_MAP),
)

_VOLUME_PROJECTION = _struct(
    "VolumeProjection",
    "One source of a projected volume.",
    Field("secret", 1, _SECRET_PROJECTION, pointer=True),
    Field("downwardAPI", 2, _DOWNWARD_API_PROJECTION, pointer=True),
    Field("configMap", 3, _CONFIG_MAP_PROJECTION, pointer=True),
    Field("serviceAccountToken", 4, _SERVICE_ACCOUNT_TOKEN_PROJECTION, pointer=True),
    Field("clusterTrustBundle", 5, _CLUSTER_TRUST_BUNDLE_PROJECTION, pointer=True),
    Field("podCertificate", 6, _POD_CERTIFICATE_PROJECTION, pointer=True),
)

PROJECTED_VOLUME_SOURCE = _struct(
    "ProjectedVolumeSource",
    "Several sources in one directory.",
    Field("sources", 1, ListOf(_VOLUME_PROJECTION), omitempty=False, required=False),
    Field("defaultMode", 2, INT32, pointer=True),
)
