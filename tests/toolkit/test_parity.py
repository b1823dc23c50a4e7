"""The same functions give the same objects in the server, as a webhook, offline and in Python."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from polykind.codec import json_codec, yaml_codec
from polykind.conversion.loading import load_converter
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD, accept_converted
from polykind.toolkit.files.offline_converter import OfflineConverter
from polykind.toolkit.hosting.review_response import convert_review
from polykind.toolkit.hosting.webhook_host import Host
from tests.support.live import Live, live
from tests.toolkit.example import EXAMPLE, importable

VERSIONS = ("v1alpha1", "v1beta1", "v1")
SPECS: dict[str, list[dict[str, Any]]] = {
    "v1alpha1": [
        {"cron": "0 3 * * *", "target": "shop/orders/db", "keep": 3, "verbose": True},
        {"cron": "0 4 * * *", "target": "mail"},
    ],
    "v1beta1": [{"schedule": "0 5 * * *", "bucket": "b", "path": "p", "keep": 1}, {"schedule": "x", "bucket": "b"}],
    "v1": [
        {"schedule": "0 6 * * *", "timeZone": "Europe/Berlin", "bucket": "b", "retention": {"count": 2}},
        {"schedule": "", "bucket": "b", "path": "a/b"},
    ],
}


def crd_manifest(**spec: Any) -> dict[str, Any]:
    out: dict[str, Any] = yaml_codec.decode((EXAMPLE / "crd.yaml").read_bytes())
    out["spec"].update(spec)
    return out


def manifests() -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": f"example.com/{version}",
            "kind": "Backup",
            "metadata": {"name": f"{version}-{number}", "labels": {"team": "shop"}},
            "spec": spec,
        }
        for version, specs in SPECS.items()
        for number, spec in enumerate(specs)
    ]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    importable(monkeypatch)
    return load_converter("conversions:backups")


def path(version: str, name: str = "") -> str:
    return f"/apis/example.com/{version}/namespaces/default/backups{f'/{name}' if name else ''}"


@asynccontextmanager
async def start_server(folder: Path, crd: Any, **settings: Any) -> AsyncIterator[Live]:
    """Start a server with all manifests, each written at its own version."""
    async with live(folder, **settings) as server:
        await server.define(crd)
        for obj in manifests():
            await server.ask("POST", path(obj["apiVersion"].rpartition("/")[2]), obj)
        yield server


async def readings(server: Live) -> dict[tuple[str, str], Any]:
    """Read every object at every version, by name and version."""
    return {
        (item["metadata"]["name"], version): item
        for version in VERSIONS
        for item in (await server.ask("GET", path(version)))["items"]
    }


def encode_objects(objects: dict[tuple[str, str], Any]) -> dict[tuple[str, str], bytes]:
    """Encode the objects without fields that differ between servers."""
    out = {}
    for key, obj in objects.items():
        given = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
        metadata = {name: value for name, value in obj["metadata"].items() if name not in given}
        out[key] = json_codec.encode({**obj, "metadata": metadata})
    return out


async def test_server_and_webhook_convert_alike(tmp_path: Path, library: Library) -> None:
    async with start_server(tmp_path / "a", crd_manifest(), converter=("conversions:backups",)) as server:
        inside = encode_objects(await readings(server))
    async with (
        Host([library]) as host,
        start_server(tmp_path / "b", crd_manifest(conversion=host.conversion)) as server,
    ):
        outside = encode_objects(await readings(server))
        assert host.metrics.objects > 0
    assert len(inside) == 18
    assert inside == outside


async def test_offline_and_review_convert_like_the_server(tmp_path: Path, library: Library) -> None:
    crd = CRD(crd_manifest())
    async with start_server(tmp_path, crd_manifest(), converter=("conversions:backups",)) as server:
        read = await readings(server)
    for (name, version), wanted in read.items():
        stored, target = read[name, "v1"], crd.versions[version]
        offline = OfflineConverter(library, version, [crd]).document(stored)
        assert json_codec.encode(offline.value) == json_codec.encode(wanted)
        assert library.declared is not None
        by_hand = library.declared["Backup.example.com"].convert(stored, version)
        assert json_codec.encode(accept_converted(stored, by_hand, target)) == json_codec.encode(wanted)
        request = {"uid": "u", "desiredAPIVersion": target.api_version, "objects": [stored]}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        answer = json.loads(convert_review(json_codec.encode(review), [library]))["response"]["convertedObjects"][0]
        assert json_codec.encode(accept_converted(stored, answer, target)) == json_codec.encode(wanted)


@pytest.mark.parametrize("defaults", [True, False])
async def test_converting_before_or_after_apply_is_equivalent(tmp_path: Path, library: Library, defaults: bool) -> None:
    crd = CRD(crd_manifest())
    async with start_server(tmp_path / "a", crd_manifest(), converter=("conversions:backups",)) as server:
        wanted = encode_objects(await readings(server))
    async with live(tmp_path / "b", converter=("conversions:backups",)) as server:
        await server.define(crd_manifest())
        for obj in manifests():
            converted = OfflineConverter(library, "v1", [crd], defaults=defaults).document(obj)
            await server.ask("POST", path("v1"), converted.value)
        assert encode_objects(await readings(server)) == wanted
