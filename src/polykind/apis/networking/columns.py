"""Columns of `kubectl get` for the kinds of the networking.k8s.io group."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.core.columns import load_balancer_addresses
from polykind.apis.machinery.columns import AGE, name_with, selector_at, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.networking import types
from polykind.codec.table import Column
from polykind.contract import JsonObject

_MAX_HOSTS = 3
_DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class"


def _hosts(obj: JsonObject) -> str:
    rules = obj["spec"].get("rules") or ()
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == _MAX_HOSTS
        if not more and rule.get("host"):
            hosts.append(rule["host"])
    if not hosts:
        return "*"
    return f"{','.join(hosts)} + {len(rules) - _MAX_HOSTS} more..." if more else ",".join(hosts)


INGRESS = (
    Column(
        "Class",
        "string",
        "The class that implements the ingress",
        lambda o: o["spec"].get("ingressClassName", "<none>"),
    ),
    Column("Hosts", "string", "The host names of the rules", _hosts),
    Column("Address", "string", "The addresses of the load balancer", lambda o: ",".join(load_balancer_addresses(o))),
    Column("Ports", "string", "The ports of the ingress", lambda o: "80, 443" if o["spec"].get("tls") else "80"),
    AGE,
)


def _default_suffix(obj: JsonObject) -> str:
    return " (default)" if (obj["metadata"].get("annotations") or {}).get(_DEFAULT_ANNOTATION) == "true" else ""


def _parameters(obj: JsonObject) -> str:
    found = obj["spec"].get("parameters")
    if found is None:
        return "<none>"
    group = f".{found['apiGroup']}" if "apiGroup" in found else ""
    return f"{found['kind']}{group}/{found['name']}"


INGRESS_CLASS = (
    name_with(_default_suffix),
    Column("Controller", "string", "The controller of the class", value_at("spec", "controller", default="")),
    Column("Parameters", "string", "The object with the parameters of the class", _parameters),
    AGE,
)

NETWORK_POLICY = (
    Column("Pod-Selector", "string", "The labels of the pods of the policy", selector_at("spec", "podSelector")),
    AGE,
)

SERVICE_CIDR = (
    Column("CIDRs", "string", "The ranges of addresses", lambda obj: ",".join(obj["spec"].get("cidrs") or ())),
    AGE,
)


def _parent(obj: JsonObject) -> str:
    parent = obj["spec"].get("parentRef")
    if parent is None:
        return "<none>"
    group = f".{parent['group']}" if parent.get("group") else ""
    namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
    return f"{parent.get('resource', '')}{group}".lower() + f"{namespace}/{parent.get('name', '')}"


IP_ADDRESS = (Column("ParentRef", "string", "The object that uses the address", _parent), AGE._replace(defined=False))

COLUMNS: Mapping[Kind, Columns] = {
    types.INGRESS: INGRESS,
    types.INGRESS_CLASS: INGRESS_CLASS,
    types.NETWORK_POLICY: NETWORK_POLICY,
    types.IP_ADDRESS: IP_ADDRESS,
    types.SERVICE_CIDR: SERVICE_CIDR,
}
