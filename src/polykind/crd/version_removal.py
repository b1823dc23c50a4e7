"""Reasons why a version cannot be removed from its CRD yet."""

from __future__ import annotations

from typing import NamedTuple


class ObjectCount(NamedTuple):
    """A number of objects, and the key (namespace/name) of the first one."""

    total: int = 0
    first: str = ""

    def describe(self, phrase: str) -> str:
        """Return a sentence such as "1 object, default/a, is still stored at it".

        `phrase` is the end of the sentence, in which `{0}` is replaced by is or are, and `{1}` by has or have.
        """
        if self.total == 1:
            return f"1 object, {self.first}, {phrase.format('is', 'has')}"
        return f"{self.total} objects, the first is {self.first}, {phrase.format('are', 'have')}"


def removal_blockers(
    crd: str, version: str, *, storage: str, listed: bool, stored: ObjectCount, managed: ObjectCount, clients: int
) -> list[str]:
    """Return the reasons why a version of a CRD cannot be removed yet, each with its remedy. Fix them in this order.

    `storage` is the CRD's storage version. `listed` is true if `version` is in status.storedVersions. `stored` counts
    the objects stored at the version, and `managed` the objects with managedFields at the version. `clients` is the
    number of clients that have requested the version.
    """
    blockers = []
    if version == storage:
        blockers.append("it is the storage version: make another one the storage version")
    if stored.total or (listed and version != storage):
        blockers.append(stored_version_blocker(crd, version, stored))
    if managed.total:
        blockers.append(
            f"{managed.describe('{1} field managers at it')}: without this version they cannot be applied to, and any "
            "other write drops this field ownership; let these managers write the objects at another version"
        )
    if clients:
        clients_have = "1 client has" if clients == 1 else f"{clients} clients have"
        blockers.append(
            f"{clients_have} requested it: such requests would fail with 404; first stop serving the version, which is "
            "easy to undo"
        )
    return blockers


def stored_version_blocker(crd: str, version: str, stored: ObjectCount) -> str:
    """Return the reason why a version is still in status.storedVersions, with the remedy."""
    if stored.total:
        phrase = stored.describe("{0} still stored at it")
    else:
        phrase = "no object is stored at it, but it is still in status.storedVersions"
    resource, _, group = crd.partition(".")
    return (
        f"{phrase}: create a StorageVersionMigration for the resource {resource} of the group {group}, which rewrites "
        f"the remaining objects and then removes {version} from status.storedVersions"
    )
