"""tools/create_environment: which interpreter it chooses, and that its environment has pip."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "create_environment"


@pytest.fixture
def tool() -> ModuleType:
    module = ModuleType("create_environment")
    SourceFileLoader(module.__name__, str(TOOL)).exec_module(module)
    return module


def interpreter(folder: Path, name: str, seconds: float, *, works: bool = True) -> str:
    """Write a program that behaves as an interpreter which needs this time for the measured program."""
    program = folder / name
    program.write_text(f"#!/bin/sh\n{f'echo {seconds} {program}' if works else 'exit 1'}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("default", "other", "chosen"),
    [(1.0, 0.5, "other"), (1.0, 0.95, "default"), (1.0, 2.0, "default")],
    ids=["clearly-faster", "hardly-faster", "slower"],
)
def test_default_is_used_unless_another_is_clearly_faster(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, default: float, other: float, chosen: str
) -> None:
    names = (interpreter(tmp_path, "default", default), interpreter(tmp_path, "other", other))
    monkeypatch.setattr(tool, "_NAMES", names)
    assert tool.choose_python() == str(tmp_path / chosen)


def test_unsupported_and_missing_interpreters_are_skipped(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = interpreter(tmp_path, "broken", 0.1, works=False)
    monkeypatch.setattr(tool, "_NAMES", (broken, str(tmp_path / "missing"), interpreter(tmp_path, "other", 1.0)))
    assert tool.choose_python() == str(tmp_path / "other")
    monkeypatch.setattr(tool, "_NAMES", (broken,))
    assert tool.choose_python() is None


def test_running_interpreter_is_supported(tool: ModuleType) -> None:
    seconds, executable = tool._measure(sys.executable)
    assert seconds > 0
    assert executable == os.path.realpath(sys.executable)


def test_environment_of_the_given_interpreter_has_pip(tmp_path: Path) -> None:
    directory = tmp_path / "environment"
    subprocess.run([sys.executable, TOOL, directory, sys.executable], check=True)
    versions = subprocess.run([directory / "bin" / "python", "-m", "pip", "--version"], capture_output=True, check=True)
    assert str(directory).encode() in versions.stdout
