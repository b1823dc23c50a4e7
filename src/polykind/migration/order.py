"""Which migration comes next: one at a time for each resource, the oldest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.migration.state import RUNNING, ended, holds


class GroupResource(NamedTuple):
    """What is migrated."""

    group: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def resource_of(migration: JsonObject) -> GroupResource:
    stated = migration["spec"]["resource"]
    return GroupResource(stated["group"], stated["resource"])


def unfinished(migration: JsonObject) -> bool:
    """Whether something is still to be done about a migration, if only to say that it does not run any more."""
    status = migration.get("status") or {}
    return holds(status, RUNNING) or not ended(status)


def following(migrations: Iterable[JsonObject]) -> JsonObject | None:
    """The migration of a resource to see to now: what has begun comes before what waits."""
    return min((m for m in migrations if unfinished(m)), key=_rank, default=None)


def _rank(migration: JsonObject) -> tuple[bool, bool, str, str]:
    status, meta = migration.get("status") or {}, migration["metadata"]
    return not ended(status), not holds(status, RUNNING), meta.get("creationTimestamp") or "", meta["name"]
