"""Notices when files such as certificates and token files change, so that the server reads them again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

_INTERVAL_SECONDS = 5.0


class FileWatcher:
    """Calls `changed` if a file was written, replaced, created or deleted.

    It compares the files' times, sizes and inodes every few seconds. This works on every file system, and with the
    symbolic links by which Kubernetes replaces mounted Secrets.
    """

    def __init__(
        self, files: Iterable[Path], changed: Callable[[], None], *, interval: float = _INTERVAL_SECONDS
    ) -> None:
        self._files = tuple(files)
        self._changed = changed
        self._interval = interval
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._files:
            self._task = asyncio.create_task(self._watch(self._states()))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _watch(self, states: list[tuple[int, ...]]) -> None:
        while True:
            await asyncio.sleep(self._interval)
            current = self._states()
            if current != states:
                states = current
                self._changed()

    def _states(self) -> list[tuple[int, ...]]:
        return [_state(file) for file in self._files]


def _state(file: Path) -> tuple[int, ...]:
    """Return values that differ after every change of a file. Return () if the file does not exist."""
    try:
        status = file.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino
