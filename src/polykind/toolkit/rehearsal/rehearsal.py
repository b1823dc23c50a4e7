"""The walk of a definition through its stages and back, and what it does to objects on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import Definition
from polykind.toolkit.declare.conversions import Step
from polykind.toolkit.proving.differences import Difference
from polykind.toolkit.proving.losses import Acknowledgement
from polykind.toolkit.rehearsal.api import DEFINITIONS, Api, Refused
from polykind.toolkit.rehearsal.differences import noticed, said

_NOT_STATED = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


class Stage(NamedTuple):
    """A definition as a release has it, under the name of its file."""

    name: str
    definition: Definition

    @property
    def versions(self) -> str:
        """Its versions in one line: the storage version has a star, those not served stand in brackets."""
        shown = (f"{v.name}*" if v.storage else v.name for v in self.definition.versions.values())
        served = (v.served for v in self.definition.versions.values())
        return " ".join(name if is_served else f"({name})" for name, is_served in zip(shown, served, strict=True))


@dataclass(slots=True)
class Outcome:
    """What came of one stage: `findings` are what an author must know, `acknowledged` what he knows is lost.

    `stuck` says that there was no going on.
    """

    stage: Stage
    back: bool
    objects: int = 0
    migrated: bool = False
    findings: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    stuck: bool = False

    @property
    def fine(self) -> bool:
        return not self.findings


Reading = dict[tuple[str, str], JsonObject]
"""Objects by their path below the version, and the version they were read at."""


class Rehearsal:
    """One walk: every stage's definition is written, every object read at each version, then migrated."""

    def __init__(
        self,
        api: Api,
        stages: Sequence[Stage],
        objects: Sequence[JsonObject],
        *,
        migrate: bool,
        steps: Iterable[Step] = (),
    ) -> None:
        """`steps` are those that convert, as far as they are known, for what they acknowledge to lose."""
        self._api = api
        self._losses = [Acknowledgement(step, path, why) for step in steps for path, why in step.loses.items()]
        self._stages = stages
        self._objects = objects
        self._migrate = migrate
        self._first: Reading = {}
        """Each object as it was first read at each version."""
        self._paths: list[str] = []
        self._migrations = 0

    async def walk(self, *, back: bool) -> AsyncIterator[Outcome]:
        """Go through the stages, and back again; ends where there is no going on."""
        order = [(stage, False) for stage in self._stages]
        if back:
            order += [(stage, True) for stage in reversed(self._stages[:-1])]
        for stage, backwards in order:
            outcome = Outcome(stage, backwards, objects=len(self._paths))
            await self._pass(stage, outcome, begins=stage is self._stages[0] and not backwards)
            yield outcome
            if outcome.stuck:
                return

    async def _pass(self, stage: Stage, outcome: Outcome, *, begins: bool) -> None:
        try:
            await self._api.define(stage.definition.manifest)
        except Refused as error:
            outcome.findings += [f"the definition is refused: {error}", *await self._way_out(stage)]
            outcome.stuck = True
            return
        if begins:
            await self._create(stage, outcome)
        outcome.objects = len(self._paths)
        seen: set[str] = set()
        await self._read(stage, outcome, "", seen)
        if self._migrate:
            self._migrations += 1
            try:
                await self._api.migrate(stage.definition.manifest, f"rehearsal-{self._migrations}")
                outcome.migrated = True
            except Refused as error:
                outcome.findings.append(f"the migration to {stage.definition.storage} failed: {error}")
                return
            await self._read(stage, outcome, " after the migration", seen)

    async def _way_out(self, stage: Stage) -> list[str]:
        """What would lead on, where a definition drops what is still stored."""
        wanted = stage.definition
        try:
            live = await self._api.ask("GET", f"{DEFINITIONS}/{wanted.name}")
        except Refused:
            return []
        left = [version for version in live["status"]["storedVersions"] if version not in wanted.versions]
        if not left:
            return []
        between = f"a release between them that declares {' and '.join(left)} as well, but stores {wanted.storage},"
        return [f"{between} would lead on" + ("" if self._migrate else " once it is migrated")]

    async def _create(self, stage: Stage, outcome: Outcome) -> None:
        definition = stage.definition
        plural = definition.manifest["spec"]["names"]["plural"]
        for obj in self._objects:
            metadata = {k: v for k, v in obj["metadata"].items() if k not in _NOT_STATED}
            namespace = metadata.get("namespace") or "default"
            place = f"namespaces/{namespace}/{plural}" if definition.namespaced else plural
            path = f"/apis/{obj['apiVersion']}/{place}"
            try:
                if definition.namespaced:
                    await self._ensure(namespace)
                made = await self._api.ask("POST", path, {**obj, "metadata": metadata})
                name = made["metadata"]["name"]
                if "status" in obj and "status" in (definition.version_of(obj).stanza.get("subresources") or {}):
                    await self._api.ask("PUT", f"{path}/{name}/status", {**made, "status": obj["status"]})
                self._paths.append(f"{place}/{name}")
            except Refused as error:
                outcome.findings.append(f"{metadata.get('name')} cannot be created: {error}")

    async def _ensure(self, namespace: str) -> None:
        try:
            await self._api.ask("GET", f"/api/v1/namespaces/{namespace}")
        except Refused:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            await self._api.ask("POST", "/api/v1/namespaces", manifest)

    async def _read(self, stage: Stage, outcome: Outcome, when: str, seen: set[str]) -> None:
        """Read every object at every served version, and have it judged as if it were new.

        What has been `seen` to be wrong with it is not told again.
        """
        for version in stage.definition.versions.values():
            if not version.served:
                continue
            for path in self._paths:
                about = f"{path.rpartition('/')[2]} at {version.name}{when}"
                whole = f"/apis/{version.api_version}/{path}"
                try:
                    obj = await self._api.ask("GET", whole)
                except Refused as error:
                    outcome.findings.append(f"{about} cannot be read: {error}")
                    continue
                first = self._first.setdefault((path, version.name), obj)
                for found in noticed(first, obj):
                    if (known := f"{whole} {said(found)}") not in seen:
                        seen.add(known)
                        self._note(outcome, version.name, f"{about}: {said(found)}", found)
                if not when:
                    refused = version.complaints(obj)
                    outcome.findings += [f"{about} would be refused if it were new: {why}" for why in refused]

    def _note(self, outcome: Outcome, version: str, text: str, found: Difference) -> None:
        why = next((loss.why for loss in self._losses if loss.step.origin == version and loss.covers(found)), None)
        if why is None:
            outcome.findings.append(text)
        else:
            outcome.acknowledged.append(f"{text}; acknowledged: {why}")
