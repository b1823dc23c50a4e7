"""The kind of the discovery.k8s.io group: EndpointSlice."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion

DISCOVERY_V1 = GroupVersion(
    "discovery.k8s.io", "v1", "io.k8s.api.discovery.v1", group_priority=16200, version_priority=15
)

ENDPOINT_SLICE = Kind(
    DISCOVERY_V1,
    "EndpointSlice",
    "A part of the network endpoints of a Service.",
    fields_in="polykind.apis.discovery.endpoint_slice_types:ENDPOINT_SLICE_FIELDS",
    columns="polykind.apis.discovery.columns:ENDPOINT_SLICE",
    namespaced=True,
    strategy="polykind.strategies.discovery.strategy:EndpointSliceStrategy",
)

KINDS = (ENDPOINT_SLICE,)
