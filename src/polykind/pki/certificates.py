"""The certificates of the first start. Those that were found good are known by their digest at the next ones."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from polykind.pki.private_files import write_private

_FILES = ("ca.crt", "ca.key", "apiserver.crt", "apiserver.key")


def ensure(folder: Path, names: list[str], now: datetime) -> tuple[Path, Path, Path]:
    """Make what is missing, unfit or about to expire; the paths of the certificate, its key and the CA."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not _known(folder, names, now):
        # Reading and making certificates takes a library that takes longer to import than the rest to start.
        from polykind.pki.authority import issue

        until = issue(folder, names, now)
        known = {"digest": _digest(folder), "names": names, "until": until.isoformat()}
        # A folder that can only be read is looked at each time.
        with suppress(OSError):
            write_private(folder / "known.json", json.dumps(known).encode() + b"\n")
    return folder / "apiserver.crt", folder / "apiserver.key", folder / "ca.crt"


def _known(folder: Path, names: list[str], now: datetime) -> bool:
    """Whether the certificates are those that were found good, for these names and this time."""
    try:
        known = json.loads((folder / "known.json").read_bytes())
        covered, until = set(known["names"]), datetime.fromisoformat(known["until"])
        return covered.issuperset(names) and now < until and known["digest"] == _digest(folder)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in _FILES:
        data = (folder / name).read_bytes()
        digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()
