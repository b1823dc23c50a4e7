from __future__ import annotations

import json
from pathlib import Path

import pytest

from polykind.conversion.loading import load_converter
from tests.declare.test_conversions import KIND
from tests.declare.test_library import crontabs
from tests.declare.test_rules_file import DOCUMENT


def test_conversions_are_loaded_by_name() -> None:
    assert load_converter("tests.declare.test_library:crontabs").declared == {KIND: crontabs}


@pytest.mark.parametrize("name", ["crontabs.yaml", "crontabs.yml", "crontabs.json"])
def test_rules_file_is_loaded(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps(DOCUMENT))
    library = load_converter(str(tmp_path / name))
    assert library.declared is not None
    assert library.declared[KIND].versions == ["v1", "v2"]


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "yaml: "), ("[]", "the document must have between, kind"), ("kind: x", "the document must")],
)
def test_invalid_rules_file_is_rejected(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=f"--converter .*rules.yaml: {says}"):
        load_converter(str(file))


def test_missing_rules_file_is_reported() -> None:
    with pytest.raises(ValueError, match=r"--converter gone.yaml: .*No such file"):
        load_converter("gone.yaml")


@pytest.mark.parametrize(
    ("text", "says"), [("1 +", "SyntaxError: invalid syntax"), ("1 / 0", "ZeroDivisionError: div")]
)
def test_broken_module_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str) -> None:
    (tmp_path / "broken_conversions.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=f"--converter broken_conversions:x: {says}"):
        load_converter("broken_conversions:x")


def test_rules_name_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        f"kind: {KIND}\nbetween:\n- versions: [v1, v2]\n  rules:\n"
        "  - move: [spec.a, spec.b]\n  # comment\n  - first: [spec.c, spec.d]\n"
    )
    declared = load_converter(str(file)).declared
    assert declared is not None
    assert declared[KIND].named_paths == [
        ("v1", "spec.a", f"{file}:5"),
        ("v2", "spec.b", f"{file}:5"),
        ("v1", "spec.c", f"{file}:7"),
        ("v2", "spec.d", f"{file}:7"),
    ]
