"""The kinds that kube-apiserver can decode. Its error messages about other kinds name one of its schemes."""

from __future__ import annotations

from polykind.apis.groups import kinds_by_group_version

LEGACY_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_SCHEMES = {
    "apiextensions.k8s.io": "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "k8s.io/kube-aggregator/pkg/apiserver/scheme/scheme.go:28",
}
"""The names of schemes by group, for the two groups that have a server of their own inside kube-apiserver."""

_WITHOUT_VERSION = frozenset(("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"))
"""Kinds that kube-apiserver decodes at every apiVersion."""
_OF_EVERY_VERSION = frozenset(
    (*("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"), "WatchEvent")
)
_OTHER_VERSIONS = {
    "apps/v1beta1": "ControllerRevision Deployment StatefulSet",
    "apps/v1beta2": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch/v1beta1": "CronJob",
    "certificates.k8s.io/v1alpha1": "ClusterTrustBundle",
    "certificates.k8s.io/v1beta1": "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest",
    "coordination.k8s.io/v1alpha2": "LeaseCandidate",
    "coordination.k8s.io/v1beta1": "Lease LeaseCandidate",
    "discovery.k8s.io/v1beta1": "EndpointSlice",
    "events.k8s.io/v1beta1": "Event",
    "extensions/v1beta1": "DaemonSet Deployment Ingress NetworkPolicy ReplicaSet",
    "flowcontrol.apiserver.k8s.io/v1beta1": "FlowSchema PriorityLevelConfiguration",
    "flowcontrol.apiserver.k8s.io/v1beta2": "FlowSchema PriorityLevelConfiguration",
    "flowcontrol.apiserver.k8s.io/v1beta3": "FlowSchema PriorityLevelConfiguration",
    "internal.apiserver.k8s.io/v1alpha1": "StorageVersion",
    "networking.k8s.io/v1beta1": "IPAddress Ingress IngressClass ServiceCIDR",
    "node.k8s.io/v1alpha1": "RuntimeClass",
    "node.k8s.io/v1beta1": "RuntimeClass",
    "policy/v1beta1": "PodDisruptionBudget",
    "resource.k8s.io/v1alpha3": "DeviceTaintRule ResourcePoolStatusRequest",
    "resource.k8s.io/v1beta1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "resource.k8s.io/v1beta2": "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io/v1alpha2": "PodGroup Workload",
    "scheduling.k8s.io/v1beta1": "PriorityClass",
    "storage.k8s.io/v1alpha1": "CSIStorageCapacity VolumeAttachment VolumeAttributesClass",
    "storage.k8s.io/v1beta1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment "
    "VolumeAttributesClass",
}
"""Kinds that kube-apiserver can decode, each with a list kind, by API version.

`polykind.apis` does not declare them.
"""
_WITHOUT_LIST = {
    "admission.k8s.io/v1": "AdmissionReview",
    "admission.k8s.io/v1beta1": "AdmissionReview",
    "apps/v1beta1": "DeploymentRollback Scale",
    "apps/v1beta2": "Scale",
    "authentication.k8s.io/v1": "TokenRequest",
    "autoscaling/v1": "Scale",
    "extensions/v1beta1": "DeploymentRollback Scale",
    "imagepolicy.k8s.io/v1alpha1": "ImageReview",
    "policy/v1": "Eviction",
    "policy/v1beta1": "Eviction",
    "v1": "Binding List PodStatusResult RangeAllocation SerializedReference",
}
"""Kinds without a list kind that kube-apiserver can decode, by API version. `polykind.apis` does not declare them."""


def scheme_of(group: str) -> str:
    """Return the name of the scheme that kube-apiserver's error messages about the kinds of a group contain."""
    return _SCHEMES.get(group, LEGACY_SCHEME)


def is_known(api_version: str, kind: str, scheme: str) -> bool:
    """True if kube-apiserver can decode a kind with a scheme.

    kube-apiserver has one scheme for its CRD server and one for its aggregator, each with few kinds, and one for all
    other groups.
    """
    if kind in _WITHOUT_VERSION:
        return True
    kinds: set[str] = set()
    version_known = False
    for group_version, declared in kinds_by_group_version().items():
        if scheme_of(group_version.group) != scheme:
            continue
        for found in declared:
            if any(api_version == _api_version(found.group, version) for version in found.known_versions):
                version_known = True
                kinds |= {found.kind, f"{found.kind}List"} if found.persistent else {found.kind}
    if scheme != LEGACY_SCHEME:
        version_known = version_known or api_version == "v1"
    else:
        version_known = version_known or api_version in _OTHER_VERSIONS or api_version in _WITHOUT_LIST
        listed = _OTHER_VERSIONS.get(api_version, "").split()
        kinds.update(listed, (f"{name}List" for name in listed), _WITHOUT_LIST.get(api_version, "").split())
    return kind in kinds or (version_known and kind in _OF_EVERY_VERSION)


def _api_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version
