"""Temporary data directories: removed at the end, and after a kill by the next start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polykind.cli.ephemeral_directory import ephemeral_directory


@pytest.fixture(autouse=True)
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def make_old(directory: Path) -> None:
    os.utime(directory, (0, 0))


def test_the_directory_is_private_and_removed(temporary_files: Path) -> None:
    with ephemeral_directory() as directory:
        assert directory.parent == temporary_files
        assert directory.stat().st_mode & 0o777 == 0o700
    assert list(temporary_files.iterdir()) == []


@pytest.mark.parametrize("has_lock", [True, False])
def test_an_abandoned_directory_is_removed(temporary_files: Path, has_lock: bool) -> None:
    abandoned = temporary_files / "polykind-ephemeral-abandoned"
    abandoned.mkdir()
    if has_lock:
        (abandoned / "in-use.lock").touch()
    make_old(abandoned)
    with ephemeral_directory():
        assert not abandoned.exists()


def test_directories_in_use_new_or_of_other_programs_stay(temporary_files: Path) -> None:
    new, other = temporary_files / "polykind-ephemeral-new", temporary_files / "other"
    new.mkdir()
    other.mkdir()
    make_old(other)
    with ephemeral_directory() as used:
        make_old(used)
        with ephemeral_directory():
            assert used.exists()
            assert new.exists()
            assert other.exists()
