"""The watcher calls back after changes of files, and only then."""

from __future__ import annotations

import asyncio
from pathlib import Path

from polykind.server.file_watcher import FileWatcher


async def test_written_replaced_and_deleted_files_are_noticed(tmp_path: Path) -> None:
    file, other, new = tmp_path / "a", tmp_path / "b", tmp_path / "new"
    file.write_text("1")
    changes = asyncio.Queue[bool]()
    watcher = FileWatcher([file, other], lambda: changes.put_nowait(True), interval=0.01)
    watcher.start()
    try:
        async with asyncio.timeout(20):
            file.write_text("12")
            await changes.get()
            new.write_text("34")
            new.rename(file)
            await changes.get()
            other.write_text("x")
            await changes.get()
            file.unlink()
            await changes.get()
        assert changes.empty()
    finally:
        await watcher.close()
