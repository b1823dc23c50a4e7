"""CRDs for the discovery tests."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject


def version(name: str, *, served: bool = True, storage: bool = False, **more: Any) -> JsonObject:
    more.setdefault("schema", {"openAPIV3Schema": {"type": "object"}})
    return {"name": name, "served": served, "storage": storage, **more}


def crd(
    plural: str,
    kind: str,
    *versions: JsonObject,
    group: str = "example.com",
    scope: str = "Namespaced",
    revision: str = "",
    conditions: tuple[str, ...] = ("NamesAccepted", "Established"),
    **names: Any,
) -> JsonObject:
    """Return a CRD with accepted names and with `conditions` true."""
    all_names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **names}
    metadata = {"name": f"{plural}.{group}"}
    if revision:
        metadata["resourceVersion"] = revision
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"group": group, "scope": scope, "names": all_names, "versions": list(versions)},
        "status": {
            "acceptedNames": all_names,
            "conditions": [{"type": condition, "status": "True"} for condition in conditions],
        },
    }


def crontabs(**more: Any) -> JsonObject:
    """Return a CRD with two versions; the newer one has both subresources and columns."""
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    more = {"shortNames": ["ct"], "categories": ["all"], **more}
    return crd(
        "crontabs",
        "CronTab",
        version("v1beta1"),
        version(
            "v1",
            storage=True,
            subresources={"status": {}, "scale": scale},
            additionalPrinterColumns=[{"name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec"}],
        ),
        group="stable.example.com",
        **more,
    )
