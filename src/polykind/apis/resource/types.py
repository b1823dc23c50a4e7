"""Kinds of the resource.k8s.io group: dynamic allocation of devices."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion

RESOURCE_V1 = GroupVersion("resource.k8s.io", "v1", "io.k8s.api.resource.v1", group_priority=16200, version_priority=21)

DEVICE_CLASS = Kind(
    RESOURCE_V1,
    "DeviceClass",
    "A class of devices that claims can request.",
    fields_in="polykind.apis.resource.device_types:DEVICE_CLASS_FIELDS",
    columns="polykind.apis.resource.columns:DEVICE_CLASS",
    plural="deviceclasses",
    strategy="polykind.strategies.resource.strategy:DeviceClassStrategy",
    delete_returns_object=True,
)

RESOURCE_SLICE = Kind(
    RESOURCE_V1,
    "ResourceSlice",
    "The devices that a driver offers on one or several nodes.",
    fields_in="polykind.apis.resource.device_types:RESOURCE_SLICE_FIELDS",
    columns="polykind.apis.resource.columns:RESOURCE_SLICE",
    selectable=(".spec.nodeName", ".spec.driver"),
    strategy="polykind.strategies.resource.strategy:ResourceSliceStrategy",
    delete_returns_object=True,
)

RESOURCE_CLAIM = Kind(
    RESOURCE_V1,
    "ResourceClaim",
    "A request for devices.",
    fields_in="polykind.apis.resource.resource_claim_types:RESOURCE_CLAIM_FIELDS",
    columns="polykind.apis.resource.columns:RESOURCE_CLAIM",
    namespaced=True,
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.resource.strategy:ResourceClaimStrategy",
    delete_returns_object=True,
)

RESOURCE_CLAIM_TEMPLATE = Kind(
    RESOURCE_V1,
    "ResourceClaimTemplate",
    "A template from which ResourceClaims of pods are created.",
    fields_in="polykind.apis.resource.resource_claim_types:RESOURCE_CLAIM_TEMPLATE_FIELDS",
    columns="polykind.apis.resource.columns:RESOURCE_CLAIM_TEMPLATE",
    namespaced=True,
    strategy="polykind.strategies.resource.strategy:ResourceClaimTemplateStrategy",
    delete_returns_object=True,
)

KINDS = (
    DEVICE_CLASS,
    RESOURCE_SLICE,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
)
