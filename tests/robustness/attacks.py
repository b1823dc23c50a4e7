"""Hostile requests that must neither hold the event loop nor fill the memory, by name."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.conformance.client import Answer
from tests.robustness.anonymous_attacks import ANONYMOUS_ATTACKS
from tests.robustness.attacker import (
    APPLY,
    BOMBS,
    CRDS,
    GROUP,
    JSON_PATCH,
    MERGE_PATCH,
    SIZE,
    YAML,
    Attacker,
    Attacks,
    JsonObject,
    bomb,
    crd,
    list_of,
)
from tests.robustness.builtin_attacks import BUILTIN_ATTACKS
from tests.robustness.encoding_attacks import ENCODING_ATTACKS
from tests.robustness.schema_attacks import SCHEMA_ATTACKS
from tests.robustness.stored_attacks import STORED_ATTACKS
from tests.robustness.text_attacks import TEXT_ATTACKS

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def _open(content: bytes) -> bytes:
    return b'{"open":{"x":' + content + b"}}"


def _items(item: bytes, size: int = SIZE) -> bytes:
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
    return crd("LargePattern", {"type": "object", "properties": properties})


def _map_keys() -> JsonObject:
    keys = [f"k{number}" for number in range(10_000)]
    item = {"type": "object", "required": keys, "properties": {key: {"type": "string"} for key in keys}}
    keywords = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    return crd("Key", {"type": "object", "properties": {"list": list_of(item, **keywords)}})


def _config_map(size: int) -> JsonObject:
    return {"metadata": {"name": "c"}, "data": {f"k{number}": "v" for number in range(size)}}


_ADD = {"op": "add", "path": "/spec/open/y", "value": 1}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_FLOW = b"{apiVersion: %b/v1, kind: Bomb, metadata: {name: flow}, spec: {open: {x: %b}}}"

CUSTOM_RESOURCE_ATTACKS: Attacks = {
    "dense lists": (lambda a: a.create_raw("a", _open(_items(b"[],"))), 413),
    "dense objects": (lambda a: a.create_raw("a", _open(_items(b"{},", 590_000))), 201),
    "floats": (lambda a: a.create_raw("b", _open(_items(b"1.5,"))), 500),
    "exponents": (lambda a: a.create_raw("b", _open(_items(b"1e3,"))), 500),
    "long integers": (lambda a: a.create_raw("b", _open(_items(b"12345678901234567890,"))), 500),
    "lone surrogates": (lambda a: a.create_raw("c", _open(b'"' + rb"\ud800" * (SIZE // 6) + b'"')), 201),
    "bad UTF-8": (lambda a: a.create_raw("d", _open(_items(b'"\xff",', 600_000))), 201),
    "late syntax error": (lambda a: a.create_raw("e", _open(_items(b"1,"))[:-3]), 400),
    "duplicate keys": (lambda a: a.create_raw("f", b"{" + b'"open":1,' * (SIZE // 9) + b'"open":{}}'), 201),
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
    "set": (lambda a: a.create("m", set=[str(number) for number in range(80_000)][::-1]), 201),
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
"""500 is etcd's refusal of large objects, as kube-apiserver sends it."""
ATTACKS: Attacks = {
    **CUSTOM_RESOURCE_ATTACKS,
    **BUILTIN_ATTACKS,
    **SCHEMA_ATTACKS,
    **ENCODING_ATTACKS,
    **STORED_ATTACKS,
    **ANONYMOUS_ATTACKS,
    **TEXT_ATTACKS,
}
CI_ATTACKS = (
    *CUSTOM_RESOURCE_ATTACKS,
    *ANONYMOUS_ATTACKS,
    *TEXT_ATTACKS,
    "100,000 labels",
    "10,000 versions",
    "Pod security of many containers",
    "Table with 10,000 columns",
    "authorization with a large role",
    "containers",
    "environment",
    "invalid UTF-8",
    "owner references",
    "ports",
    "protobuf empty items",
    "policy with 3,000 expressions",
    "protobuf list",
    "resources",
    "strategic merge",
    "too many containers",
)
"""The attacks that every run of the tests makes. `make torture` makes all of them."""
