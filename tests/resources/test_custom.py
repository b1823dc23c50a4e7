"""Custom resources: conversion to unknown and removed versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from polykind.errors import InternalError, UnknownReasonError
from polykind.resources.custom import CustomResource
from tests.support.live import live
from tests.support.widgets import GROUP, WIDGETS, definition, widget

_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


class Unreachable:
    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        raise InternalError("nobody answers")


@pytest.mark.parametrize(
    ("api_version", "reason"),
    [
        (f"{GROUP}/v9", f"request to convert CR to an invalid group/version: {GROUP}/v9"),
        ("v1", f'{GROUP}/v1, Kind=Widget is unstructured and is not suitable for converting to "v1"'),
        ("/v1", f'{GROUP}/v1, Kind=Widget is unstructured and is not suitable for converting to "v1"'),
        ("a.io/v1", f'{GROUP}/v1, Kind=Widget is unstructured and is not suitable for converting to "a.io/v1"'),
        ("a/b/c", "unexpected GroupVersion string: a/b/c"),
    ],
)
async def test_convert_rejects_unknown_versions(tmp_path: Path, api_version: str, reason: str) -> None:
    async with live(tmp_path) as running:
        await running.define(definition())
        kind = running.server.registry.resource(GROUP, "widgets")
        assert kind is not None
        with pytest.raises(UnknownReasonError) as caught:
            await kind.versions["v1"].representer.convert(widget("a"), api_version)
        assert caught.value.message == reason


async def test_empty_object_is_not_sent_to_the_converter(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(definition())
        kind = running.server.registry.resource(GROUP, "widgets")
        assert isinstance(kind, CustomResource)
        kind.converter = Unreachable()
        result = await kind.versions["v1"].representer.convert({}, f"{GROUP}/v2")
        assert result == {"apiVersion": f"{GROUP}/v2"}


async def test_managers_at_a_removed_version_block_apply_until_an_update_drops_them(
    tmp_path: Path,
) -> None:
    async with live(tmp_path) as running:
        crd = definition()
        await running.define(crd)
        second = widget("a") | {"apiVersion": f"{GROUP}/v2"}
        await running.ask("PATCH", f"{WIDGETS.replace('/v1/', '/v2/')}/a?fieldManager=old", second, kind=_APPLY)
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}"
        stored = await running.ask("GET", path)
        stored["spec"]["versions"] = [v for v in stored["spec"]["versions"] if v["name"] != "v2"]
        await running.ask("PUT", path, stored)
        applying = f"{WIDGETS}/a?fieldManager=me"
        error = await running.ask("PATCH", applying, widget("a"), kind=_APPLY, expect=500)
        assert error["message"] == f"request to convert CR to an invalid group/version: {GROUP}/v2"
        changed = await running.ask("PATCH", f"{WIDGETS}/a", {}, kind=_MERGE)
        assert "managedFields" not in changed["metadata"]
        applied = await running.ask("PATCH", applying, widget("a"), kind=_APPLY)
        assert [e["manager"] for e in applied["metadata"]["managedFields"]] == ["me", "before-first-apply"]
