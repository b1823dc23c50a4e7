from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polykind.cli import main
from tests.toolkit.declare.test_rules_file import DOCUMENT
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
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["one.json", "v1*", "1", "object,", "migrated", "to", "v1", "ok"],
        ["two.json", "v1", "v2*", "1", "object,", "migrated", "to", "v2", "ok"],
        ["no", "unacknowledged", "loss"],
    ]


def test_findings_are_printed_and_exit_with_1(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rehearse(directory, "one.json", "two.json") == 1
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
