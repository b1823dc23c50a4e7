"""Files with secrets."""

from __future__ import annotations

import stat
from pathlib import Path

from polykind.pki.private_files import write_private


def test_write_private_is_atomic_and_sets_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "file"
    (tmp_path / "file.new").write_bytes(b"left by a crash")
    path.write_bytes(b"before")
    path.chmod(0o644)
    write_private(path, b"after")
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
