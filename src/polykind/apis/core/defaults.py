"""Defaults of the core kinds."""

from __future__ import annotations

from polykind.contract import JsonObject

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that every namespace has. Its value is the namespace's name."""


def default_namespace(obj: JsonObject) -> None:
    """Set the defaults of a Namespace, in place."""
    meta = obj["metadata"]
    if name := meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: name}
    obj["status"].setdefault("phase", "Active")


def default_service(obj: JsonObject) -> None:
    """Set the defaults of a Service, in place."""
    spec = obj["spec"]
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port["targetPort"] = port.get("targetPort") or port.get("port", 0)
