"""The fields of Ingresses and IngressClasses."""

from __future__ import annotations

from polykind.apis.core.reference_types import TYPED_LOCAL_OBJECT_REFERENCE
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, STRING, STRINGS, ListOf, String
from polykind.apis.networking.types import NETWORKING_V1

_struct = NETWORKING_V1.struct

_PATH_TYPE = String("v1.PathType", ("Exact", "ImplementationSpecific", "Prefix"))
_PROTOCOL = String("v1.Protocol", ("SCTP", "TCP", "UDP"))

_SERVICE_BACKEND_PORT = _struct(
    "ServiceBackendPort",
    "",
    Field("name", 1, STRING),
    Field("number", 2, INT32),
    atomic=True,
)

_INGRESS_SERVICE_BACKEND = _struct(
    "IngressServiceBackend",
    "",
    Field("name", 1, STRING, omitempty=False),
    Field("port", 2, _SERVICE_BACKEND_PORT),
)

_INGRESS_BACKEND = _struct(
    "IngressBackend",
    "",
    Field("service", 4, _INGRESS_SERVICE_BACKEND, pointer=True),
    Field("resource", 3, TYPED_LOCAL_OBJECT_REFERENCE, pointer=True),
)

_INGRESS_TLS = _struct(
    "IngressTLS",
    "",
    Field("hosts", 1, STRINGS),
    Field("secretName", 2, STRING),
)

_HTTP_INGRESS_PATH = _struct(
    "HTTPIngressPath",
    "",
    Field("path", 1, STRING),
    Field("pathType", 3, _PATH_TYPE, omitempty=False, pointer=True, required=True),
    Field("backend", 2, _INGRESS_BACKEND, omitempty=False),
)

_HTTP_INGRESS_RULE_VALUE = _struct(
    "HTTPIngressRuleValue",
    "",
    Field("paths", 1, ListOf(_HTTP_INGRESS_PATH), omitempty=False),
)

_INGRESS_RULE_VALUE = _struct(
    "IngressRuleValue",
    "",
    Field("http", 1, _HTTP_INGRESS_RULE_VALUE, pointer=True),
)

_INGRESS_RULE = _struct(
    "IngressRule",
    "",
    Field("host", 1, STRING),
    Field("", 2, _INGRESS_RULE_VALUE),
)

_INGRESS_SPEC = _struct(
    "IngressSpec",
    "",
    Field("ingressClassName", 4, STRING, pointer=True),
    Field("defaultBackend", 1, _INGRESS_BACKEND, pointer=True),
    Field("tls", 2, ListOf(_INGRESS_TLS)),
    Field("rules", 3, ListOf(_INGRESS_RULE)),
)

_INGRESS_PORT_STATUS = _struct(
    "IngressPortStatus",
    "",
    Field("port", 1, INT32, omitempty=False),
    Field("protocol", 2, _PROTOCOL, omitempty=False),
    Field("error", 3, STRING, pointer=True),
)

_INGRESS_LOAD_BALANCER_INGRESS = _struct(
    "IngressLoadBalancerIngress",
    "",
    Field("ip", 1, STRING),
    Field("hostname", 2, STRING),
    Field("ports", 4, ListOf(_INGRESS_PORT_STATUS)),
)

_INGRESS_LOAD_BALANCER_STATUS = _struct(
    "IngressLoadBalancerStatus",
    "",
    Field("ingress", 1, ListOf(_INGRESS_LOAD_BALANCER_INGRESS)),
)

_INGRESS_STATUS = _struct(
    "IngressStatus",
    "",
    Field("loadBalancer", 1, _INGRESS_LOAD_BALANCER_STATUS),
)

INGRESS_FIELDS = (
    Field("spec", 2, _INGRESS_SPEC, "The desired state."),
    Field("status", 3, _INGRESS_STATUS, "The observed state."),
)

_INGRESS_CLASS_PARAMETERS_REFERENCE = _struct(
    "IngressClassParametersReference",
    "",
    Field("apiGroup", 1, STRING, pointer=True),
    Field("kind", 2, STRING, omitempty=False),
    Field("name", 3, STRING, omitempty=False),
    Field("scope", 4, STRING, omitempty=False, pointer=True),
    Field("namespace", 5, STRING, pointer=True),
)

_INGRESS_CLASS_SPEC = _struct(
    "IngressClassSpec",
    "",
    Field("controller", 1, STRING),
    Field("parameters", 2, _INGRESS_CLASS_PARAMETERS_REFERENCE, pointer=True),
)

INGRESS_CLASS_FIELDS = (Field("spec", 2, _INGRESS_CLASS_SPEC, "The desired state."),)
