"""What stands in the way of removing a version from its definition."""

from __future__ import annotations

from typing import NamedTuple


class Found(NamedTuple):
    """Objects of which something is true: how many, and the key of the first."""

    number: int = 0
    first: str = ""

    def told(self, what: str) -> str:
        if self.number == 1:
            return f"1 object, {self.first}, {what.format('is', 'has')}"
        return f"{self.number} objects, the first is {self.first}, {what.format('are', 'have')}"


def hindrances(
    crd: str, version: str, *, storage: str, listed: bool, stored: Found, managed: Found, clients: int
) -> list[str]:
    """Why a version should not be removed yet, each with what to do about it, in the order in which to do it.

    `listed`: status.storedVersions has it; `stored`: what is stored at it; `managed`: what has field managers at it;
    `clients`: how many have asked for it, and still may.
    """
    found = []
    if version == storage:
        found.append("it is the storage version: make another one the storage version")
    if stored.number or (listed and version != storage):
        found.append(leftovers(crd, version, stored))
    if managed.number:
        found.append(
            f"{managed.told('{1} field managers at it')}: once it is gone they cannot be applied to, and any other "
            "write forgets who manages what; have these managers write them at another version"
        )
    if clients:
        asked = "1 client has" if clients == 1 else f"{clients} clients have"
        found.append(
            f"{asked} asked for it: whoever does so once it is gone is answered 404; stop serving it first, which is "
            "soon undone"
        )
    return found


def leftovers(crd: str, version: str, stored: Found) -> str:
    """That a version is still in use, or said to be, in the store."""
    if stored.number:
        what = stored.told("{0} still stored at it")
    else:
        what = "no object is stored at it any more, but status.storedVersions still has it"
    resource, _, group = crd.partition(".")
    return (
        f"{what}: create a StorageVersionMigration for the resource {resource} of the group {group}, which rewrites "
        f"what is left and then takes {version} out of status.storedVersions"
    )
