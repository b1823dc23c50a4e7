"""Hostile requests that must neither hold the event loop nor fill the memory, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.conformance.client import Answer, Server

GROUP = "attacks.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOMBS = f"/apis/{GROUP}/v1/namespaces/default/bombs"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
YAML, APPLY, JSON_PATCH, MERGE_PATCH = (
    "application/yaml",
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_SIZE = 2_800_000
"""The size of a body just below kube-apiserver's limit of 3 MiB."""

JsonObject = dict[str, Any]


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


def _list_of(item: JsonObject, **keywords: Any) -> JsonObject:
    return {"type": "array", "items": item, **keywords}


_OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_ENTRY = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}
BOMB = crd(
    "Bomb",
    {
        "type": "object",
        "properties": {
            "open": _OPEN,
            "set": _list_of({"type": "string"}, **{"x-kubernetes-list-type": "set"}),
            "map": _list_of(_ENTRY, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}),
            "enum": _list_of({"type": "string", "enum": [f"value-{number}" for number in range(2000)]}),
            "time": _list_of({"type": "string", "format": "date-time"}),
            "any": _list_of({**_OPEN, "anyOf": [{"required": [f"x{number}"]} for number in range(100)]}),
            "rule": _list_of(
                {"type": "integer"},
                maxItems=1000,
                **{"x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, y == x))"}]},
            ),
        },
    },
)


class Attacker:
    """Sends requests to the server under attack."""

    def __init__(self, url: str, token: str) -> None:
        self._api = Server(url, token)

    def send(self, method: str, path: str, body: Any = None, content_type: str = "", **headers: str) -> Answer:
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body, separators=(",", ":")).encode()
        named: dict[str, str | None] = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_type:
            named["Content-Type"] = content_type
        return self._api.call(method, path, body, named)

    def create(self, name: str, **spec: Any) -> Answer:
        return self.send("POST", f"{BOMBS}?fieldValidation=Ignore", bomb(name, spec))

    def create_raw(self, name: str, spec: bytes, content_type: str = "") -> Answer:
        head = b'{"apiVersion":"%b/v1","kind":"Bomb","metadata":{"name":"%b"},"spec":' % (GROUP.encode(), name.encode())
        return self.send("POST", f"{BOMBS}?fieldValidation=Ignore", head + spec + b"}", content_type)


def bomb(name: str, spec: JsonObject, **metadata: Any) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Bomb", "metadata": {"name": name, **metadata}, "spec": spec}


def _open(content: bytes) -> bytes:
    return b'{"open":{"x":' + content + b"}}"


def _items(item: bytes, size: int = _SIZE) -> bytes:
    return b"[" + item * (size // len(item)) + b"1]"


def _entries(count: int) -> list[JsonObject]:
    return [{"k": str(number), "v": "x"} for number in range(count)]


def _finalizers(attacker: Attacker) -> Answer:
    names = [f"x.io/f{number}" for number in range(40_000)]
    attacker.send("POST", BOMBS, bomb("finalizers", {}, finalizers=names))
    return attacker.send("DELETE", f"{BOMBS}/finalizers", {"propagationPolicy": "Foreground"})


def _growing(attacker: Attacker) -> Answer:
    attacker.create("growing", open={})
    for number in range(3):
        patch = {"spec": {"open": {str(number): "x" * 900_000}}}
        answer = attacker.send("PATCH", f"{BOMBS}/growing", patch, MERGE_PATCH)
    return answer


def _json_patch(attacker: Attacker) -> Answer:
    attacker.create("patched", open={})
    operation = {"op": "add", "path": "/spec/open/y", "value": 1}
    return attacker.send("PATCH", f"{BOMBS}/patched", [operation] * 9_999, JSON_PATCH)


def _replace(attacker: Attacker) -> Answer:
    created = json.loads(attacker.create("replaced", map=_entries(15_000)).body)
    created["spec"]["map"].reverse()
    return attacker.send("PUT", f"{BOMBS}/replaced", created)


def _read(path: str, **headers: str) -> Callable[[Attacker], Answer]:
    def attack(attacker: Attacker) -> Answer:
        attacker.create_raw("read", _open(_items(b"1,", 1_000_000)))
        return attacker.send("GET", path, **headers)

    return attack


def _deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def _patterns() -> JsonObject:
    pattern = r"^\pL{1000}x%d$"
    properties = {f"p{number}": {"type": "string", "pattern": pattern % number} for number in range(300)}
    return crd("Pattern", {"type": "object", "properties": properties})


def _map_keys() -> JsonObject:
    keys = [f"k{number}" for number in range(10_000)]
    item = {"type": "object", "required": keys, "properties": {key: {"type": "string"} for key in keys}}
    keywords = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    return crd("Key", {"type": "object", "properties": {"list": _list_of(item, **keywords)}})


def _config_map(size: int) -> JsonObject:
    return {"metadata": {"name": "c"}, "data": {f"k{number}": "v" for number in range(size)}}


_ADD = {"op": "add", "path": "/spec/open/y", "value": 1}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_FLOW = b"{apiVersion: %b/v1, kind: Bomb, metadata: {name: flow}, spec: {open: {x: %b}}}"

ATTACKS: dict[str, tuple[Callable[[Attacker], Answer], int]] = {
    "dense lists": (lambda a: a.create_raw("a", _open(_items(b"[],"))), 413),
    "dense objects": (lambda a: a.create_raw("a", _open(_items(b"{},", 590_000))), 201),
    "floats": (lambda a: a.create_raw("b", _open(_items(b"1.5,"))), 500),
    "exponents": (lambda a: a.create_raw("b", _open(_items(b"1e3,"))), 500),
    "long integers": (lambda a: a.create_raw("b", _open(_items(b"12345678901234567890,"))), 500),
    "lone surrogates": (lambda a: a.create_raw("c", _open(b'"' + rb"\ud800" * (_SIZE // 6) + b'"')), 201),
    "bad UTF-8": (lambda a: a.create_raw("d", _open(_items(b'"\xff",', 800_000))), 201),
    "late syntax error": (lambda a: a.create_raw("e", _open(_items(b"1,"))[:-3]), 400),
    "duplicate keys": (lambda a: a.create_raw("f", b"{" + b'"open":1,' * (_SIZE // 9) + b'"open":{}}'), 201),
    "nesting": (lambda a: a.create_raw("g", _open(_deep(9900))), 201),
    "repeated nesting": (lambda a: a.create_raw("h", _open(b"[" + b",".join([_deep(1000)] * 150) + b"]")), 201),
    "unknown fields": (lambda a: a.create("i", **{f"unknown{number}": 1 for number in range(100_000)}), 201),
    "unknown fields, strict": (
        lambda a: a.send("POST", f"{BOMBS}?fieldValidation=Strict", bomb("i", {f"u{n}": 1 for n in range(100_000)})),
        400,
    ),
    "large enum": (lambda a: a.create("j", enum=["x"] * 20_000), 422),
    "many invalid values": (lambda a: a.create("j", time=["x"] * 200_000), 422),
    "many branches": (lambda a: a.create("k", any=[{}] * 3_000), 422),
    "expensive rule": (lambda a: a.create("l", rule=list(range(1000))), 422),
    "set": (lambda a: a.create("m", set=[str(number) for number in range(80_000)][::-1]), 500),
    "duplicates in a set": (lambda a: a.create("m", set=[str(number // 2) for number in range(80_000)]), 422),
    "finalizers": (_finalizers, 200),
    "labels": (lambda a: a.send("POST", BOMBS, bomb("n", {}, labels={f"{n}/ ": "-" for n in range(50_000)})), 422),
    "apply": (
        lambda a: a.send("PATCH", f"{BOMBS}/o?fieldManager=a", bomb("o", {"map": _entries(20_000)}), APPLY),
        201,
    ),
    "replace": (_replace, 200),
    "growing object": (_growing, 500),
    "YAML in flow style": (
        lambda a: a.send("POST", BOMBS, _FLOW % (GROUP.encode(), _items(b"a, ", 900_000)), YAML),
        201,
    ),
    "JSON patch": (_json_patch, 200),
    "pretty object": (_read(f"{BOMBS}/read?pretty=1"), 200),
    "YAML object": (_read(f"{BOMBS}/read", Accept="application/yaml"), 200),
    "Table": (_read(BOMBS, Accept=_TABLE), 200),
    "list": (_read(BOMBS), 200),
    "long label selector": (
        lambda a: a.send("GET", f"{BOMBS}?labelSelector=" + ",".join(f"a!=v{number}" for number in range(20_000))),
        200,
    ),
    "long field selector": (
        lambda a: a.send("GET", f"{BOMBS}?fieldSelector=" + ",".join(["metadata.name!=v"] * 10_000)),
        200,
    ),
    "delete options": (lambda a: a.send("DELETE", f"{BOMBS}/none", _items(b"1.5,")), 400),
    "ConfigMap": (
        lambda a: a.send(
            "POST", CONFIG_MAPS, {"metadata": {"name": "c"}, "data": {f"k{n}": "v" for n in range(50_000)}}
        ),
        201,
    ),
    "large patterns": (lambda a: a.send("POST", CRDS, _patterns()), 201),
    "list map keys": (lambda a: a.send("POST", CRDS, _map_keys()), 201),
}
"""Each attack with the status of its response. 500 is etcd's refusal of large objects, as kube-apiserver sends it."""
