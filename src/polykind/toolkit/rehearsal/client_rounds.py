"""Rounds of old clients: each reads objects at its version, changes one field, and writes the objects back.

In a round, the clients of one version edit every object in one way (PUT, PATCH or server-side apply). A read at this
version must show the edit. Then the clients undo it, and all versions must be as before. So a conversion that drops a
field of another version on the way to the client is found. Some rounds use copies with values for all fields of a
version, because objects of an old release do not have the fields of a new version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.rehearsal.client_edits import (
    METHODS,
    Edit,
    Method,
    annotation_edit,
    apply_configuration,
    choose_edit,
    filled,
    merge_patch,
    touched,
)
from polykind.toolkit.rehearsal.rehearsal import Rehearsal, Snapshot, Stage, StageResult, name_of, readable
from polykind.toolkit.rehearsal.rehearsal_client import APPLY_PATCH, MERGE_PATCH, RehearsalError
from polykind.toolkit.rehearsal.rehearsal_finding import Finding

MAX_OBJECTS = 50
"""The maximum number of objects that clients edit. If there are more, the rehearsal takes some, evenly spaced."""
_MAX_COPIES = 20
"""The maximum number of objects of which clients create copies with all fields of a version."""
_CONCURRENCY = 16

_T = TypeVar("_T")


class ClientRounds:
    """The rounds of one stage."""

    def __init__(self, rehearsal: Rehearsal, stage: Stage, outcome: StageResult) -> None:
        self._rehearsal = rehearsal
        self._stage = stage
        self._outcome = outcome
        self._paths: list[str] = []
        """The objects of the current rounds."""
        self._number = 0

    async def run(self) -> None:
        versions, paths = self._stage.served, self._rehearsal.paths
        baseline = await self._begin(_spread(paths, MAX_OBJECTS))
        for version in versions:
            for method in METHODS:
                await self._edit_and_undo(version, method, baseline)
        if len(versions) < 2:
            return
        for version in versions:
            await self._edit_while_others_write(version, baseline)
        for version in versions:
            copies = await self._create_copies(version, _spread(paths, _MAX_COPIES))
            baseline = await self._begin(copies)
            for other in versions:
                for method in METHODS if other is not version else ():
                    await self._edit_and_undo(other, method, baseline)
            await self._each(dict.fromkeys(copies), lambda path, _, at=version: self._delete(at, path))  # type: ignore[misc]

    async def _begin(self, paths: list[str]) -> Snapshot:
        """Begin rounds with these objects, and return their state.

        Leave out objects that cannot be read at some version. Reads before the rounds have reported them.
        """
        seen = await self._rehearsal.snapshot(self._stage, paths=paths)
        self._paths = [path for path in paths if all(path in objects for objects in seen.values())]
        return seen

    async def _create_copies(self, version: CRDVersion, paths: list[str]) -> list[str]:
        """Create a copy of each object with values for all fields of a version. Return their paths."""
        out: list[str] = []

        async def create(path: str, _: None) -> None:
            obj = await self._get(version, path)
            copy = filled(version, obj, self._number)
            collection, name = path.rpartition("/")[::2]
            kept = {k: v for k, v in obj["metadata"].items() if k in ("namespace", "labels", "annotations")}
            copy["metadata"] = {**kept, "name": f"{name}-with-all-of-{version.name}"}
            if version.validation_errors(copy):
                return  # The object is not valid as a new object. Reads before the rounds have reported it.
            await self._rehearsal.api.request("POST", f"/apis/{version.api_version}/{collection}", copy)
            created = f"{collection}/{copy['metadata']['name']}"
            out.append(created)
            self._rehearsal.compare(
                self._outcome,
                version.name,
                created,
                copy,
                await self._get(version, created),
                f" after a client at {version.name} created it",
                "clients",
                client=f"{version.name} (POST)",
                advice=self._keep_advice(version),
            )

        await self._each(dict.fromkeys(paths), create, version.name, version.name, verb="create a copy of it")
        return out

    async def _delete(self, version: CRDVersion, path: str) -> None:
        await self._rehearsal.api.request("DELETE", f"/apis/{version.api_version}/{path}")

    async def _edit_and_undo(self, version: CRDVersion, method: Method, baseline: Snapshot) -> None:
        client = f"{version.name} ({method})"
        edits = await self._edit(version, method, client)
        await self._check_edits(version, edits, client, f" after a client at {version.name} wrote it ({method})")
        await self._each(edits, lambda path, made: self._write(version, method, path, made[0], undo=True))
        when = f" after a client at {version.name} edited it and undid the edit ({method})"
        await self._check_unchanged(baseline, when, client, version.name)

    async def _edit_while_others_write(self, version: CRDVersion, baseline: Snapshot) -> None:
        """Edit objects at one version, let the clients of all other versions write them back, and look for the edit."""
        edits = await self._edit(version, "PATCH", version.name)
        for other in self._stage.served:
            if other is version:
                continue
            client = f"{other.name} (PUT)"
            await self._each(edits, lambda path, _, at=other: self._touch(at, path))  # type: ignore[misc]
            when = f", edited there, after a client at {other.name} wrote it back (PUT)"
            await self._check_edits(version, edits, client, when)
        await self._each(edits, lambda path, made: self._write(version, "PATCH", path, made[0], undo=True))
        when = f" after clients of all versions wrote it, and a client at {version.name} undid its edit"
        await self._check_unchanged(baseline, when, version.name, version.name)

    # ------------------------------------------------------------------ writing

    async def _edit(self, version: CRDVersion, method: Method, client: str) -> dict[str, tuple[Edit, JsonObject]]:
        """Edit every object. Return by path the edit and the object that a read must show."""
        self._number += 1
        edits: dict[str, tuple[Edit, JsonObject]] = {}

        async def edit(path: str, _: None) -> None:
            obj = await self._get(version, path)
            chosen = choose_edit(version, obj, self._number, method)
            try:
                await self._write(version, method, path, chosen)
            except RehearsalError as error:
                # Rules may forbid changes of this field. A client can still write the object.
                if error.status != 422:
                    raise
                chosen = annotation_edit()
                await self._write(version, method, path, chosen)
            edits[path] = chosen, chosen.applied(obj)

        await self._each(dict.fromkeys(self._paths), edit, client, version.name)
        return edits

    async def _write(self, version: CRDVersion, method: Method, path: str, edit: Edit, *, undo: bool = False) -> None:
        obj, url, api = await self._get(version, path), f"/apis/{version.api_version}/{path}", self._rehearsal.api
        if method == "PUT":
            await api.request("PUT", url, edit.applied(obj, undo=undo))
        elif method == "PATCH":
            await api.request("PATCH", url, merge_patch(obj, edit, undo=undo), content_type=MERGE_PATCH)
        else:
            body, query = apply_configuration(obj, edit, undo=undo), f"fieldManager=client-{version.name}&force=true"
            await api.request("PATCH", url, body, content_type=APPLY_PATCH, query=query)

    async def _touch(self, version: CRDVersion, path: str) -> None:
        obj = touched(await self._get(version, path), version.name)
        await self._rehearsal.api.request("PUT", f"/apis/{version.api_version}/{path}", obj)

    async def _get(self, version: CRDVersion, path: str) -> JsonObject:
        return await self._rehearsal.api.request("GET", f"/apis/{version.api_version}/{path}")

    async def _each(
        self,
        values: Mapping[str, _T],
        call: Callable[[str, _T], Awaitable[None]],
        client: str = "",
        version: str = "",
        verb: str = "write it back",
    ) -> None:
        """Call a function for each object, some at a time. Report requests that fail."""
        slots = asyncio.Semaphore(_CONCURRENCY)

        async def one(path: str, value: _T) -> None:
            async with slots:
                try:
                    await call(path, value)
                except RehearsalError as error:
                    who = f"a client at {client}" if client else "a client"
                    text = f"{name_of(path)}: {who} cannot {verb}: {error}"
                    if all(finding.text != text for finding in self._outcome.findings):
                        self._outcome.findings.append(
                            Finding(text, "clients", object=readable(path), client=client, version=version)
                        )

        await asyncio.gather(*(one(path, value) for path, value in values.items()))

    # ------------------------------------------------------------------ checking

    async def _check_edits(
        self, version: CRDVersion, edits: dict[str, tuple[Edit, JsonObject]], client: str, when: str
    ) -> None:
        """Check that objects are at this version as the clients wrote them."""
        seen = (await self._rehearsal.snapshot(self._stage, only=version.name, paths=list(edits)))[version.name]
        advice = self._keep_advice(version)
        for path, (_, expected) in edits.items():
            if path in seen:
                self._rehearsal.compare(
                    self._outcome,
                    version.name,
                    path,
                    expected,
                    seen[path],
                    when,
                    "clients",
                    client=client,
                    advice=advice,
                )

    def _keep_advice(self, version: CRDVersion) -> str:
        return (
            f"convert the field between {version.name} and {self._stage.crd.storage} in both directions, or keep it in "
            "an annotation (the stash)"
        )

    async def _check_unchanged(self, baseline: Snapshot, when: str, client: str, writer: str) -> None:
        """Check that all versions are as before. Continue with the current state, so that a loss is reported once."""
        current = await self._rehearsal.snapshot(self._stage, paths=self._paths)
        for name, seen in current.items():
            advice = (
                f"the conversion from {name} to {writer} drops the field, so a client at {writer} removes it: keep it "
                "in an annotation (the stash), or acknowledge the loss"
            )
            for path in self._paths:
                before, after = baseline[name].get(path), seen.get(path)
                if before is None or after is None:
                    continue
                if not self._rehearsal.compare(
                    self._outcome, name, path, before, after, when, "clients", client=client, advice=advice
                ):
                    baseline[name][path] = after
                    if path in self._rehearsal.first[name]:
                        self._rehearsal.first[name][path] = after


def _spread(paths: list[str], maximum: int) -> list[str]:
    """Return at most `maximum` objects, evenly spaced."""
    return paths[:: max(1, -(-len(paths) // maximum))]
