"""Kinds of the networking.k8s.io group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

NETWORKING_V1 = GroupVersion(
    "networking.k8s.io", "v1", type_table("networking", "v1"), group_priority=17200, version_priority=15
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.networking.columns import COLUMNS

    return COLUMNS[kind]


INGRESS = Kind(
    NETWORKING_V1,
    "Ingress",
    columns=_columns,
    plural="ingresses",
    namespaced=True,
    short_names=("ing",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.networking.strategy:IngressStrategy",
)

INGRESS_CLASS = Kind(
    NETWORKING_V1,
    "IngressClass",
    columns=_columns,
    plural="ingressclasses",
    strategy="polykind.strategies.networking.strategy:IngressClassStrategy",
)

NETWORK_POLICY = Kind(
    NETWORKING_V1,
    "NetworkPolicy",
    columns=_columns,
    plural="networkpolicies",
    namespaced=True,
    short_names=("netpol",),
    strategy="polykind.strategies.networking.strategy:NetworkPolicyStrategy",
)

IP_ADDRESS = Kind(
    NETWORKING_V1,
    "IPAddress",
    columns=_columns,
    plural="ipaddresses",
    short_names=("ip",),
    strategy="polykind.strategies.networking.strategy:IPAddressStrategy",
)

SERVICE_CIDR = Kind(
    NETWORKING_V1,
    "ServiceCIDR",
    columns=_columns,
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.networking.strategy:ServiceCIDRStrategy",
)

KINDS = (
    INGRESS,
    INGRESS_CLASS,
    NETWORK_POLICY,
    IP_ADDRESS,
    SERVICE_CIDR,
)
