from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from polykind.cli import main
from polykind.cli import rehearse as rehearse_command
from polykind.contract import copy_json
from polykind.testing.apiserver import ApiServer
from polykind.toolkit.rehearsal.converter_process import Upstream
from tests.declare.test_rules_file import DOCUMENT
from tests.toolkit.rehearsal.test_rehearsal import OBJECT, ONE, TWO


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    def write(name: str, value: Any) -> None:
        (tmp_path / name).write_text(json.dumps(value))

    write("one.json", ONE.crd.manifest)
    write("two.json", TWO.crd.manifest)
    rules = [{"first": ["spec.host", "spec.hosts"]}]
    write("rules.json", {**DOCUMENT, "between": [{"versions": ["v1", "v2"], "rules": rules}]})
    write("objects.json", {"apiVersion": "v1", "kind": "List", "items": [OBJECT, {"kind": "Pod"}]})
    return tmp_path


def rehearse(directory: Path, *crds: str, more: tuple[str, ...] = (), objects: str = "objects.json") -> int:
    flags = [f"--crd={directory / crd}" for crd in crds]
    return main(["rehearse", *flags, f"--converter={directory / 'rules.json'}", *more, str(directory / objects)])


def test_each_release_prints_a_line(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rehearse(directory, "one.json", "two.json", more=("--back=false",)) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == [
        ["one.json", "v1*", "1", "object,", "migrated", "to", "v1", "ok"],
        ["two.json", "v1", "v2*", "1", "object,", "migrated", "to", "v2", "ok"],
    ]
    assert lines[2][:5] == ["warning:", "one", "at", "v2:", "a"]
    assert lines[-1] == ["no", "unacknowledged", "loss"]


def test_findings_are_printed_and_exit_with_1(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rehearse(directory, "one.json", "two.json", more=("--clients=false", "--outages=false")) == 1
    output = capsys.readouterr().out
    assert "back to one.json" in output
    assert "stuck" in output
    assert output.endswith("problems found\n")


@pytest.mark.parametrize(
    ("crd", "objects", "message"),
    [
        ("objects.json", "objects.json", "objects.json contains 0 CustomResourceDefinitions"),
        ("one.json", "two.json", "the files contain no CronTab.stable.example.com of v1"),
        ("gone.json", "objects.json", "gone.json"),
    ],
)
def test_invalid_input_exits_with_2(
    directory: Path, capsys: pytest.CaptureFixture[str], crd: str, objects: str, message: str
) -> None:
    assert rehearse(directory, crd, objects=objects) == 2
    output = capsys.readouterr().err
    assert output.startswith("polykind rehearse: ")
    assert message in output


def test_page_and_json_show_the_timeline(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = directory / "report.html"
    junit, sarif = directory / "report.xml", directory / "report.sarif"
    reports = (f"--html={page}", f"--junit={junit}", f"--sarif={sarif}")
    more = ("--outages=false", "--converter-process=keep", *reports, "--json")
    assert rehearse(directory, "one.json", "two.json", more=more) == 1
    report = json.loads(capsys.readouterr().out)
    assert [(step["release"], step["direction"], step["ok"]) for step in report["steps"]] == [
        ("one.json", "forward", True),
        ("two.json", "forward", True),
        ("one.json", "back", False),
    ]
    finding = report["steps"][2]["findings"][0]
    assert (finding["phase"], finding["level"]) == ("crd", "error")
    assert finding["advice"] == "add a release in between that still declares v2 but stores v1"
    source = page.read_text()
    assert "Rehearsal of crontabs.stable.example.com" in source
    assert "Back to one.json" in source
    assert "What to do: " in source
    failures = [
        case.get("name") for case in ElementTree.parse(junit).iter("testcase") if case.find("failure") is not None
    ]
    assert failures == ["crd"]
    [result] = [each for each in json.loads(sarif.read_text())["runs"][0]["results"] if each["level"] == "error"]
    assert result["ruleId"] == "crd"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"].endswith("/one.json")


def test_generated_objects_and_objects_of_a_cluster(
    directory: Path, polykind: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    polykind.apply(ONE.crd.manifest, {**OBJECT, "metadata": {"name": "live"}})
    flags = [f"--crd={directory / 'one.json'}", "--json", "--generate=3", f"--kubeconfig={polykind.kubeconfig}"]
    assert main(["rehearse", *flags]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["steps"][0]["objects"] == 4
    assert "1 objects read from https://127.0.0.1:" in output.err


def test_webhook_of_the_crd_is_found_by_resolve(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = copy_json(TWO.crd.manifest)
    service = {"namespace": "team", "name": "converter"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    manifest["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    (directory / "service.json").write_text(json.dumps(manifest))
    flags = [f"--crd={directory / name}" for name in ("one.json", "service.json")]
    assert main(["rehearse", *flags, str(directory / "objects.json")]) == 2
    assert "use --resolve team/converter=HOST:PORT" in capsys.readouterr().err
    stage = rehearse_command._stage(
        directory / "service.json", Namespace(converter=[], webhook=None, resolve=["team/converter=127.0.0.1:9443"])
    )
    assert stage.upstream == Upstream("https://127.0.0.1:9443/", b"", "converter.team.svc")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--webhook=https://localhost:1",), "--converter and --webhook cannot be used together"),
        (("--ca=ca.crt",), "--ca requires --webhook"),
    ],
)
def test_invalid_flags_exit_with_2(
    directory: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], message: str
) -> None:
    assert rehearse(directory, "one.json", more=more) == 2
    assert message in capsys.readouterr().err


def test_objects_are_required(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rehearse", f"--crd={directory / 'one.json'}"]) == 2
    assert "no objects: name files, or use --generate or --kubeconfig" in capsys.readouterr().err
