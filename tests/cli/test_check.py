from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from polykind.cli import main
from polykind.contract import JsonObject
from tests.evolution.crds import add_version, changed, fields, manifest
from tests.toolkit.proving.local_webhook import CA, served


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old.yaml", manifest())


def write(file: Path, crd: JsonObject) -> Path:
    file.write_text(yaml.safe_dump(crd, sort_keys=False))
    return file


def narrow(crd: JsonObject) -> None:
    fields(crd)["replicas"]["maximum"] = 5
    fields(crd)["host"]["default"] = "localhost"


def objects(file: Path, *specs: Any) -> Path:
    lines = [
        {
            "apiVersion": "stable.example.com/v1",
            "kind": "CronTab",
            "metadata": {"name": f"c{number}", "namespace": "default"},
            "spec": {"schedule": "* * * * *", **spec},
        }
        for number, spec in enumerate(specs)
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


def test_a_breaking_change(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = write(tmp_path / "new.yaml", changed(narrow))
    line = new.read_text().splitlines().index("                maximum: 5") + 1
    real = objects(tmp_path / "objects.jsonl", {"replicas": 3}, {"replicas": 30})
    assert main(["check", str(old), str(new), "--objects", str(real)]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert f"{new}:{line}" in out
    assert "maximum of spec.replicas changed from 100 to 5" in out
    assert "1 become invalid" in out
    assert "CronTab default/c1: spec.replicas" in out
    assert "2 objects, 3 effects" in out.splitlines()[-1]


def test_no_change_and_a_harmless_change(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = write(tmp_path / "new.yaml", changed(lambda crd: fields(crd).update(zone={"type": "string"})))
    assert main(["check", str(old), str(new)]) == 0
    assert capsys.readouterr().out == "1 CRD checked: 0 breaking, 0 dangerous, 0 info\n"
    assert main(["check", str(new)]) == 0


def test_severities_and_accepted_findings(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = write(tmp_path / "new.yaml", changed(narrow))
    accept = tmp_path / "accept.yaml"
    accept.write_text("accept: [{finding: limit-narrowed, why: nobody has more than five}]")
    words = ["check", str(old), str(new), "--accept", str(accept)]
    assert main(words) == 0
    assert "accepted: nobody has more than five" in capsys.readouterr().out
    assert main([*words, "--fail-on", "dangerous"]) == 1
    accept.write_text("accept: [{finding: limit-narrowed}]")
    assert main(words) == 2
    assert "accept[0] must have finding and why" in capsys.readouterr().err


def test_reports_for_machines(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = write(tmp_path / "new.yaml", changed(narrow))
    real = objects(tmp_path / "objects.jsonl", {"replicas": 30, "host": "a"})
    files = {name: tmp_path / f"report.{name}" for name in ("html", "sarif", "junit")}
    flags = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    assert main(["check", str(old), str(new), "--objects", str(real), "--json", *flags]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [(each["finding"], each["severity"], each["path"]) for each in report["findings"]] == [
        ("limit-narrowed", "breaking", "spec.replicas"),
        ("default-added", "dangerous", "spec.host"),
    ]
    assert report["objects"]["crontabs.stable.example.com"]["counts"] == {"invalid": 1}
    results = json.loads(files["sarif"].read_text())["runs"][0]["results"]
    assert [each["ruleId"] for each in results] == ["limit-narrowed", "default-added", "objects-invalid"]
    assert results[0]["locations"][0]["physicalLocation"]["region"]["startLine"] > 1
    suite = ElementTree.fromstring(files["junit"].read_text())
    assert suite.get("failures") == "2"
    page = files["html"].read_text()
    assert "This change breaks users." in page
    assert "spec.replicas" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.yaml"], "missing.yaml: no such file"),
        (["a", "b", "c"], "expected OLD and NEW"),
        (["OLD", "OLD", "--objects", "missing"], "missing: No such file"),
        (["OLD", "OLD", "--html", "/missing/report.html"], "--html"),
        (["OLD", "OLD", "--converter", "missing:x"], "--converter missing:x"),
    ],
)
def test_invalid_usage(old: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *(str(old) if word == "OLD" else word for word in words)]) == 2
    assert message in capsys.readouterr().err


def test_objects_that_a_webhook_cannot_convert(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def spoil(request: JsonObject, response: JsonObject) -> None:
        if any(obj["metadata"]["name"] == "c1" for obj in request["objects"]):
            response["result"] = {"status": "Failed", "message": "too bad"}
            response["convertedObjects"] = []

    new = write(tmp_path / "new.yaml", changed(lambda crd: add_version(crd)))
    real = objects(tmp_path / "objects.jsonl", {}, {}, {})
    ca = tmp_path / "ca.pem"
    ca.write_bytes(CA.cert_pem.bytes())
    with served(spoil) as port:
        url = f"https://localhost:{port}/convert"
        words = ["check", str(old), str(new), "--objects", str(real), "--webhook", url, "--ca", str(ca)]
        assert main(words) == 1
    out = capsys.readouterr().out
    assert "1 cannot be converted" in out
    assert "too bad" in out
    assert main([*words, "--converter", "a:b"]) == 2
    assert main(["check", str(old), str(new), "--ca", str(ca)]) == 2
