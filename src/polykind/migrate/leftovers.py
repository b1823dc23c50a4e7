"""What keeps a version from being removed, for who reads the server's log."""

from __future__ import annotations


def explanation(crd: str, version: str, count: int, first: str) -> str:
    """Why a version cannot be removed yet, and what to do about it."""
    if count:
        objects = "1 object is" if count == 1 else f"{count} objects are"
        what = f"{objects} still stored at it, the first is {first}"
    else:
        what = "no object is stored at it any more, but status.storedVersions still has it"
    resource, _, group = crd.partition(".")
    return (
        f"version {version} of {crd} cannot be removed yet: {what}; create a StorageVersionMigration "
        f"for the resource {resource} of the group {group}: it rewrites what is left, then takes {version} "
        "out of status.storedVersions"
    )
