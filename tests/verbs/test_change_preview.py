"""Warnings about dry runs of CRD updates."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.verbs import change_preview
from tests.evolution.crds import add_version, changed, fields, manifest
from tests.support.live import Live
from tests.support.widgets import MERGE

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{CRDS}/crontabs.stable.example.com"
CRONTABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"


async def define(server: Live, count: int = 3) -> None:
    await server.define(manifest())
    for number in range(count):
        obj = {
            "apiVersion": "stable.example.com/v1",
            "kind": "CronTab",
            "metadata": {"name": f"c{number}"},
            "spec": {"schedule": "* * * * *", "replicas": number * 10, "note": "x"},
        }
        await server.ask("POST", CRONTABS, obj, expect=201)


def narrow(crd: JsonObject) -> None:
    fields(crd)["replicas"]["maximum"] = 15
    del fields(crd)["note"]


async def warnings(server: Live, verb: str, path: str, body: Any, kind: str | None = None) -> list[str]:
    reply = await server.client.call(verb, path, body, *([kind] if kind else []))
    assert reply.status == 200, reply.body
    return reply.headers.get(b"warning", b"").decode().splitlines()


async def put(server: Live, crd: JsonObject, query: str = "?dryRun=All") -> list[str]:
    live = await server.ask("GET", CRD)
    crd["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    return await warnings(server, "PUT", f"{CRD}{query}", crd)


async def test_a_dry_run_tells_what_breaks(server: Live) -> None:
    await define(server)
    texts = await put(server, changed(narrow))
    assert texts == [
        '299 - "1 of 3 stored objects become invalid, for example default/c2: spec.replicas: Invalid value: '
        'spec.replicas in body should be less than or equal to 15"',
        '299 - "3 of 3 stored objects lose a field, for example default/c0: spec.note"',
        '299 - "breaking: v1 maximum of spec.replicas changed from 100 to 15 [limit-narrowed]"',
        '299 - "breaking: v1 spec.note was removed [field-removed]"',
    ]


async def test_a_merge_patch_as_kubectl_sends_it(server: Live) -> None:
    await define(server, 0)
    patch = {"spec": {"versions": changed(narrow)["spec"]["versions"]}}
    texts = await warnings(server, "PATCH", f"{CRD}?dryRun=All", patch, MERGE)
    assert [text for text in texts if "field-removed" in text]


async def test_harmless_dry_runs_and_real_writes_have_no_warnings(server: Live) -> None:
    await define(server, 1)
    assert await put(server, manifest()) == []
    assert await put(server, changed(lambda crd: fields(crd).update(zone={"type": "string"}))) == []
    assert await put(server, changed(lambda crd: add_version(crd))) == []
    assert await put(server, changed(narrow), "") == []


async def test_what_is_not_checked_in_time_is_said(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_preview, "_SECONDS", -1.0)
    await define(server, 2)
    texts = await put(server, changed(narrow))
    assert texts[0] == '299 - "only 0 of 2 stored objects were checked in the time of a dry run"'


async def test_many_findings_are_counted(server: Live) -> None:
    await define(server, 0)

    def change(crd: JsonObject) -> None:
        for name in list(fields(crd)):
            if name not in ("schedule", "replicas", "host"):
                del fields(crd)[name]
        properties = fields(crd)
        for number in range(20):
            properties[f"required{number}"] = {"type": "string"}
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["required"] = [name for name in properties if name.startswith("required")]

    texts = await put(server, changed(change))
    assert len(texts) == 15
    assert "more findings: run polykind check" in texts[-1]
    assert sum(map(len, texts)) < 4096
