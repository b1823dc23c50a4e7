"""`polykind serve` whose fsync fails with EIO while the file `fail-sync` exists in the data directory.

python -m tests.robustness.failing_sync DATA_DIR serve --data-dir=DATA_DIR ...
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import apsw

from polykind.cli import main


class FailingVFS(apsw.VFS):
    """The default VFS, with files whose syncs can fail."""

    def __init__(self, switch: Path) -> None:
        self.switch = switch
        super().__init__("failing", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> FailingFile:
        return FailingFile(self.switch, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, switch: Path, name: Any, flags: Any) -> None:
        self.switch = switch
        super().__init__("unix", name, flags)

    def xSync(self, flags: int) -> None:
        if self.switch.exists():
            error = apsw.IOError("the disk failed")
            error.extendedresult = apsw.SQLITE_IOERR_FSYNC  # type: ignore[attr-defined]
            raise error
        super().xSync(flags)


if __name__ == "__main__":
    vfs = FailingVFS(Path(sys.argv[1]) / "fail-sync")
    sys.exit(main(sys.argv[2:]))
