"""The fields of NetworkPolicies."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, INT_OR_STRING, STRING, STRINGS, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR
from polykind.apis.networking.types import NETWORKING_V1

_struct = NETWORKING_V1.struct

_POLICY_TYPE = String("v1.PolicyType", ("Egress", "Ingress"))
_PROTOCOL = String("v1.Protocol", ("SCTP", "TCP", "UDP"))

_NETWORK_POLICY_PORT = _struct(
    "NetworkPolicyPort",
    "",
    Field("protocol", 1, _PROTOCOL, pointer=True),
    Field("port", 2, INT_OR_STRING, pointer=True),
    Field("endPort", 3, INT32, pointer=True),
)

_IP_BLOCK = _struct(
    "IPBlock",
    "",
    Field("cidr", 1, STRING, omitempty=False),
    Field("except", 2, STRINGS),
)

_NETWORK_POLICY_PEER = _struct(
    "NetworkPolicyPeer",
    "",
    Field("podSelector", 1, LABEL_SELECTOR, pointer=True),
    Field("namespaceSelector", 2, LABEL_SELECTOR, pointer=True),
    Field("ipBlock", 3, _IP_BLOCK, pointer=True),
)

_NETWORK_POLICY_INGRESS_RULE = _struct(
    "NetworkPolicyIngressRule",
    "",
    Field("ports", 1, ListOf(_NETWORK_POLICY_PORT)),
    Field("from", 2, ListOf(_NETWORK_POLICY_PEER)),
)

_NETWORK_POLICY_EGRESS_RULE = _struct(
    "NetworkPolicyEgressRule",
    "",
    Field("ports", 1, ListOf(_NETWORK_POLICY_PORT)),
    Field("to", 2, ListOf(_NETWORK_POLICY_PEER)),
)

_NETWORK_POLICY_SPEC = _struct(
    "NetworkPolicySpec",
    "",
    Field("podSelector", 1, LABEL_SELECTOR, omitempty=False, required=False),
    Field("ingress", 2, ListOf(_NETWORK_POLICY_INGRESS_RULE)),
    Field("egress", 3, ListOf(_NETWORK_POLICY_EGRESS_RULE)),
    Field("policyTypes", 4, ListOf(_POLICY_TYPE)),
)

NETWORK_POLICY_FIELDS = (Field("spec", 2, _NETWORK_POLICY_SPEC, "The desired state."),)
