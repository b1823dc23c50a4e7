"""The cost of tracking field managers and of server-side apply, as ratios.

    .venv/bin/python benches/apply_cost.py

Prints the cost of tracking a create relative to decoding its body, the cost of tracking small updates, and the cost of
a server-side apply relative to a merge patch of the same size. Both include managedFields.
"""

from __future__ import annotations

import platform
import sys
import timeit
from collections.abc import Callable, Coroutine
from typing import Any

import orjson

from polykind.apply import field_manager, merge_patch
from polykind.apply.typemodel import TypeModel

Json = dict[str, Any]

VERSION = "bench.example.com/v1"
NOW = "2024-01-01T00:00:00Z"
LATER = "2024-01-01T00:01:00Z"
TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer"}
PART: Json = {"type": "object", "properties": {"name": TEXT, "image": TEXT, "port": COUNT}}
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                **{f"text{i}": TEXT for i in range(20)},
                "limits": {"type": "object", "properties": {f"count{i}": COUNT for i in range(16)}},
                "notes": {"type": "object", "additionalProperties": TEXT},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
                "tools": {"type": "array", "items": TEXT},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": PART,
                },
            },
        }
    },
}
BODY: Json = {
    "apiVersion": VERSION,
    "kind": "Bench",
    "metadata": {"name": "one", "namespace": "default", "labels": {"app": "bench", "tier": "back"}},
    "spec": {
        **{f"text{i}": f"a value that is some forty-five characters {i}" for i in range(20)},
        "limits": {f"count{i}": i for i in range(16)},
        "notes": {f"note{i}": f"a note of some length {i}" for i in range(6)},
        "tags": ["red", "green", "blue"],
        "tools": ["hammer", "saw"],
        "parts": [{"name": f"part{i}", "image": f"registry/part:{i}", "port": 8000 + i} for i in range(4)],
    },
}


async def convert(document: Json, version: str) -> Json | None:
    return {**document, "apiVersion": version}


RULES: Json = {"api_version": VERSION, "subresource": "", "models": {VERSION: TypeModel(SCHEMA)}, "convert": convert}


def done(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that never suspends, without an event loop."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("it waited")


def cost(work: Callable[[], Any], number: int = 2000) -> float:
    """Return microseconds per run, the best of several."""
    work()
    return min(timeit.repeat(work, number=number, repeat=7)) / number * 1e6


def with_entries(document: Json, listed: list[Json]) -> Json:
    return {**document, "metadata": {**document["metadata"], "uid": "u", "managedFields": listed}}


def create() -> list[Json]:
    listed: list[Json] = done(field_manager.update(None, BODY, manager="creator", now=NOW, **RULES))
    return listed


def changed(size: int) -> Json:
    """Return a patch of all fields of the body, `size` of them with new values."""
    spec = {**BODY["spec"], **{f"text{i}": f"another value of some forty characters {i}" for i in range(size)}}
    return {**BODY, "spec": spec}


def main() -> None:
    body = orjson.dumps(BODY)
    live = with_entries(BODY, create())
    label = {**live, "metadata": {**live["metadata"], "labels": {"app": "bench", "tier": "front"}}}
    relabelled = orjson.loads(orjson.dumps(label))
    patch = {key: value for key, value in changed(3).items() if key == "spec"}
    mine = done(field_manager.apply(None, BODY, manager="owner", force=False, kind="Bench", now=NOW, **RULES))

    def patch_and_update() -> None:
        new = merge_patch.apply(live, patch)
        done(field_manager.update(live, new, manager="patcher", now=LATER, **RULES))

    def apply(config: Json) -> Callable[[], Any]:
        return lambda: done(
            field_manager.apply(mine, config, manager="owner", force=False, kind="Bench", now=LATER, **RULES)
        )

    fewer = changed(3)
    del fewer["spec"]["text19"]
    reading = cost(lambda: orjson.loads(body))
    merging = cost(patch_and_update)
    print(f"python {sys.version.split()[0]} on {platform.machine()}, body of {len(body)} bytes")
    print(f"{'':38}{'us':>8}  ratio")
    for name, spent, base in (
        ("reading the body", reading, reading),
        ("tracking its create", cost(create), reading),
        ("tracking a label changed by a patch", update(live, label), reading),
        ("tracking a label changed by a put", update(live, relabelled), reading),
        ("merge patch of all, 3 changed, tracked", merging, merging),
        ("apply of all, nothing changed", cost(apply(BODY)), merging),
        ("apply of all, 3 changed", cost(apply(changed(3))), merging),
        ("apply of all but one, 3 changed", cost(apply(fewer)), merging),
    ):
        print(f"{name:38}{spent:8.1f}  {spent / base:5.2f}")


def update(live: Json, new: Json) -> float:
    return cost(lambda: done(field_manager.update(live, new, manager="another", now=LATER, **RULES)))


if __name__ == "__main__":
    main()
