"""The resources that are served without a CRD, a line each."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from polykind.discovery.resource_entries import GroupVersionEntry, ResourceEntry, SubresourceEntry

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_VERBS_ONE_BY_ONE: Final = tuple(verb for verb in _VERBS if verb != "deletecollection")


def _resource(
    name: str,
    kind: str,
    stored: str,
    *,
    namespaced: bool = True,
    short: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    verbs: tuple[str, ...] = _VERBS,
    subresources: tuple[SubresourceEntry, ...] = (),
) -> ResourceEntry:
    """`stored` is the group version the objects are stored at, `/v1` for the core group, empty if they are not."""
    return ResourceEntry(
        name=name,
        singular=kind.lower(),
        kind=kind,
        namespaced=namespaced,
        verbs=verbs,
        short_names=short,
        categories=categories,
        storage_hash=base64.b64encode(hashlib.sha256(f"{stored}/{kind}".encode()).digest()[:8]).decode()
        if stored
        else "",
        subresources=subresources,
    )


_NAMESPACES: Final = _resource(
    "namespaces",
    "Namespace",
    "/v1",
    namespaced=False,
    short=("ns",),
    verbs=_VERBS_ONE_BY_ONE,
    subresources=(SubresourceEntry("finalize", "Namespace", ("update",)), SubresourceEntry("status", "Namespace")),
)
_SERVICES: Final = _resource(
    "services",
    "Service",
    "/v1",
    short=("svc",),
    categories=("all",),
    subresources=(SubresourceEntry("status", "Service"),),
)
# The reference announces the version it once stored CRDs at, and clients compare.
_DEFINITIONS: Final = _resource(
    "customresourcedefinitions",
    "CustomResourceDefinition",
    "apiextensions.k8s.io/v1beta1",
    namespaced=False,
    short=("crd", "crds"),
    categories=("api-extensions",),
    subresources=(SubresourceEntry("status", "CustomResourceDefinition"),),
)

# Stored at an older version, and announced so.
_MUTATING_POLICIES: Final = _resource(
    "mutatingadmissionpolicies",
    "MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1beta1",
    namespaced=False,
    categories=("api-extensions",),
)
_MUTATING_POLICY_BINDINGS: Final = _resource(
    "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1beta1",
    namespaced=False,
    categories=("api-extensions",),
)
_POLICIES: Final = _resource(
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1",
    namespaced=False,
    categories=("api-extensions",),
    subresources=(SubresourceEntry("status", "ValidatingAdmissionPolicy"),),
)
_POLICY_BINDINGS: Final = _resource(
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1",
    namespaced=False,
    categories=("api-extensions",),
)


def _webhooks(kind: str) -> ResourceEntry:
    named = f"{kind}WebhookConfiguration"
    return _resource(
        f"{named.lower()}s",
        named,
        "admissionregistration.k8s.io/v1",
        namespaced=False,
        categories=("api-extensions",),
    )


_ADMISSION: Final = (
    _MUTATING_POLICIES,
    _MUTATING_POLICY_BINDINGS,
    _webhooks("Mutating"),
    _POLICIES,
    _POLICY_BINDINGS,
    _webhooks("Validating"),
)


def _review(kind: str, *, namespaced: bool = False) -> ResourceEntry:
    """What can only be created, and is not kept."""
    return _resource(f"{kind.lower()}s", kind, "", namespaced=namespaced, verbs=("create",))


_AUTHENTICATION: Final = (_review("SelfSubjectReview"), _review("TokenReview"))
_AUTHORIZATION: Final = (
    _review("LocalSubjectAccessReview", namespaced=True),
    _review("SelfSubjectAccessReview"),
    _review("SelfSubjectRulesReview"),
    _review("SubjectAccessReview"),
)


def _rights(kind: str, *, namespaced: bool) -> ResourceEntry:
    return _resource(f"{kind.lower()}s", kind, "rbac.authorization.k8s.io/v1", namespaced=namespaced)


_RBAC: Final = (
    _rights("ClusterRoleBinding", namespaced=False),
    _rights("ClusterRole", namespaced=False),
    _rights("RoleBinding", namespaced=True),
    _rights("Role", namespaced=True),
)

_MIGRATIONS: Final = _resource(
    "storageversionmigrations",
    "StorageVersionMigration",
    "storagemigration.k8s.io/v1beta1",
    namespaced=False,
    subresources=(SubresourceEntry("status", "StorageVersionMigration"),),
)

# Priorities are the reference's: those of groups rank groups in lists, those of versions rank the versions of a group.
_TABLE: Final = (
    GroupVersionEntry("", "v1", 18000, 1, (_NAMESPACES, _SERVICES)),
    GroupVersionEntry("admissionregistration.k8s.io", "v1", 16700, 15, _ADMISSION),
    GroupVersionEntry("apiextensions.k8s.io", "v1", 16700, 15, (_DEFINITIONS,)),
    GroupVersionEntry("apiextensions.k8s.io", "v1beta1", 16700, 9, (_DEFINITIONS,)),
    GroupVersionEntry("authentication.k8s.io", "v1", 17700, 15, _AUTHENTICATION),
    GroupVersionEntry("authorization.k8s.io", "v1", 17600, 15, _AUTHORIZATION),
    GroupVersionEntry("rbac.authorization.k8s.io", "v1", 17000, 15, _RBAC),
    GroupVersionEntry("storagemigration.k8s.io", "v1beta1", 15800, 9, (_MIGRATIONS,)),
)


def builtins(*, v1beta1: bool = False) -> tuple[GroupVersionEntry, ...]:
    """What is served without a CRD; `v1beta1` adds the old version of the API of CRDs."""
    return tuple(
        entry for entry in _TABLE if v1beta1 or (entry.group, entry.version) != ("apiextensions.k8s.io", "v1beta1")
    )


BUILTINS: Final = builtins()
