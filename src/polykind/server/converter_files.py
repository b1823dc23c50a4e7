"""The converters of --converter flags, and their files, which are read again when they change."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from polykind.server.file_watcher import FileWatcher
from polykind.server.settings import SettingsError

if TYPE_CHECKING:
    from polykind.declare.library import Library

log = logging.getLogger("polykind.converters")

Handles = Callable[[str, str], bool]
"""A function of group and kind that returns True for the kinds whose conversions may have changed."""


class ConverterFiles:
    """Rules files and Python modules that convert in this process. A file that is broken changes nothing."""

    def __init__(self, specs: Sequence[str]) -> None:
        """Load the converters. Raise SettingsError if one cannot be loaded."""
        self.libraries: list[Library] = []
        self._digests: list[bytes] = []
        self._changed: Callable[[Handles], None] = lambda _: None
        self._watcher: FileWatcher | None = None
        self._task: asyncio.Task[None] | None = None
        if not specs:
            return
        from polykind.conversion.loading import load_converter

        for spec in specs:
            try:
                self.libraries.append(load_converter(spec))
            except ValueError as error:
                raise SettingsError(str(error)) from None
            self._digests.append(_digest(spec))

    def start(self, changed: Callable[[Handles], None]) -> None:
        """Watch the files. `changed` is called with the kinds of a converter that was loaded again."""
        self._changed = changed
        if self.libraries:
            from polykind.conversion.loading import converter_file

            files = [file for library in self.libraries if (file := converter_file(library.spec)) is not None]
            self._watcher = FileWatcher(files, self.reload)
            self._watcher.start()

    async def close(self) -> None:
        if self._watcher is not None:
            await self._watcher.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def reload(self) -> None:
        """Load the converters again whose files have changed, in the background."""
        if self.libraries:
            self._task = asyncio.get_running_loop().create_task(self._reload(self._task))

    async def _reload(self, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await asyncio.wait({previous})
        for index in range(len(self.libraries)):
            await self._reload_one(index)

    async def _reload_one(self, index: int) -> None:
        from polykind.conversion.loading import load_converter

        before = self.libraries[index]
        digest = await asyncio.to_thread(_digest, before.spec)
        if digest == self._digests[index]:
            return
        self._digests[index] = digest
        try:
            after = await asyncio.to_thread(load_converter, before.spec, again=True)
        except ValueError as error:
            log.error("converters: the changed file is not used, the previous conversions stay: %s", error)
            return
        self.libraries[index] = after
        log.info("converters: read --converter %s again", before.spec)
        self._changed(lambda group, kind: before.handles(group, kind) or after.handles(group, kind))


def _digest(spec: str) -> bytes:
    """Return a digest of the content of a converter's file, or b"" if it cannot be read."""
    from polykind.conversion.loading import converter_file

    file = converter_file(spec)
    try:
        return hashlib.sha256(file.read_bytes()).digest() if file is not None else b""
    except OSError:
        return b""
