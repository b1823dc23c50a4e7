from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from polykind.cli import main
from tests.declare.test_rules_carry_themselves import NUMBER, TEXT, manifest


@pytest.fixture
def crd(tmp_path: Path) -> Path:
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(manifest({"cronSpec": TEXT, "a": NUMBER}, {"cronSchedule": TEXT, "a": TEXT}, "x")))
    return file


def test_diff(crd: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "diff.html"
    assert main(["diff", str(crd), "v1", "v2", "--html", str(page)]) == 0
    out = capsys.readouterr().out
    assert "moved?   spec.cronSpec  probably spec.cronSchedule" in out
    assert "changed  spec.a         type: integer to string" in out
    assert out.splitlines()[-1] == "Test.example.com, v1 to v2: 2 differences"
    assert "spec.cronSchedule" in page.read_text()
    assert main(["diff", str(crd), "v1", "v2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [each["kind"] for each in report["differences"]] == ["moved", "changed"]
    assert main(["diff", str(crd), "v1", "v3"]) == 2
    assert "has no version v3, only v1, v2" in capsys.readouterr().err


def test_suggest_writes_a_file_that_prove_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crd = tmp_path / "crd.yaml"
    crd.write_text(yaml.safe_dump(manifest({"cronSpec": TEXT}, {"cronSchedule": TEXT}, "optional")))
    rules = tmp_path / "rules.yaml"
    assert main(["suggest", str(crd), "v1", "v2", "--output", str(rules), "--examples", "5"]) == 0
    assert "1 rules, 1 decisions to make; the draft passes its proof" in capsys.readouterr().err
    assert main(["suggest", str(crd), "v1", "v2", "--output", str(rules)]) == 2
    assert main(["suggest", str(crd), "v1", "v2", "--python", "--examples", "5"]) == 0
    assert "move('spec.cronSpec', 'spec.cronSchedule')" in capsys.readouterr().out


def test_suggest_says_where_a_draft_fails(crd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", str(crd), "v1", "v2", "--examples", "5"]) == 1
    out, err = capsys.readouterr()
    assert "# DECIDE: spec.a is integer in v1 and string in v2" in out
    assert "# FAILS ITS PROOF: " in out
    assert "fail the proof" in err
