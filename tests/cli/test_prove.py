from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from polykind.cli import main
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
    return main(["prove", "--converter", f"{__name__}:{name}", "--crd", str(crd), *more])


def test_success_prints_a_table_and_a_summary(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "good") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[:4] == [
        "                    v2 to v1  v1 to v2",
        "never-fails         ok        ok",
        "there-and-back      ok        .",
        "back-and-there      .         ok",
    ]
    assert len(lines) == 15
    assert re.fullmatch(
        r"CronTab\.stable\.example\.com: all is proven \(200 objects, 2 pairs of versions, seed 0, [\d.]+s\)", lines[-1]
    )
    assert err == ""


def test_failure_prints_the_command_that_repeats_it(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "lossy", "--seed", "3") == 1
    out = capsys.readouterr().out
    command = f"prove --converter {__name__}:lossy --crd {crd} --property there-and-back --pair v2:v1 --seed 3"
    assert f"  Run again: polykind {command}\n" in out
    assert "lost on the way there and back:\nv2 to v1  spec.hosts " in out
    assert "1 not proven" in out
    assert main(command.split()) == 1
    shown = capsys.readouterr().out
    failure = out[out.index("there-and-back, v2 to v1") : out.index("lost on the way")]
    assert failure in shown


def test_acknowledged_losses_are_listed_and_accepted(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "acknowledged") == 0
    out = capsys.readouterr().out
    assert "acknowledged: UTC only" in out
    assert "all is proven" in out


def test_acknowledged_loss_that_never_happens_fails(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(crd, "stale") == 1
    assert "loses spec.timeZone (UTC only), but the field was never lost" in capsys.readouterr().out


def test_properties_and_pairs_can_be_selected(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--property", "deterministic", "--property", "order-kept", "--pair", "v1:v2", "--examples", "7")
    assert prove(crd, "lossy", *options) == 0
    out = capsys.readouterr().out
    assert out.startswith("               v1 to v2\norder-kept     ok\ndeterministic  ok\n")
    assert "(7 objects, 1 pair of versions, seed 0," in out


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
    assert "(11 objects," in capsys.readouterr().out


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
