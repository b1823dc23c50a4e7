"""Large lists in formats that must be encoded: sent while they are encoded, with the same content as small ones."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.verbs import protobuf_list, respond
from tests.support.client import Reply
from tests.support.clock import StoppedClock
from tests.support.live import Live, live
from tests.support.widgets import ALL, WIDGETS, definition, widget

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
PROTOBUF_METADATA = METADATA.replace("application/json", PROTOBUF)
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, clock=StoppedClock()) as running:  # Tables show the age of the objects.
        await running.define(definition())
        for i in range(8):
            await running.ask("POST", WIDGETS, widget(f"w{i}", note=f"<{i}> " + "x" * (i * 3000), size=i))
        yield running


async def fetch(running: Live, path: str, accept: str, encoding: str = "") -> Reply:
    """Read a list over a connection of its own."""
    async with running.another() as client:
        client.accept, client.headers = accept, (f"Accept-Encoding: {encoding}",)
        return await client.call("GET", path)


@pytest.mark.parametrize(
    ("query", "accept"),
    [
        ("?pretty=1", "application/json"),
        ("", TABLE),
        ("?pretty=1&includeObject=Object", TABLE),
        ("", METADATA),
        ("", "application/yaml"),
        ("?labelSelector=none&pretty=1", "application/json"),
        ("", PROTOBUF_METADATA),
        ("", PROTOBUF_METADATA.replace("v=v1", "v=v1beta1")),
        ("?labelSelector=none", PROTOBUF_METADATA),
    ],
)
async def test_streamed_list_equals_the_complete_one(
    running: Live, monkeypatch: pytest.MonkeyPatch, query: str, accept: str
) -> None:
    complete = await fetch(running, ALL + query, accept)
    assert complete.status == 200
    assert b"content-length" in complete.headers
    monkeypatch.setattr(respond, "STREAM_ABOVE_BYTES", -1)
    monkeypatch.setattr(respond, "PROTOBUF_STREAM_ABOVE_BYTES", -1)
    streamed = await fetch(running, ALL + query, accept)
    assert streamed.headers[b"transfer-encoding"] == b"chunked"
    assert streamed.headers[b"content-type"] == complete.headers[b"content-type"]
    assert streamed.body == complete.body
    if "pretty" in query:
        text = json.dumps(json.loads(streamed.body), indent=2, ensure_ascii=False)
        assert streamed.body.decode() == text.replace("<", "\\u003c").replace(">", "\\u003e")


@pytest.mark.parametrize("accept", ["application/json", TABLE, "application/yaml"])
async def test_streamed_list_is_compressed(running: Live, monkeypatch: pytest.MonkeyPatch, accept: str) -> None:
    complete = await fetch(running, ALL, accept)
    monkeypatch.setattr(respond, "STREAM_ABOVE_BYTES", 1000)
    monkeypatch.setattr("polykind.codec.negotiation.GZIP_ABOVE", 1000)
    streamed = await fetch(running, ALL, accept, "gzip")
    assert streamed.headers[b"content-encoding"] == b"gzip"
    assert streamed.headers[b"transfer-encoding"] == b"chunked"
    assert gzip.decompress(streamed.body) == complete.body


@pytest.mark.parametrize("part_bytes", [1, 64 * 1024])
async def test_streamed_protobuf_list_of_builtin_objects(
    running: Live, monkeypatch: pytest.MonkeyPatch, part_bytes: int
) -> None:
    complete = await fetch(running, ROLES, PROTOBUF)
    monkeypatch.setattr(respond, "PROTOBUF_STREAM_ABOVE_BYTES", 1000)
    monkeypatch.setattr(protobuf_list, "_PART_BYTES", part_bytes)
    streamed = await fetch(running, ROLES, PROTOBUF)
    assert streamed.headers[b"transfer-encoding"] == b"chunked"
    assert streamed.body == complete.body
    compressed = await fetch(running, ROLES, PROTOBUF, "gzip")
    assert gzip.decompress(compressed.body) == complete.body


async def test_client_may_leave_and_connection_is_reusable(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(respond, "STREAM_ABOVE_BYTES", -1)
    async with running.another() as client:
        for _ in range(2):
            reply = await client.call("GET", f"{ALL}?pretty=1")
            assert len(json.loads(reply.body)["items"]) == 8
        status, _ = await client.send("GET", f"{ALL}?pretty=1")
        assert status == 200
    await asyncio.sleep(0)
    assert len((await running.ask("GET", ALL))["items"]) == 8


async def test_compressor_keeps_the_order_of_parts() -> None:
    async def parts() -> AsyncIterator[bytes]:
        for number in range(100):
            yield b"%d " % number

    joined = b"".join([part async for part in respond._compressed(parts())])
    assert zlib.decompress(joined, wbits=31) == b"".join(b"%d " % number for number in range(100))
