"""`polykind serve` in an altered environment, which files in the data directory describe.

python -m tests.histories.altered_server DATA_DIR serve --data-dir=DATA_DIR ...

- fail-sync: while it exists, fsync fails with EIO.
- clock: the number of seconds by which the clock of the machine seems to be set wrong.
- keep: the number of revisions of history that the embedded store keeps, instead of 10,000.
- bug: the name of a bug of the server that the checker must find.
"""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from polykind.cache.resource_cache import ResourceCache
from polykind.cache.watch_channel import WatchChannel
from polykind.cache.watcher import Watcher
from polykind.cli import main
from polykind.clock import SystemClock
from polykind.server import server
from polykind.store.sqlite import SqliteStore

BUGS = ("lost event", "repeated event", "stale read", "double write")
_BUG_RATE = 0.1


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


def content(file: Path) -> str:
    """Return the text of a file, or "" if there is none."""
    with suppress(OSError):
        return file.read_text()
    return ""


def shifted_now(file: Path) -> datetime:
    """Return the time of the machine's clock, shifted by the number of seconds in a file."""
    return datetime.now(UTC) + timedelta(seconds=float(content(file) or 0))


class Bugs:
    """The server with a bug, while a file names one."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._chance = random.Random(0)
        self._older: dict[str, Any] = {}
        self._latest: dict[str, Any] = {}

    def strikes(self, name: str) -> bool:
        return content(self._file) == name and self._chance.random() < _BUG_RATE

    def install(self) -> None:
        on_changes, deliver, get, put = WatchChannel.on_changes, Watcher.deliver, ResourceCache.get, SqliteStore.put

        def lossy_on_changes(channel: Any, changes: Any) -> None:
            on_changes(channel, [] if self.strikes("lost event") else changes)

        def repeating_deliver(watcher: Any, chunk: bytes) -> None:
            deliver(watcher, chunk * 2 if self.strikes("repeated event") else chunk)

        def stale_get(cache: Any, key: str) -> Any:
            found = get(cache, key)
            latest = self._latest.get(key)
            if latest is not found:
                self._older[key], self._latest[key] = latest, found
            return self._older[key] if found is not None and self.strikes("stale read") and self._older[key] else found

        async def repeating_put(store: Any, key: str, value: bytes, *, expect: int | None) -> int:
            revision = await put(store, key, value, expect=expect)
            if expect and "/registers/" in key and self.strikes("double write"):
                await put(store, key, value, expect=revision)
            return revision

        WatchChannel.on_changes = lossy_on_changes  # type: ignore[method-assign,assignment]
        Watcher.deliver = repeating_deliver  # type: ignore[method-assign,assignment]
        ResourceCache.get = stale_get  # type: ignore[method-assign,assignment]
        SqliteStore.put = repeating_put  # type: ignore[method-assign,assignment]


def alter(folder: Path) -> object:
    """Alter this process. Return what must live as long as the server."""
    SystemClock.now = lambda self: shifted_now(folder / "clock")  # type: ignore[method-assign]
    if keep := content(folder / "keep"):
        server.SqliteStore = partial(SqliteStore, keep=int(keep))  # type: ignore[assignment,attr-defined]
    if (folder / "bug").exists():
        Bugs(folder / "bug").install()
    return FailingVFS(folder / "fail-sync")


if __name__ == "__main__":
    vfs = alter(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
