"""Objects for the console to show: a kind with three versions, a kind with many columns, owners, events, a user."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import yaml

from polykind.contract import JsonObject
from tests.support.server import ServerProcess, trusting

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "shop.example.com"
ORDERS = f"/apis/{GROUP}/v1/namespaces/berlin/orders"
_NAMESPACES = ("berlin", "lisbon", "tokyo")
_PHASES = ("Paid", "Packed", "Shipped", "Delivered", "Returned")


class Api:
    """A client of a server for tests that need no watch."""

    def __init__(self, server: ServerProcess, agent: str = "demo/1.0", token: str = "") -> None:
        self.server = server
        self._token, self._agent = token or server.token, agent

    def send(self, method: str, path: str, body: object = None, kind: str = "application/json") -> Any:
        """Send a request and return the decoded response. Raise HTTPError if the response is an error."""
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": self._agent, "Content-Type": kind}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.server.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, context=trusting(), timeout=30) as response:
            return json.loads(response.read() or b"null")

    def apply(self, path: str, body: JsonObject, manager: str, *, force: bool = False) -> Any:
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        return self.send("PATCH", path + query, body, "application/apply-patch+yaml")

    def define(self, crd: JsonObject) -> None:
        """Create a CRD and wait until it is served. The server reconciles it before it responds."""
        self.send("POST", CRDS, crd)


_SPEC = """
type: object
required: [customer]
description: What the customer wants.
properties:
  customer:
    type: string
    description: The name of the customer as it is printed on the parcel.
    minLength: 1
    maxLength: 80
  priority:
    type: string
    description: Urgent orders are packed before all others.
    enum: [low, normal, urgent]
    default: normal
  items:
    type: array
    description: The ordered goods. Each article occurs once.
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [article]
    items:
      type: object
      required: [article]
      properties:
        article: {type: string, description: The number of the article in the catalogue.}
        amount: {type: integer, minimum: 1, default: 1, description: The number of pieces.}
        price: {type: string, description: The price of one piece with its currency.}
  shipping:
    type: object
    description: Where the parcel goes, and how.
    properties:
      address: {type: string, description: Street and number.}
      city: {type: string}
      express: {type: boolean, default: false, description: Deliver on the next working day.}
"""
_STATUS = """
type: object
properties:
  phase: {type: string, description: The progress of the order.}
  parcels: {type: integer}
"""


def order_crd(group: str = GROUP) -> JsonObject:
    """Return a CRD with three versions: an old one that is not served, a deprecated one, and the storage version."""
    spec, status = yaml.safe_load(_SPEC), yaml.safe_load(_STATUS)
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}
    columns = [
        {"name": "Customer", "type": "string", "jsonPath": ".spec.customer"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Parcels", "type": "integer", "jsonPath": ".status.parcels"},
        {"name": "City", "type": "string", "jsonPath": ".spec.shipping.city"},
        {"name": "Express", "type": "boolean", "jsonPath": ".spec.shipping.express", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    shared = {"schema": schema, "subresources": {"status": {}}, "additionalPrinterColumns": columns}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"orders.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "orders", "singular": "order", "kind": "Order", "shortNames": ["ord"]},
            "versions": [
                {"name": "v1", "served": True, "storage": True, **shared},
                {"name": "v1beta1", "served": True, "storage": False, "deprecated": True, **shared},
                {"name": "v1alpha1", "served": False, "storage": False, **shared},
            ],
        },
    }


def order(name: str, namespace: str, number: int = 0, group: str = GROUP) -> JsonObject:
    customers = (
        "Ada Lovelace",
        "Grace Hopper",
        "Alan Turing",
        "Katherine Johnson",
        "Edsger Dijkstra",
        "Barbara Liskov",
    )
    return {
        "apiVersion": f"{group}/v1",
        "kind": "Order",
        "metadata": {"name": name, "namespace": namespace, "labels": {"tier": ("web", "phone", "shop")[number % 3]}},
        "spec": {
            "customer": customers[number % len(customers)],
            "priority": ("normal", "low", "urgent")[number % 3],
            "items": [
                {"article": f"A-{100 + number}", "amount": 1 + number % 4, "price": f"{9 + number}.50 EUR"},
                {"article": f"B-{200 + number}", "amount": 1},
            ],
            "shipping": {"city": namespace.title(), "express": number % 2 == 0},
        },
    }


def fill(server: ServerProcess) -> None:
    """Create everything that the screenshots show."""
    api = Api(server, "order-controller/2.3")
    api.define(order_crd())
    for name in _NAMESPACES:
        api.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    for number in range(60):
        namespace = _NAMESPACES[number % 3]
        body = order(f"order-{1000 + number}", namespace, number)
        path = f"/apis/{GROUP}/v1/namespaces/{namespace}/orders"
        api.apply(f"{path}/{body['metadata']['name']}", body, "shop-frontend")
        status = {"phase": _PHASES[number % 5], "parcels": 1 + number % 3}
        api.apply(
            f"{path}/{body['metadata']['name']}/status",
            {"apiVersion": body["apiVersion"], "kind": "Order", "status": status},
            "order-controller",
        )
    old = Api(server, "legacy-importer/0.9")
    old.send("GET", f"/apis/{GROUP}/v1beta1/namespaces/berlin/orders")
    old.send(
        "PATCH",
        f"/apis/{GROUP}/v1beta1/namespaces/berlin/orders/order-1003?fieldManager=legacy-importer",
        {"spec": {"shipping": {"address": "Invalidenstr. 117"}}},
        "application/merge-patch+json",
    )
    add_dependents(api)
    api.define(_plain_crd("warehouses", "Warehouse"))
    api.define(_plain_crd("carriers", "Carrier", scope="Cluster"))


def add_dependents(api: Api) -> None:
    """Create a ConfigMap that the order order-1000 owns, and events about the order."""
    owner = api.send("GET", f"{ORDERS}/order-1000")
    reference = {"apiVersion": f"{GROUP}/v1", "kind": "Order", "name": "order-1000", "uid": owner["metadata"]["uid"]}
    config = {"metadata": {"name": "order-1000-label", "ownerReferences": [reference | {"controller": True}]}}
    api.send("POST", "/api/v1/namespaces/berlin/configmaps", config | {"data": {"label": "Ada Lovelace, Berlin"}})
    involved = reference | {"namespace": "berlin"}
    for number, (kind, reason, message) in enumerate(
        (
            ("Normal", "Packed", "2 articles are in parcel 1."),
            ("Warning", "AddressUnclear", "The carrier does not know the street."),
            ("Normal", "Shipped", "The carrier has collected parcel 1."),
        )
    ):
        api.send(
            "POST",
            "/api/v1/namespaces/berlin/events",
            {
                "metadata": {"name": f"order-1000.{number}"},
                "involvedObject": involved,
                "type": kind,
                "reason": reason,
                "message": message,
                "count": number + 1,
                "source": {"component": "order-controller"},
                "firstTimestamp": owner["metadata"]["creationTimestamp"],
                "lastTimestamp": owner["metadata"]["creationTimestamp"],
            },
        )


def _plain_crd(plural: str, kind: str, scope: str = "Namespaced") -> JsonObject:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
