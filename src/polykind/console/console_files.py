"""The built files of the console, compressed with gzip when they are built."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

INDEX: Final = "index.html"
_HASHED_FOLDER: Final = "assets"
"""The folder of files whose names contain a hash of their content."""
_CONTENT_TYPES: Final = {
    "css": b"text/css; charset=utf-8",
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
    "woff2": b"font/woff2",
}


class ConsoleFile:
    """One file: its compressed content, its type and its ETag."""

    __slots__ = ("compressed", "content_type", "etag", "immutable")

    def __init__(self, name: str, compressed: bytes) -> None:
        self.compressed = compressed
        self.content_type = _CONTENT_TYPES[name.rpartition(".")[2]]
        self.etag = hashlib.sha256(compressed).hexdigest()[:32]
        self.immutable = name.startswith(f"{_HASHED_FOLDER}/")
        """True if a new content gets a new name, so that browsers can keep the file forever."""

    @property
    def content(self) -> bytes:
        """The content for clients that do not accept gzip."""
        return gzip.decompress(self.compressed)


def load_files(folder: Traversable | None = None) -> Mapping[str, ConsoleFile]:
    """Return the built files by their paths below /console/. Return no files if the console is not built.

    Requests are looked up in this table, so that no path of a request reaches the file system.
    """
    folder = files("polykind.console") / "built" if folder is None else folder
    if not folder.is_dir():
        return {}
    found = {name: entry for name, entry in _walk(folder, "") if name.rpartition(".")[2] in _CONTENT_TYPES}
    return {name: ConsoleFile(name, entry.read_bytes()) for name, entry in found.items()}


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    out: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            out += _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".gz"):
            out.append((prefix + entry.name.removesuffix(".gz"), entry))
    return out
