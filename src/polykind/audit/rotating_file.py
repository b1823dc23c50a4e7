"""A log file that is rotated by size. Rotated files are removed by age and number, and optionally compressed.

File names are those that kube-apiserver uses: audit.log becomes audit-2026-01-31T10-20-30.400.log.
"""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

log = logging.getLogger("polykind.audit")

_STAMP = "%Y-%m-%dT%H-%M-%S.%f"
_GZIP = ".gz"
_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Rotation:
    """When to rotate a file and which rotated files to keep. 0 stands for no limit."""

    max_bytes: int = 0
    max_backups: int = 0
    max_days: int = 0
    compress: bool = False


class RotatingFile:
    """A log file that one thread appends to."""

    def __init__(self, path: Path, rotation: Rotation, now: Callable[[], datetime]) -> None:
        """Create the file and its directory. Raise OSError if the file cannot be written."""
        self._path = path
        self._rotation = rotation
        self._now = now
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._cleaning: threading.Thread | None = None
        self._descriptor = -1
        self._size = 0
        self._open()

    def write(self, lines: Sequence[bytes]) -> None:
        """Append lines. Rotate the file before a line that would make it too long. Raise OSError on failure.

        A line that is longer than the limit gets a file of its own, so that no event is lost.
        """
        if self._descriptor < 0:
            self._open()
        limit, batch, size = self._rotation.max_bytes, list[bytes](), self._size
        for line in lines:
            if limit and size and size + len(line) > limit:
                self._append(batch)
                self._rotate()
                batch, size = [], 0
            batch.append(line)
            size += len(line)
        self._append(batch)

    def close(self) -> None:
        """Close the file, and wait until rotated files are compressed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._cleaning is not None:
            self._cleaning.join()

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, _MODE)
        self._size = os.fstat(self._descriptor).st_size

    def _append(self, batch: Sequence[bytes]) -> None:
        data = memoryview(b"".join(batch))
        while data:
            written = os.write(self._descriptor, data)
            self._size += written
            data = data[written:]

    def _rotate(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1
        time = self._now().astimezone(UTC)
        while (backup := self._backup_path(time)).exists() or backup.with_name(backup.name + _GZIP).exists():
            time += timedelta(milliseconds=1)
        self._path.rename(backup)
        self._open()
        if self._cleaning is not None:
            self._cleaning.join()
        # Compressing a file takes seconds, and events must not wait for that.
        self._cleaning = threading.Thread(target=self._clean, name="audit-log-cleaning", daemon=True)
        self._cleaning.start()

    def _backup_path(self, time: datetime) -> Path:
        # Milliseconds are the first three digits of the fraction.
        return self._path.with_name(f"{self._path.stem}-{time.strftime(_STAMP)[:-3]}{self._path.suffix}")

    def _backups(self) -> list[tuple[datetime, Path]]:
        """Return the rotated files with their times, the newest first."""
        found, prefix = [], f"{self._path.stem}-"
        for file in self._path.parent.iterdir():
            name = file.name.removesuffix(_GZIP)
            if name.startswith(prefix) and name.endswith(self._path.suffix):
                try:
                    stamp = name[len(prefix) : len(name) - len(self._path.suffix)]
                    found.append((datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC), file))
                except ValueError:
                    continue
        return sorted(found, reverse=True)

    def _clean(self) -> None:
        """Remove rotated files that are too old or too many, and compress the others."""
        rotation = self._rotation
        oldest = self._now() - timedelta(days=rotation.max_days)
        try:
            for number, (time, file) in enumerate(self._backups()):
                if (rotation.max_backups and number >= rotation.max_backups) or (rotation.max_days and time < oldest):
                    file.unlink(missing_ok=True)
                elif rotation.compress and file.suffix != _GZIP:
                    _compress(file)
        except OSError as error:
            log.error("audit: cannot remove or compress rotated files of %s, trying again later: %s", self._path, error)


def _compress(file: Path) -> None:
    partial = file.with_name(f".{file.name}.partial")
    descriptor = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, _MODE)
    with os.fdopen(descriptor, "wb") as target, gzip.GzipFile("", "wb", 6, target) as out, file.open("rb") as source:
        shutil.copyfileobj(source, out, 1024 * 1024)
    partial.rename(file.with_name(file.name + _GZIP))
    file.unlink()


class StandardOutput:
    """The standard output as a log."""

    def write(self, lines: Sequence[bytes]) -> None:
        data = memoryview(b"".join(lines))
        while data:
            data = data[os.write(1, data) :]

    def close(self) -> None:
        """Do nothing: the standard output stays open."""
