"""Defaults of NetworkPolicies and IngressClasses."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_network_policy(policy: JsonObject) -> None:
    """Set the default protocol of ports, and the policy types that follow from the rules, in place."""
    spec = policy["spec"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def default_ingress_class(ingress_class: JsonObject) -> None:
    """Set the default scope of the parameters of an IngressClass, in place."""
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"
