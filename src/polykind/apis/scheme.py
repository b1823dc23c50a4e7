"""The kinds that kube-apiserver can decode. Its errors about them differ from its errors about unknown kinds."""

from __future__ import annotations

from polykind.apis.groups import kinds_by_group_version

LEGACY_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_CRD_SCHEME = "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"

_WITHOUT_VERSION = frozenset(("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"))
"""Kinds that belong to no version."""
_OF_EVERY_VERSION = frozenset(
    (*("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"), "WatchEvent")
)
_NOT_SERVED = {
    "v1": "ComponentStatus Endpoints Event LimitRange Node PersistentVolume PersistentVolumeClaim Pod "
    "PodTemplate ReplicationController ResourceQuota Secret ServiceAccount",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates.k8s.io/v1": "CertificateSigningRequest",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
    "flowcontrol.apiserver.k8s.io/v1": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "node.k8s.io/v1": "RuntimeClass",
    "policy/v1": "PodDisruptionBudget",
    "resource.k8s.io/v1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
}
"""Kinds that have lists and are not declared in `polykind.apis`."""
_NOT_SERVED_WITHOUT_LIST = {
    "v1": "Binding List PodStatusResult RangeAllocation SerializedReference",
    "authentication.k8s.io/v1": "TokenRequest",
    "autoscaling/v1": "Scale",
    "policy/v1": "Eviction",
}
_CRD_GROUP = "apiextensions.k8s.io"


def scheme_of(group: str) -> str:
    """Return the scheme that kube-apiserver's error messages name for the kinds of a group."""
    return _CRD_SCHEME if group == _CRD_GROUP else LEGACY_SCHEME


def is_known(api_version: str, kind: str, *, crd_server: bool) -> bool:
    """True if kube-apiserver can decode a kind. If `crd_server`, ask for its CRD server, which knows fewer kinds."""
    if kind in _WITHOUT_VERSION:
        return True
    kinds: set[str] = set()
    version_known = False
    for group_version, declared in kinds_by_group_version().items():
        if (group_version.group == _CRD_GROUP) is not crd_server:
            continue
        for found in declared:
            if any(api_version == _api_version(found.group, version) for version in found.known_versions):
                version_known = True
                kinds |= {found.kind, f"{found.kind}List"} if found.persistent else {found.kind}
    if crd_server:
        version_known = version_known or api_version == "v1"
    else:
        version_known = version_known or api_version in _NOT_SERVED
        listed = _NOT_SERVED.get(api_version, "").split()
        kinds.update(listed, (f"{name}List" for name in listed), _NOT_SERVED_WITHOUT_LIST.get(api_version, "").split())
    return kind in kinds or (version_known and kind in _OF_EVERY_VERSION)


def _api_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version
