"""The temporary data directory of an ephemeral server."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "polykind-ephemeral-"
_LOCK = "in-use.lock"
_MIN_AGE_SECONDS = 60.0
"""Seconds before a directory may be removed as abandoned. Until then, its process may not have locked it yet."""


@contextmanager
def ephemeral_directory() -> Iterator[Path]:
    """Yield a new temporary directory for a server's data, and remove the directory when the `with` block ends.

    Some test tools kill their servers, and a killed server cannot remove its directory. Therefore each call also
    removes the directories of earlier servers that no longer run.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    newest = time.time() - _MIN_AGE_SECONDS
    for directory in parent.glob(f"{_PREFIX}*"):
        # Ignore directories of other users, and those that another process removes at the same time.
        with suppress(OSError):
            if directory.stat().st_uid == os.getuid() and directory.stat().st_mtime < newest and _is_unused(directory):
                shutil.rmtree(directory, ignore_errors=True)


def _is_unused(directory: Path) -> bool:
    """True if no process holds the lock of the directory."""
    try:
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
