"""A client that attacks the server, and the custom resource that it attacks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from tests.conformance.client import Answer, Server
from tests.support.server import ServerProcess
from tests.support.waiting import eventually

GROUP = "attacks.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOMBS = f"/apis/{GROUP}/v1/namespaces/default/bombs"
OWN = "x0000x"
"""A part of the names of objects that have no namespace. Each attacker replaces it by the name of its namespace."""
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
    """Return a CRD of the attacker's own with one version, whose objects have the given schema at `spec`."""
    return _crd(kind + OWN, spec)


def _crd(kind: str, spec: JsonObject) -> JsonObject:
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
BOMB = _crd(
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


_numbers = itertools.count(1)


class Attacker:
    """Sends requests to the server under attack.

    `own` names a namespace that replaces `default` in all paths, and OWN in all paths and bodies.
    """

    def __init__(self, url: str, token: str, timeout: float = 60, own: str = "default") -> None:
        self._api = Server(url, token)
        self._timeout = timeout
        self.own = own
        self.statuses: list[int] = []
        """The statuses of all responses."""

    def send(self, method: str, path: str, body: Any = None, content_type: str = "", **headers: str) -> Answer:
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, separators=(",", ":")).encode()
        path = path.replace("/namespaces/default", f"/namespaces/{self.own}").replace(OWN, self.own)
        body = body and body.replace(OWN.encode(), self.own.encode())
        named: dict[str, str | None] = {
            name.replace("_", "-"): value.replace(OWN, self.own) for name, value in headers.items()
        }
        if content_type:
            named["Content-Type"] = content_type
        answer = self._api.call(method, path, body, named, self._timeout)
        self.statuses.append(answer.status)
        return answer

    def anonymous(self, method: str, path: str, **headers: str) -> Answer:
        """Send a request without credentials."""
        named: dict[str, str | None] = {"Authorization": None}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._api.call(method, path, None, named, self._timeout)
        self.statuses.append(answer.status)
        return answer

    def watch(self, stack: ExitStack, path: str) -> Answer:
        """Begin a watch, which stays open until the stack ends. Return the answer without its body."""
        connection = self._api.open(self._timeout)
        stack.callback(connection.close)
        path = path.replace("/namespaces/default", f"/namespaces/{self.own}")
        response = self._api.request(connection, "GET", path)
        self.statuses.append(response.status)
        return Answer(response.status, {}, b"")

    def has(self, path: str) -> bool:
        """Return True if a path is served."""
        return self.send("GET", path).status == 200

    def create(self, name: str, **spec: Any) -> Answer:
        return self.send("POST", f"{BOMBS}?fieldValidation=Ignore", bomb(name, spec))

    def create_raw(self, name: str, spec: bytes, content_type: str = "") -> Answer:
        head = b'{"apiVersion":"%b/v1","kind":"Bomb","metadata":{"name":"%b"},"spec":' % (GROUP.encode(), name.encode())
        return self.send("POST", f"{BOMBS}?fieldValidation=Ignore", head + spec + b"}", content_type)


def prepare(server: ServerProcess) -> None:
    """Create the custom resource that the attackers use."""
    attacker = Attacker(server.url, server.token)
    assert attacker.send("POST", CRDS, BOMB).status == 201
    eventually(partial(attacker.has, BOMBS))


@contextmanager
def own_attacker(server: ServerProcess, timeout: float = 60) -> Iterator[Attacker]:
    """Provide an attacker with a namespace of its own. Delete what it has stored there afterwards."""
    own = f"x{next(_numbers):04}x"
    attacker, path = Attacker(server.url, server.token, timeout, own), f"/api/v1/namespaces/{own}"
    assert attacker.send("POST", "/api/v1/namespaces", {"metadata": {"name": own}}).status == 201
    for published in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        eventually(partial(attacker.has, f"{path}/{published}"))
    try:
        yield attacker
    finally:
        for collection in (BOMBS, f"{path}/configmaps"):
            attacker.send("DELETE", collection)


def bomb(name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Bomb", "metadata": {"name": name, **metadata}, "spec": spec}
