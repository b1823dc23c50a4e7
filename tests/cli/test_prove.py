from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from polykind.cli import main
from polykind.toolkit.proving.progress import ObjectTested, ProgressEvent
from polykind.toolkit.proving.proof_terminal import ProgressDisplay
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions

good = conversions()
lossy = conversions(c.bare_down)
stale = conversions(loses={"spec.timeZone": "UTC only"})
acknowledged = conversions(c.bare_down, loses={"spec.timeZone": "UTC only", "spec.hosts": "one only"})


@pytest.fixture
def crd(tmp_path: Path) -> Path:
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(c.manifest()))
    return file


def prove(crd: Path, name: str, *more: str) -> int:
    budget = () if {"--examples", "--seconds"} & {*more} else ("--examples", "100")
    return main(
        [
            "prove",
            "--crd",
            str(crd),
            "--converter",
            f"{__name__}:{name}",
            *more,
            *budget,
            "--save",
            str(crd.parent / "saved"),
        ]
    )


def test_success_prints_a_table_and_a_summary(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "good") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[:4] == [
        "                       v2 to v1  v1 to v2",
        "never-fails            ok        ok",
        "there-and-back         ok        .",
        "back-and-there         .         ok",
    ]
    assert len(lines) == 18
    assert re.fullmatch(
        r"CronTab\.stable\.example\.com: all properties hold "
        r"\(tested with 200 objects, 2 pairs of versions, seed 0, [\d.]+s\)",
        lines[-1],
    )
    assert err == ""


def test_failure_prints_the_command_that_repeats_it(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "lossy", "--seed", "3") == 1
    out = capsys.readouterr().out
    command = (
        f"prove --crd {crd} --converter {__name__}:lossy --property there-and-back --pair v2:v1 --seed 3 --examples 100"
    )
    assert f"  Run again: polykind {command}\n" in out
    assert "lost on the way there and back:\nv2 to v1  spec.hosts " in out
    assert ": 1 problem (tested with " in out
    assert main(command.split()) == 1
    shown = capsys.readouterr().out
    failure = out[out.index("there-and-back, v2 to v1") : out.index("lost on the way")]
    assert failure in shown


def test_acknowledged_losses_are_listed_and_accepted(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "acknowledged") == 0
    out = capsys.readouterr().out
    assert "acknowledged: UTC only" in out
    assert "all properties hold" in out


def test_acknowledged_loss_that_never_happens_fails(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "stale") == 1
    assert "loses spec.timeZone (UTC only), but the field was never lost" in capsys.readouterr().out


def test_properties_and_pairs_can_be_selected(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--property", "deterministic", "--property", "order-kept", "--pair", "v1:v2", "--examples", "7")
    assert prove(crd, "lossy", *options) == 0
    out = capsys.readouterr().out
    assert out.startswith("               v1 to v2\norder-kept     ok\ndeterministic  ok\n")
    assert "order-kept, deterministic hold, no other property was tested (" in out
    assert "(tested with 7 objects, 1 pair of versions, seed 0," in out


def test_losses_that_no_selected_property_reports_are_named(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "lossy", "--property", "deterministic", "--examples", "20") == 0
    out = capsys.readouterr().out
    assert "NOT ACKNOWLEDGED" in out
    assert re.search(
        r"deterministic holds, no other property was tested; \d unacknowledged losses seen, "
        r"which there-and-back and back-and-there would report \(",
        out,
    )


def test_report_files_are_written(crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / name for name in ("html", "junit", "sarif")}
    flags = [text for name, file in files.items() for text in (f"--{name}", str(file))]
    assert prove(crd, "lossy", "--examples", "20", "--annotations", "github", *flags) == 1
    assert "<title>CronTab.stable.example.com: 1 problem</title>" in files["html"].read_text()
    suite = ElementTree.parse(files["junit"]).getroot()
    assert suite.get("failures") == "1"
    [result] = json.loads(files["sarif"].read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("there-and-back", "error")
    assert result["relatedLocations"][-1]["message"]["text"] == "spec.timeZone of v2"
    err = capsys.readouterr().err
    assert err.startswith("::error file=tests/toolkit/proving/converters.py,line=")


def test_report_file_that_cannot_be_written_is_refused_before_the_run(
    crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "missing" / "report.html"
    assert prove(crd, "good", "--html", str(missing)) == 2
    assert capsys.readouterr() == ("", f"polykind prove: --html {missing}: cannot be written\n")
    assert prove(crd, "good", "--sarif", str(tmp_path)) == 2
    assert f"--sarif {tmp_path}: is a directory" in capsys.readouterr().err


def test_colour_is_used_when_asked(
    crd: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    assert prove(crd, "lossy", "--examples", "20", "--color", "always") == 1
    out = capsys.readouterr().out
    assert "\x1b[1;31mFAILED" in out
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    assert "│ there-and-back        │ FAILED   │ .        │" in plain
    assert "│ Before (v2)" in plain
    assert "Run again: polykind prove" in plain


def test_interrupted_run_prints_what_it_found(
    crd: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: ProgressDisplay, event: ProgressEvent) -> None:
        if isinstance(event, ObjectTested) and event.tested == 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressDisplay, "__call__", interrupt)
    assert prove(crd, "lossy") == 130
    out, err = capsys.readouterr()
    assert "there-and-back, v2 to v1: what came back" in out
    assert ": interrupted, so far 1 problem (tested with 30 objects, 1 pair of versions," in out
    assert err == ""
    assert prove(crd, "lossy", "--json") == 130
    shown = json.loads(capsys.readouterr().out)
    assert (shown["interrupted"], shown["examples"]) == (True, {"v2:v1": 30})


def test_json_report(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "lossy", "--json") == 1
    out = json.loads(capsys.readouterr().out)
    assert [r["property"] for r in out["results"] if not r["ok"]] == ["there-and-back"]
    assert prove(crd, "good", "--json") == 0
    assert all(r["ok"] for r in json.loads(capsys.readouterr().out)["results"])


def test_random_seed_is_printed(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "good", "--seed", "random", "--examples", "3") == 0
    assert re.search(r"seed [1-9]\d+,", capsys.readouterr().out)


def test_samples_are_read_from_files(crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "samples.yaml"
    sample = {"apiVersion": "stable.example.com/v2", "kind": "CronTab", "metadata": {"name": "real"}, "spec": {}}
    file.write_text(yaml.safe_dump({"kind": "List", "items": [sample, {"kind": "Pod"}]}))
    assert prove(crd, "good", "--samples", str(file), "--examples", "5") == 0
    assert "(tested with 11 objects," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--property", "x"], "--property x: known properties: never-fails, there-and-back,"),
        (["--pair", "v1"], "--pair v1: known pairs: v2:v1, v1:v2"),
        (["--seed", "x"], "--seed x: must be a number or random"),
        (["--samples", "nowhere.yaml"], "--samples nowhere.yaml: No such file or directory"),
        (["--samples", "CRD"], "contains no CronTab.stable.example.com"),
        (["--crd", "nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["--converter", "nowhere:it"], "--converter nowhere:it: No module named 'nowhere'"),
    ],
)
def test_invalid_flags_are_rejected(
    crd: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert prove(crd, "good", *[str(crd) if option == "CRD" else option for option in options]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("polykind prove: ")
    assert message in err
    assert out == ""


def test_crd_with_one_version_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = c.manifest()
    del manifest["spec"]["versions"][0]
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(manifest))
    assert prove(file, "good") == 2
    assert "crontabs.stable.example.com has only one version, so there is nothing to convert" in capsys.readouterr().err
