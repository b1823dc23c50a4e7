"""The state file of a migration, from which an interrupted run continues."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from polykind.pki.private_files import write_private


@dataclass
class Journal:
    """The progress of a migration. It is valid for one storage version of one CRD on one server."""

    server: str
    crd_uid: str
    storage: str
    stored_versions: list[str] = field(default_factory=list)
    """The CRD's storedVersions at the start of the migration."""
    revision: str = ""
    """The resourceVersion at which the migration listed the objects first."""
    last: str = ""
    """The key of the last object that was handled."""
    token: str = ""
    """The continue token of the list after `last`."""
    rewritten: int = 0
    unchanged: int = 0
    repaired: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """The reasons why objects could not be rewritten, by namespace/name."""

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, json.dumps(asdict(self)).encode())


def load_journal(path: Path, server: str, crd_uid: str, storage: str) -> tuple[Journal | None, str]:
    """Return the journal of an interrupted run, or None and the reason why there is nothing to continue."""
    try:
        content = json.loads(path.read_bytes())
        journal = Journal(**content)
    except FileNotFoundError:
        return None, ""
    except (ValueError, TypeError, OSError) as error:
        return None, f"{path} is not a state file of a migration: {error}"
    if (journal.server, journal.crd_uid) != (server, crd_uid):
        return None, f"{path} belongs to another CRD or server"
    if journal.storage != storage:
        return None, f"the storage version has changed from {journal.storage} to {storage} since {path} was written"
    return journal, ""
