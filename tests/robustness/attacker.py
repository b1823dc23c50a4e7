"""A client that attacks the server, and the custom resource that it attacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.conformance.client import Answer, Server

GROUP = "attacks.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOMBS = f"/apis/{GROUP}/v1/namespaces/default/bombs"
YAML, APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, PROTOBUF = (
    "application/yaml",
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/vnd.kubernetes.protobuf",
)
SIZE = 2_800_000
"""The size of a body just below kube-apiserver's limit of 3 MiB."""

JsonObject = dict[str, Any]
Attacks = dict[str, tuple[Callable[["Attacker"], Answer], int]]
"""Each attack with the status of its response."""


def crd(kind: str, spec: JsonObject) -> JsonObject:
    """Return a CRD with one version, whose objects have the given schema at `spec`."""
    plural = f"{kind.lower()}s"
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def list_of(item: JsonObject, **keywords: Any) -> JsonObject:
    return {"type": "array", "items": item, **keywords}


OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_ENTRY = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}
BOMB = crd(
    "Bomb",
    {
        "type": "object",
        "properties": {
            "open": OPEN,
            "set": list_of({"type": "string"}, **{"x-kubernetes-list-type": "set"}),
            "map": list_of(_ENTRY, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}),
            "enum": list_of({"type": "string", "enum": [f"value-{number}" for number in range(2000)]}),
            "time": list_of({"type": "string", "format": "date-time"}),
            "any": list_of({**OPEN, "anyOf": [{"required": [f"x{number}"]} for number in range(100)]}),
            "rule": list_of(
                {"type": "integer"},
                maxItems=1000,
                **{"x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, y == x))"}]},
            ),
        },
    },
)


class Attacker:
    """Sends requests to the server under attack."""

    def __init__(self, url: str, token: str, timeout: float = 60) -> None:
        self._api = Server(url, token)
        self._timeout = timeout
        self.statuses: list[int] = []
        """The statuses of all responses."""

    def send(self, method: str, path: str, body: Any = None, content_type: str = "", **headers: str) -> Answer:
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, separators=(",", ":")).encode()
        named: dict[str, str | None] = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_type:
            named["Content-Type"] = content_type
        answer = self._api.call(method, path, body, named, self._timeout)
        self.statuses.append(answer.status)
        return answer

    def create(self, name: str, **spec: Any) -> Answer:
        return self.send("POST", f"{BOMBS}?fieldValidation=Ignore", bomb(name, spec))

    def create_raw(self, name: str, spec: bytes, content_type: str = "") -> Answer:
        head = b'{"apiVersion":"%b/v1","kind":"Bomb","metadata":{"name":"%b"},"spec":' % (GROUP.encode(), name.encode())
        return self.send("POST", f"{BOMBS}?fieldValidation=Ignore", head + spec + b"}", content_type)


def bomb(name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Bomb", "metadata": {"name": name, **metadata}, "spec": spec}
