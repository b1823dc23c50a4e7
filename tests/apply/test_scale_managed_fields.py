"""Mapping of managedFields between an object and its Scale."""

from __future__ import annotations

from typing import Any

from polykind.apis.autoscaling.types import SCALE
from polykind.apis.machinery.apply_types import apply_model
from polykind.apply import field_manager
from polykind.apply.scale_managed_fields import SCALE_VERSION, to_parent, to_scale
from tests.apply.test_field_manager import V1, V2, Json, convert, entry

PATHS = {V1: ".spec.replicas", V2: None}
MINE: Json = {"f:spec": {"f:replicas": {}}}


def scale(replicas: int) -> Json:
    return {"apiVersion": SCALE_VERSION, "kind": "Scale", "metadata": {"name": "x"}, "spec": {"replicas": replicas}}


async def write_scale(parent: list[Json], before: int, after: int, manager: str) -> list[Json]:
    live = scale(before)
    live["metadata"].update(uid="u", managedFields=to_scale(parent, PATHS))
    listed = await field_manager.update(
        live,
        scale(after),
        manager=manager,
        api_version=SCALE_VERSION,
        subresource="scale",
        now="2024-01-01T00:00:09Z",
        models={SCALE_VERSION: apply_model(SCALE)},
        convert=convert,
    )
    return to_parent(parent, listed, api_version=V1, paths=PATHS)


def parent() -> list[Json]:
    return [
        entry("a", "Apply", MINE, 1),
        entry("x", "Update", {"f:spec": {".": {}, "f:replicas": {}, "f:speed": {}}}, 1),
        entry("y", "Update", {"f:spec": {"f:replicas": {}}}, 1, version=V2),
    ]


def test_scale_has_entries_of_the_owners_of_replicas() -> None:
    assert to_scale(parent(), PATHS) == [
        entry("a", "Apply", MINE, 1, version=SCALE_VERSION),
        entry("x", "Update", MINE, 1, version=SCALE_VERSION),
    ]


async def test_writer_of_the_scale_owns_the_replicas() -> None:
    assert await write_scale(parent(), 3, 4, "zoe") == [
        entry("zoe", "Update", MINE, None, subresource="scale"),
        entry("x", "Update", {"f:spec": {".": {}, "f:speed": {}}}, 1),
        entry("y", "Update", {"f:spec": {"f:replicas": {}}}, 1, version=V2),
    ]


async def test_entries_of_removed_versions_are_dropped() -> None:
    listed: Any = [entry("x", "Update", MINE, 1, version="g.io/v0"), entry("a", "Apply", MINE, 1)]
    assert to_parent(listed, to_scale(listed, PATHS), api_version=V1, paths=PATHS) == [entry("a", "Apply", MINE, 1)]


def test_paths_are_split_at_dots() -> None:
    listed = [entry("a", "Apply", {"f:spec": {"f:replicas[0]": {}}}, 1)]
    assert len(to_scale(listed, {V1: ".spec.replicas[0]"})) == 1
