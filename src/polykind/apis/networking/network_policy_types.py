"""The fields of NetworkPolicies."""

from __future__ import annotations

from polykind.apis.core.container_types import PROTOCOL
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT_OR_STRING, STRING, STRINGS, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR
from polykind.apis.networking.types import NETWORKING_V1

_struct = NETWORKING_V1.struct

_POLICY_TYPE = String("v1.PolicyType", ("Egress", "Ingress"))

_NETWORK_POLICY_PORT = _struct(
    "NetworkPolicyPort",
    "A port or a range of ports.",
    Field("protocol", 1, PROTOCOL, "TCP, UDP or SCTP.", pointer=True),
    Field("port", 2, INT_OR_STRING, "The number or name of the port.", pointer=True),
    Field("endPort", 3, INT32, "The last port of a range.", pointer=True),
)

_IP_BLOCK = _struct(
    "IPBlock",
    "A range of addresses, with exceptions.",
    Field("cidr", 1, STRING, "The range of addresses.", omitempty=False),
    Field("except", 2, STRINGS, "Smaller ranges that are left out."),
)

_NETWORK_POLICY_PEER = _struct(
    "NetworkPolicyPeer",
    "The other side of the traffic, of which one kind of selection is set.",
    Field("podSelector", 1, LABEL_SELECTOR, "The labels of pods.", pointer=True),
    Field("namespaceSelector", 2, LABEL_SELECTOR, "The labels of namespaces.", pointer=True),
    Field("ipBlock", 3, _IP_BLOCK, "A range of addresses.", pointer=True),
)

_NETWORK_POLICY_INGRESS_RULE = _struct(
    "NetworkPolicyIngressRule",
    "Traffic that the pods may receive.",
    Field("ports", 1, ListOf(_NETWORK_POLICY_PORT), "The ports of the pods; by default all."),
    Field("from", 2, ListOf(_NETWORK_POLICY_PEER), "The senders; by default all."),
)

_NETWORK_POLICY_EGRESS_RULE = _struct(
    "NetworkPolicyEgressRule",
    "Traffic that the pods may send.",
    Field("ports", 1, ListOf(_NETWORK_POLICY_PORT), "The ports of the receivers; by default all."),
    Field("to", 2, ListOf(_NETWORK_POLICY_PEER), "The receivers; by default all."),
)

_NETWORK_POLICY_SPEC = _struct(
    "NetworkPolicySpec",
    "The pods of a policy and its rules.",
    Field("podSelector", 1, LABEL_SELECTOR, "The labels of the pods of the policy.", omitempty=False, required=False),
    Field("ingress", 2, ListOf(_NETWORK_POLICY_INGRESS_RULE), "The traffic that the pods may receive."),
    Field("egress", 3, ListOf(_NETWORK_POLICY_EGRESS_RULE), "The traffic that the pods may send."),
    Field("policyTypes", 4, ListOf(_POLICY_TYPE), "Ingress, Egress or both."),
)

NETWORK_POLICY_FIELDS = (Field("spec", 2, _NETWORK_POLICY_SPEC, "The desired state."),)
