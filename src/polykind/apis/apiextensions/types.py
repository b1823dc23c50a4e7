"""CustomResourceDefinition, at v1 and v1beta1."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

GROUP = "apiextensions.k8s.io"


def _definition(version: str, priority: int, deprecation: str = "") -> Kind:
    api = GroupVersion(
        GROUP, version, type_table("apiextensions", version), group_priority=16700, version_priority=priority
    )
    return Kind(
        api,
        "CustomResourceDefinition",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=(Subresource("status"),),
        known_versions=("v1", "v1beta1"),
        # kube-apiserver publishes the hash of v1beta1, at which it used to store CRDs. Clients compare this hash.
        stored_version="v1beta1",
        deprecation=deprecation,
    )


CUSTOM_RESOURCE_DEFINITION_V1 = _definition("v1", 15)
CUSTOM_RESOURCE_DEFINITION_V1BETA1 = _definition(
    "v1beta1",
    9,
    "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, unavailable in v1.22+; "
    "use apiextensions.k8s.io/v1 CustomResourceDefinition",
)

KINDS = (CUSTOM_RESOURCE_DEFINITION_V1, CUSTOM_RESOURCE_DEFINITION_V1BETA1)
