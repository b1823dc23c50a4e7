"""Rules files and Python modules of --converter are read again when they change and on SIGHUP."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from polykind.server.converter_files import ConverterFiles
from tests.conversion.test_served_conversions import MERGE, NAME, crd_with, crontab, crontabs
from tests.support.client import Client
from tests.support.live import DEADLINE_SECONDS, DEFINITIONS, Live, live
from tests.support.server import ServerProcess

RULES = """
kind: CronTab.example.com
between:
- versions: [v1, v2]
  rules:
  - move: [spec.a, spec.{name}]
"""
MODULE = """
def convert(obj, to):
    obj["spec"]["said"] = "{word}"
    return obj
"""


async def spec_of(server: Live) -> dict[str, object]:
    spec: dict[str, object] = (await server.ask("GET", crontabs("v2", "one")))["spec"]
    return spec


async def until_spec(server: Live, key: str, value: object) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while (await spec_of(server)).get(key) != value:
            await asyncio.sleep(0.01)


async def start(server: Live) -> None:
    await server.define(crd_with(None))
    await server.ask("POST", crontabs("v1"), crontab("one"))


async def test_changed_rules_convert_again(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.format(name="b"))
    async with live(tmp_path, converter=(str(file),)) as server:
        await start(server)
        assert await spec_of(server) == {"b": 1}
        watch = server.watch(f"{crontabs('v2')}?watch=1")
        assert (await anext(watch))["object"]["spec"] == {"b": 1}
        file.write_text(RULES.format(name="c"))
        server.server.reload()
        await until_spec(server, "c", 1)
        with pytest.raises(StopAsyncIteration):
            await anext(watch)


async def test_broken_rules_change_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.format(name="b"))
    async with live(tmp_path, converter=(str(file),)) as server:
        await start(server)
        for broken in ("rules: [", RULES.format(name="c").replace("move", "mvoe")):
            caplog.clear()
            file.write_text(broken)
            server.server.reload()
            async with asyncio.timeout(DEADLINE_SECONDS):
                while "the previous conversions stay" not in caplog.text:
                    await asyncio.sleep(0.01)
            assert str(file) in caplog.text
            assert await spec_of(server) == {"b": 1}
        file.write_text(RULES.format(name="c"))
        server.server.reload()
        await until_spec(server, "c", 1)


async def test_deleted_rules_change_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.format(name="b"))
    async with live(tmp_path, converter=(str(file),)) as server:
        await start(server)
        file.unlink()
        server.server.reload()
        async with asyncio.timeout(DEADLINE_SECONDS):
            while "the previous conversions stay" not in caplog.text:
                await asyncio.sleep(0.01)
        assert await spec_of(server) == {"b": 1}


async def test_changed_module_converts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "reloaded_converter.py"
    file.write_text(MODULE.format(word="old"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "reloaded_converter", raising=False)
    async with live(tmp_path, converter=("reloaded_converter:convert",)) as server:
        await start(server)
        assert (await spec_of(server))["said"] == "old"
        file.write_text("x = 1\nraise RuntimeError('half written')\n")
        server.server.reload()
        file_before = sys.modules["reloaded_converter"]
        assert (await spec_of(server))["said"] == "old"
        file.write_text(MODULE.format(word="new"))
        server.server.reload()
        await until_spec(server, "said", "new")
        assert sys.modules["reloaded_converter"] is not file_before
    monkeypatch.delitem(sys.modules, "reloaded_converter")


async def test_unchanged_files_are_not_loaded_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.format(name="b"))
    converters = ConverterFiles([str(file)])
    before = converters.libraries[0]
    changes: list[object] = []
    converters.start(changes.append)
    converters.reload()
    converters.reload()
    await asyncio.wait_for(asyncio.shield(converters._task or asyncio.sleep(0)), DEADLINE_SECONDS)
    assert converters.libraries == [before]
    assert not changes
    await converters.close()


async def test_conversions_of_one_crd_are_dropped(tmp_path: Path) -> None:
    """A fresh rule for a kind reaches a CRD that had no converter."""
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.format(name="b").replace("CronTab", "Other"))
    async with live(tmp_path, converter=(str(file),)) as server:
        await start(server)
        assert await spec_of(server) == {"a": 1}
        file.write_text(RULES.format(name="b"))
        server.server.reload()
        await until_spec(server, "b", 1)
        annotated = {"metadata": {"annotations": {"a": "b"}}}
        await server.ask("PATCH", f"{DEFINITIONS}/{NAME}", annotated, kind=MERGE)
        assert await spec_of(server) == {"b": 1}


async def test_hangup_reads_the_rules_again(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES.format(name="b"))
    server = ServerProcess(tmp_path / "data", "--converter", str(file))
    await asyncio.to_thread(server.start)
    try:
        async with Client(server.url, server.token) as client:
            assert (await client.call("POST", DEFINITIONS, crd_with(None))).status == 201
            assert (await client.call("POST", crontabs("v1"), crontab("one"))).status == 201
            file.write_text(RULES.format(name="c"))
            assert server.process is not None
            server.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(DEADLINE_SECONDS):
                while (await client.call("GET", crontabs("v2", "one"))).json()["spec"] != {"c": 1}:
                    await asyncio.sleep(0.01)
    finally:
        await asyncio.to_thread(server.stop)
