from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

from polykind.audit.rotating_file import RotatingFile, Rotation


class Time:
    def __init__(self) -> None:
        self.value = datetime(2026, 1, 31, 10, 20, 30, 400_000, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.value


def test_rotates_by_size_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.log"
    file = RotatingFile(path, Rotation(max_bytes=25), Time())
    lines = [b"line %03d\n" % number for number in range(10)]
    file.write(lines[:5])
    file.write(lines[5:])
    file.write([b"x" * 100 + b"\n"])
    file.close()
    backups = sorted(path.parent.glob("audit-*.log"))
    assert backups[0].name == "audit-2026-01-31T10-20-30.400.log"
    assert [len(one.read_bytes()) for one in backups] == [18] * 5
    assert b"".join(one.read_bytes() for one in backups) == b"".join(lines)
    assert path.read_bytes() == b"x" * 100 + b"\n"
    assert {one.stat().st_mode & 0o777 for one in path.parent.iterdir()} == {0o600}


def test_removes_old_files_and_compresses_the_others(tmp_path: Path) -> None:
    path, time = tmp_path / "audit.log", Time()
    file = RotatingFile(path, Rotation(max_bytes=5, max_backups=2, max_days=1, compress=True), time)
    for number in range(5):
        file.write([b"%05d" % number])
        time.value += timedelta(hours=1)
    file.close()
    backups = sorted(tmp_path.glob("audit-*"))
    assert [gzip.decompress(one.read_bytes()) for one in backups] == [b"00002", b"00003"]
    assert {one.suffix for one in backups} == {".gz"}
    time.value += timedelta(days=2)
    file = RotatingFile(path, Rotation(max_bytes=5, max_days=1, compress=True), time)
    file.write([b"00005"])
    file.close()
    # The file that was just rotated is the only one of the last day.
    assert [gzip.decompress(one.read_bytes()) for one in tmp_path.glob("audit-*")] == [b"00004"]


def test_appends_to_an_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(b"before\n")
    file = RotatingFile(path, Rotation(), Time())
    file.write([b"after\n"])
    file.close()
    assert path.read_bytes() == b"before\nafter\n"
