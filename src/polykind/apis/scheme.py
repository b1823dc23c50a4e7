"""The kinds that the reference can read, served here or not: whoever sends one elsewhere is told so in other words."""

from __future__ import annotations

_ANYWHERE = frozenset(("Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"))
"""Kinds that belong to no version."""
_EVERYWHERE = frozenset(
    (*("CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions"), "WatchEvent")
)
"""Kinds that every version has."""
_POLICIES = "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
_VALIDATING = "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
_WEBHOOKS = "MutatingWebhookConfiguration ValidatingWebhookConfiguration"
_ROLES = "ClusterRole ClusterRoleBinding Role RoleBinding"
_LISTED = {
    "v1": "ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim "
    "Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    "admissionregistration.k8s.io/v1": f"{_POLICIES} {_VALIDATING} {_WEBHOOKS}",
    "admissionregistration.k8s.io/v1beta1": f"{_POLICIES} {_VALIDATING} {_WEBHOOKS}",
    "admissionregistration.k8s.io/v1alpha1": f"{_POLICIES} {_VALIDATING}",
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
    "rbac.authorization.k8s.io/v1": _ROLES,
    "rbac.authorization.k8s.io/v1beta1": _ROLES,
    "rbac.authorization.k8s.io/v1alpha1": _ROLES,
    "resource.k8s.io/v1": "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
    "storagemigration.k8s.io/v1beta1": "StorageVersionMigration",
}
"""Kinds that have lists, which are kinds too."""
_REVIEWS = "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
_SINGLE = {
    "v1": "Binding List PodStatusResult RangeAllocation SerializedReference",
    "authentication.k8s.io/v1": "SelfSubjectReview TokenRequest TokenReview",
    "authentication.k8s.io/v1beta1": "SelfSubjectReview TokenReview",
    "authentication.k8s.io/v1alpha1": "SelfSubjectReview",
    "authorization.k8s.io/v1": _REVIEWS,
    "authorization.k8s.io/v1beta1": _REVIEWS,
    "autoscaling/v1": "Scale",
    "policy/v1": "Eviction",
}
_DEFINITIONS = {
    "v1": "",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apiextensions.k8s.io/v1beta1": "CustomResourceDefinition",
}
"""What is known where definitions are read."""


def is_known(api_version: str, kind: str, *, to_definitions: bool) -> bool:
    """Whether a kind is one that the reference can read, though maybe not here."""
    if kind in _ANYWHERE:
        return True
    listed, single = (_DEFINITIONS, {}) if to_definitions else (_LISTED, _SINGLE)
    if api_version not in listed and api_version not in single:
        return False
    kinds = listed.get(api_version, "").split()
    alone = single.get(api_version, "").split()
    return kind in _EVERYWHERE or kind in alone or kind in kinds or kind.removesuffix("List") in kinds
