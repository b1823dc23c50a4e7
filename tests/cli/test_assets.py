"""`polykind assets`: the launchers that it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import polykind
from polykind.cli import main
from polykind.cli.assets import launcher_scripts, write_launchers


def test_the_command_writes_executable_launchers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "new" / "assets"
    assert main(["assets", str(directory)]) == 0
    assert capsys.readouterr().out == f"export KUBEBUILDER_ASSETS={directory}\n"
    for name in ("kube-apiserver", "etcd"):
        done = subprocess.run([directory / name, "--help"], capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_launchers_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "etcd").write_text("old")
    write_launchers(tmp_path)
    write_launchers(tmp_path)
    assert (tmp_path / "etcd").read_text().startswith("#!")
    assert {path.name for path in tmp_path.iterdir()} <= {"etcd", "kube-apiserver", "kubectl"}


def test_kubectl_is_linked_if_it_is_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "kubectl").write_text("#!/bin/sh\n")
    (programs / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    write_launchers(tmp_path / "with")
    assert (tmp_path / "with" / "kubectl").resolve() == programs / "kubectl"
    monkeypatch.setenv("PATH", str(tmp_path))
    write_launchers(tmp_path / "without")
    assert not (tmp_path / "without" / "kubectl").exists()


def test_a_directory_that_cannot_be_created_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["assets", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith("polykind assets: ")


@pytest.mark.parametrize("folder", ["with space", "it's", "x" * 140])
def test_scripts_work_with_any_path_of_the_interpreter(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    python = tmp_path / folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    for name, text in launcher_scripts(str(python)).items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
        assert subprocess.run([tmp_path / name, "--help"], capture_output=True, timeout=60).returncode == 0


def test_the_etcd_launcher_needs_no_installed_package(tmp_path: Path) -> None:
    write_launchers(tmp_path)
    # The interpreter runs without site-packages, and environment variables do not change its path.
    environment = {"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}
    (tmp_path / "socket.py").write_text("raise ImportError")
    done = subprocess.run([tmp_path / "etcd", "--version"], capture_output=True, env=environment, timeout=60)
    assert done.stdout.startswith(b"etcd Version: ")


def test_modules_without_current_bytecode_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "module.py").write_text("VALUE = 1\n")
    (package / "invalid.py").write_text("1 +\n")
    monkeypatch.setattr(polykind, "__file__", str(package / "__init__.py"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    write_launchers(tmp_path / "assets")
    compiled = {path.name.partition(".")[0] for path in (package / "__pycache__").iterdir()}
    assert compiled == {"__init__", "module"}
