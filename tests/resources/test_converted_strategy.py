"""Built-in kinds that are served at several versions, or in several groups, and stored once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind import errors
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import TypeTable
from polykind.apis.machinery.version_conversion import VersionConversion
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy, declare_builtins
from tests.support.live import Live, live

_TYPES = """
struct Light kind | A light.
    metadata  1  meta.ObjectMeta
    spec      2  LightSpec
    status    3  LightStatus

struct LightSpec
    {colours}
    watts    2  int32

struct LightStatus
    phase  1  string
"""


def _table(version: str, colours: str) -> TypeTable:
    return TypeTable(version, lambda: _TYPES.format(colours=colours))


V1 = GroupVersion("lights.example.com", "v1", _table("v1", "colour  1  string"))
V2 = GroupVersion("lights.example.com", "v2", _table("v2", "colours  1  []string"))
OTHER = GroupVersion("other.example.com", "v2", _table("v2", "colour  1  string"))
AT_V1, AT_V2 = (f"/apis/lights.example.com/{version}/namespaces/default/lights" for version in ("v1", "v2"))
AT_OTHER = "/apis/other.example.com/v2/namespaces/default/lights"


def _to_v2(obj: JsonObject) -> JsonObject:
    colour = obj["spec"].get("colour")
    return {**obj, "spec": {"colours": [colour], "watts": obj["spec"]["watts"]} if colour else obj["spec"]}


def _to_v1(obj: JsonObject) -> JsonObject:
    spec = {key: value for key, value in obj["spec"].items() if key != "colours"}
    return {**obj, "spec": {"colour": obj["spec"]["colours"][0], **spec} if obj["spec"].get("colours") else spec}


ONE_COLOUR = VersionConversion(_to_v2, _to_v1)


class LightStrategy(BuiltinStrategy):
    """Validates lights at v2."""

    unconditional_update = True
    counts_generation = True

    def default(self, obj: JsonObject) -> None:
        obj["spec"].setdefault("watts", 1 if self.kind.version == "v1" else 2)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return [] if obj["spec"].get("colours") else [errors.required("spec.colours")]


def _light(api: GroupVersion, conversion: VersionConversion | None = None) -> Kind:
    return Kind(
        api,
        "Light",
        namespaced=True,
        subresources=(Subresource("status"),),
        stored_group="lights.example.com",
        stored_version="v2",
        strategy="tests.resources.test_converted_strategy:LightStrategy",
        conversion=None if conversion is None else lambda: conversion,
    )


LIGHT_V1 = _light(V1, ONE_COLOUR)
LIGHT_V2 = _light(V2)
LIGHT_OTHER = _light(OTHER, ONE_COLOUR)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as started:
        declare_builtins(started.server.registry, started.server.cache, [LIGHT_V1, LIGHT_V2, LIGHT_OTHER])
        yield started


def light(**spec: object) -> JsonObject:
    return {"metadata": {"name": "a"}, "spec": spec}


async def test_objects_are_stored_at_one_version_and_served_at_all(running: Live) -> None:
    created = await running.ask("POST", AT_V1, light(colour="red"))
    assert (created["apiVersion"], created["spec"]) == ("lights.example.com/v1", {"colour": "red", "watts": 1})
    stored = await running.server.store.get("/registry/lights/default/a")
    assert stored is not None
    assert b'"apiVersion":"lights.example.com/v2"' in stored.value
    for path, api_version, spec in (
        (AT_V1, "lights.example.com/v1", {"colour": "red", "watts": 1}),
        (AT_V2, "lights.example.com/v2", {"colours": ["red"], "watts": 1}),
        (AT_OTHER, "other.example.com/v2", {"colour": "red", "watts": 1}),
    ):
        got = await running.ask("GET", f"{path}/a")
        assert (got["apiVersion"], got["spec"]) == (api_version, spec)
        listed = await running.ask("GET", path)
        assert (listed["apiVersion"], listed["items"][0]["spec"]) == (api_version, spec)
        event = await running.until(path, lambda kind, _: kind == "ADDED")
        assert event["object"] == got


async def test_rules_apply_to_the_stored_version(running: Live) -> None:
    status = await running.ask("POST", AT_V1, light(watts=3), expect=422)
    assert status["details"]["causes"][0]["field"] == "spec.colours"
    await running.ask("POST", AT_OTHER, light(colour="red"))
    changed = await running.ask("PUT", f"{AT_V1}/a", light(colour="blue"))
    assert (changed["metadata"]["generation"], changed["spec"]["colour"]) == (2, "blue")
    switched = await running.ask("PUT", f"{AT_V1}/a/status", {**light(colour="green"), "status": {"phase": "on"}})
    assert (switched["spec"]["colour"], switched["status"]) == ("blue", {"phase": "on"})


async def test_apply_detects_conflicts_across_versions(running: Live) -> None:
    apply = "application/apply-patch+yaml"
    await running.ask(
        "PATCH", f"{AT_V1}/a?fieldManager=one", _applied("lights.example.com/v1", colour="red"), kind=apply
    )
    other = _applied("other.example.com/v2", colour="blue")
    await running.ask("PATCH", f"{AT_OTHER}/a?fieldManager=two", other, kind=apply, expect=409)
    forced = await running.ask("PATCH", f"{AT_OTHER}/a?fieldManager=two&force=true", other, kind=apply)
    assert forced["spec"] == {"colour": "blue", "watts": 1}
    assert [entry["apiVersion"] for entry in forced["metadata"]["managedFields"]] == ["other.example.com/v2"]


def _applied(api_version: str, **spec: object) -> JsonObject:
    return {"apiVersion": api_version, "kind": "Light", **light(**spec)}
