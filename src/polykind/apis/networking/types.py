"""Kinds of the networking.k8s.io group."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion

NETWORKING_V1 = GroupVersion(
    "networking.k8s.io", "v1", "io.k8s.api.networking.v1", group_priority=17200, version_priority=15
)

INGRESS = Kind(
    NETWORKING_V1,
    "Ingress",
    "Rules that route HTTP requests from outside the cluster to services.",
    fields_in="polykind.apis.networking.ingress_types:INGRESS_FIELDS",
    columns="polykind.apis.networking.columns:INGRESS",
    plural="ingresses",
    namespaced=True,
    short_names=("ing",),
    subresources=(Subresource("status"),),
    strategy="polykind.strategies.networking.strategy:IngressStrategy",
)

INGRESS_CLASS = Kind(
    NETWORKING_V1,
    "IngressClass",
    "A controller that implements Ingresses, and its parameters.",
    fields_in="polykind.apis.networking.ingress_types:INGRESS_CLASS_FIELDS",
    columns="polykind.apis.networking.columns:INGRESS_CLASS",
    plural="ingressclasses",
    strategy="polykind.strategies.networking.strategy:IngressClassStrategy",
)

NETWORK_POLICY = Kind(
    NETWORKING_V1,
    "NetworkPolicy",
    "The network traffic that a set of pods may receive and send.",
    fields_in="polykind.apis.networking.network_policy_types:NETWORK_POLICY_FIELDS",
    columns="polykind.apis.networking.columns:NETWORK_POLICY",
    plural="networkpolicies",
    namespaced=True,
    short_names=("netpol",),
    strategy="polykind.strategies.networking.strategy:NetworkPolicyStrategy",
)

IP_ADDRESS = Kind(
    NETWORKING_V1,
    "IPAddress",
    "An allocated IP address, with the object that uses it.",
    fields_in="polykind.apis.networking.service_cidr_types:IP_ADDRESS_FIELDS",
    columns="polykind.apis.networking.columns:IP_ADDRESS",
    plural="ipaddresses",
    short_names=("ip",),
    strategy="polykind.strategies.networking.strategy:IPAddressStrategy",
)

SERVICE_CIDR = Kind(
    NETWORKING_V1,
    "ServiceCIDR",
    "A range of IP addresses from which services get their cluster IPs.",
    fields_in="polykind.apis.networking.service_cidr_types:SERVICE_CIDR_FIELDS",
    columns="polykind.apis.networking.columns:SERVICE_CIDR",
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
