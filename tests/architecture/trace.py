"""A tracer of the source files that a request enters."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import polykind

SOURCE = Path(polykind.__file__).parent


class Tracer:
    """Records the files of src/polykind whose functions run, in the order of first entry, in all threads.

    It must be installed before the server starts: a thread that runs already cannot be traced. Code that runs while
    a module is imported does not count.
    """

    def __init__(self) -> None:
        self._recorded: dict[str, None] | None = None
        self._codes: set[CodeType] = set()
        self.functions = 0
        """The number of named functions that the last recorded walk has entered."""
        self._names: dict[str, str | None] = {}

    @contextmanager
    def installed(self) -> Iterator[None]:
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @contextmanager
    def recording(self) -> Iterator[list[str]]:
        """Yield a list that holds, after the block, the files relative to src/polykind."""
        files: list[str] = []
        self._recorded = {}
        self._codes.clear()
        try:
            yield files
        finally:
            files += self._recorded
            self._recorded = None
            self.functions = sum(not code.co_name.startswith("<") for code in self._codes)

    def _on_event(self, frame: FrameType, event: str, _: Any) -> None:
        recorded = self._recorded
        if recorded is None or event != "call":
            return
        code = frame.f_code
        name = self._name(code.co_filename)
        if name is not None and code not in self._codes and not _is_import(frame):
            self._codes.add(code)
            recorded[name] = None

    def _name(self, filename: str) -> str | None:
        if filename not in self._names:
            path = Path(filename)
            self._names[filename] = str(path.relative_to(SOURCE)) if path.is_relative_to(SOURCE) else None
        return self._names[filename]


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
