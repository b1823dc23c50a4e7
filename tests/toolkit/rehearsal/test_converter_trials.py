"""Restarts and outages of a converter in a process of its own, behind a real TLS webhook."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.toolkit.hosting.webhook_host import Host
from polykind.toolkit.rehearsal.converter_process import ConverterProcess, Upstream
from polykind.toolkit.rehearsal.rehearsal import Options, Rehearsal, Stage, StageResult
from polykind.toolkit.rehearsal.rehearsal_client import RehearsalClient
from polykind.toolkit.rehearsal.rehearsed_converter import RehearsedConverter
from tests.toolkit.crds import GROUP
from tests.toolkit.rehearsal.test_rehearsal import OBJECT, ONE, TWO, release, texts

STATELESS = """
def convert(obj, to):
    spec = obj["spec"]
    if to.endswith("v2"):
        spec["hosts"] = [spec.pop("host", "")]
    else:
        spec["host"] = (spec.pop("hosts", None) or [""])[0]
        obj["metadata"].get("annotations", {}).pop("more", None)
    return obj
"""
PROCESS_DEPENDENT = """
import os

def convert(obj, to):
    spec = obj["spec"]
    if to.endswith("v2"):
        spec["hosts"] = [spec.pop("host").partition("-")[0]]
    else:
        spec["host"] = spec.pop("hosts")[0] + "-" + str(os.getpid())
    return obj
"""
MODES = Options(clients=False)


@pytest.fixture
def write_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Return a function that writes a module which the converter's process can import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(name: str, code: str) -> str:
        (tmp_path / f"{name}.py").write_text(code)
        return f"{name}:convert"

    return write


@asynccontextmanager
async def rehearsed(
    folder: Path,
    converter: RehearsedConverter,
    options: Options,
    stages: Sequence[Stage] = (ONE, TWO),
    sample: JsonObject = OBJECT,
) -> AsyncIterator[list[StageResult]]:
    settings = Settings(data_dir=folder / "data", secure_port=0, conversion_cache=False)
    async with converter, Server(settings) as server:
        rehearsal = Rehearsal(RehearsalClient(server), stages, [sample], options, converter=converter)
        yield [outcome async for outcome in rehearsal.run(back=False)]


async def test_restart_and_outages_of_a_stateless_converter_do_not_matter(
    tmp_path: Path, write_module: Callable[[str, str], str]
) -> None:
    converter = RehearsedConverter(process=ConverterProcess([write_module("stateless_converter", STATELESS)]))
    async with rehearsed(tmp_path, converter, MODES) as outcomes:
        assert texts(outcomes[1]) == []
        assert [phase.name for phase in outcomes[1].phases] == ["crd", "read", "migration", "restart", "outage"]


async def test_results_that_depend_on_the_process_are_found(
    tmp_path: Path, write_module: Callable[[str, str], str]
) -> None:
    spec = write_module("process_dependent_converter", PROCESS_DEPENDENT)
    sample = {**OBJECT, "apiVersion": f"{GROUP}/v2", "spec": {"hosts": ["a"]}}
    stages, options = [release("new", "v2", storage="v2"), TWO], Options(clients=False, outages=False)
    converter = RehearsedConverter(process=ConverterProcess([spec]))
    async with rehearsed(tmp_path, converter, options, stages, sample) as outcomes:
        problem = outcomes[1].problems[0]
    assert (problem.phase, problem.client, problem.version, problem.field) == ("restart", "v1 (PUT)", "v1", "spec.host")
    assert problem.text.startswith("one at v1 after a restart of the converter between a read and a write at v1")
    assert problem.advice.startswith("a conversion must depend on its input only")
    kept = RehearsedConverter(process=ConverterProcess([spec]))
    options = Options(clients=False, outages=False, process="keep")
    async with rehearsed(tmp_path / "kept", kept, options, stages, sample) as outcomes:
        assert texts(outcomes[1]) == []


async def test_webhook_by_url_is_forwarded_and_cannot_be_restarted(tmp_path: Path) -> None:
    def convert(obj: dict[str, object], to: str) -> dict[str, object]:
        spec = obj["spec"]
        assert isinstance(spec, dict)
        if to.endswith("v2"):
            spec["hosts"] = [spec.pop("host", "")]
        else:
            spec["host"] = (spec.pop("hosts", None) or [""])[0]
        return obj

    async with Host([convert]) as host:
        converter = RehearsedConverter(Upstream(host.url, host.ca_bundle))
        assert not converter.restartable
        async with rehearsed(tmp_path, converter, MODES) as outcomes:
            assert texts(outcomes[1]) == []
            assert [phase.name for phase in outcomes[1].phases] == ["crd", "read", "migration", "outage"]


async def test_dropped_managed_fields_in_an_outage_are_a_warning(
    tmp_path: Path, write_module: Callable[[str, str], str]
) -> None:
    converter = RehearsedConverter(process=ConverterProcess([write_module("plain_converter", STATELESS)]))
    async with rehearsed(tmp_path, converter, Options(process="keep")) as outcomes:
        warnings = [f for f in outcomes[1].findings if f.level == "warning"]
    assert [(w.phase, w.field) for w in warnings] == [("outage", "metadata.managedFields")]


async def test_converter_that_cannot_be_loaded_is_an_error() -> None:
    with pytest.raises(ValueError, match="No module named 'no_such_module'"):
        await ConverterProcess(["no_such_module:convert"]).start()


async def test_stopped_process_is_gone(write_module: Callable[[str, str], str]) -> None:
    process = ConverterProcess([write_module("stopped_converter", STATELESS)])
    upstream = await process.start()
    assert upstream.url.startswith("https://127.0.0.1:")
    await process.stop()
    await process.stop()
    assert sys.modules.get("stopped_converter") is None
