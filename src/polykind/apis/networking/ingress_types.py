"""The fields of Ingresses and IngressClasses."""

from __future__ import annotations

from polykind.apis.core.container_types import PROTOCOL
from polykind.apis.core.reference_types import TYPED_LOCAL_OBJECT_REFERENCE
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import INT32, STRING, STRINGS, ListOf, String
from polykind.apis.networking.types import NETWORKING_V1

_struct = NETWORKING_V1.struct

_PATH_TYPE = String("v1.PathType", ("Exact", "ImplementationSpecific", "Prefix"))

_SERVICE_BACKEND_PORT = _struct(
    "ServiceBackendPort",
    "A port of a service, by name or number.",
    Field("name", 1, STRING, "The name of the port."),
    Field("number", 2, INT32, "The number of the port."),
    atomic=True,
)

_INGRESS_SERVICE_BACKEND = _struct(
    "IngressServiceBackend",
    "A service and its port.",
    Field("name", 1, STRING, "The name of the service.", omitempty=False),
    Field("port", 2, _SERVICE_BACKEND_PORT, "The port of the service."),
)

_INGRESS_BACKEND = _struct(
    "IngressBackend",
    "The target of requests: a service or another object.",
    Field("service", 4, _INGRESS_SERVICE_BACKEND, "The service and its port.", pointer=True),
    Field("resource", 3, TYPED_LOCAL_OBJECT_REFERENCE, "Another object in the same namespace.", pointer=True),
)

_INGRESS_TLS = _struct(
    "IngressTLS",
    "The certificate of a set of host names.",
    Field("hosts", 1, STRINGS, "The host names of the certificate."),
    Field("secretName", 2, STRING, "The Secret with the certificate and its key."),
)

_HTTP_INGRESS_PATH = _struct(
    "HTTPIngressPath",
    "A path and the backend of its requests.",
    Field("path", 1, STRING, "The path of the requests."),
    Field(
        "pathType",
        3,
        _PATH_TYPE,
        "Exact, Prefix or ImplementationSpecific.",
        omitempty=False,
        pointer=True,
        required=True,
    ),
    Field("backend", 2, _INGRESS_BACKEND, "The target of the requests.", omitempty=False),
)

_HTTP_INGRESS_RULE_VALUE = _struct(
    "HTTPIngressRuleValue",
    "The paths of a rule.",
    Field("paths", 1, ListOf(_HTTP_INGRESS_PATH), omitempty=False),
)

_INGRESS_RULE_VALUE = _struct(
    "IngressRuleValue",
    "The part of a rule that depends on the protocol.",
    Field("http", 1, _HTTP_INGRESS_RULE_VALUE, "", pointer=True),
)

_INGRESS_RULE = _struct(
    "IngressRule",
    "The paths of one host name.",
    Field("host", 1, STRING, "The host name, of which the first label may be *."),
    Field("", 2, _INGRESS_RULE_VALUE),
)

_INGRESS_SPEC = _struct(
    "IngressSpec",
    "The desired state of an Ingress.",
    Field("ingressClassName", 4, STRING, "The class that implements the ingress.", pointer=True),
    Field("defaultBackend", 1, _INGRESS_BACKEND, "The backend of requests that match no rule.", pointer=True),
    Field("tls", 2, ListOf(_INGRESS_TLS), "The certificates, by host names."),
    Field("rules", 3, ListOf(_INGRESS_RULE), "The rules, by host names."),
)

_INGRESS_PORT_STATUS = _struct(
    "IngressPortStatus",
    "The state of a port of a load balancer.",
    Field("port", 1, INT32, omitempty=False),
    Field("protocol", 2, PROTOCOL, omitempty=False),
    Field("error", 3, STRING, pointer=True),
)

_INGRESS_LOAD_BALANCER_INGRESS = _struct(
    "IngressLoadBalancerIngress",
    "An address at which a load balancer accepts traffic.",
    Field("ip", 1, STRING),
    Field("hostname", 2, STRING),
    Field("ports", 4, ListOf(_INGRESS_PORT_STATUS)),
)

_INGRESS_LOAD_BALANCER_STATUS = _struct(
    "IngressLoadBalancerStatus",
    "The state of a load balancer.",
    Field("ingress", 1, ListOf(_INGRESS_LOAD_BALANCER_INGRESS)),
)

_INGRESS_STATUS = _struct(
    "IngressStatus",
    "The observed state of an Ingress.",
    Field("loadBalancer", 1, _INGRESS_LOAD_BALANCER_STATUS),
)

INGRESS_FIELDS = (
    Field("spec", 2, _INGRESS_SPEC, "The desired state."),
    Field("status", 3, _INGRESS_STATUS, "The observed state."),
)

_INGRESS_CLASS_PARAMETERS_REFERENCE = _struct(
    "IngressClassParametersReference",
    "A reference to the parameters of a class.",
    Field("apiGroup", 1, STRING, pointer=True),
    Field("kind", 2, STRING, omitempty=False),
    Field("name", 3, STRING, omitempty=False),
    Field("scope", 4, STRING, omitempty=False, pointer=True),
    Field("namespace", 5, STRING, pointer=True),
)

_INGRESS_CLASS_SPEC = _struct(
    "IngressClassSpec",
    "The controller and the parameters of a class.",
    Field("controller", 1, STRING, "The controller of the class."),
    Field(
        "parameters",
        2,
        _INGRESS_CLASS_PARAMETERS_REFERENCE,
        "The object with the parameters of the class.",
        pointer=True,
    ),
)

INGRESS_CLASS_FIELDS = (Field("spec", 2, _INGRESS_CLASS_SPEC, "The desired state."),)
