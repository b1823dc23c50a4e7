"""The walk of a definition through its stages and back, and what it does to objects on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.declare.conversions import ConversionFunction
from polykind.toolkit.proving.losses import Acknowledgement
from polykind.toolkit.proving.object_diff import Difference
from polykind.toolkit.rehearsal.differences import describe_difference, visible_differences
from polykind.toolkit.rehearsal.rehearsal_client import CRDS_PATH, RehearsalClient, RehearsalError

_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


class Stage(NamedTuple):
    """A definition as a release has it, under the name of its file."""

    name: str
    crd: CRD

    @property
    def versions(self) -> str:
        """Its versions in one line: the storage version has a star, those not served stand in brackets."""
        shown = (f"{v.name}*" if v.storage else v.name for v in self.crd.versions.values())
        served = (v.served for v in self.crd.versions.values())
        return " ".join(name if is_served else f"({name})" for name, is_served in zip(shown, served, strict=True))


@dataclass(slots=True)
class StageResult:
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
    def ok(self) -> bool:
        return not self.findings


ObjectReadings = dict[tuple[str, str], JsonObject]
"""Objects by their path below the version, and the version they were read at."""


class Rehearsal:
    """One walk: every stage's definition is written, every object read at each version, then migrated."""

    def __init__(
        self,
        api: RehearsalClient,
        stages: Sequence[Stage],
        objects: Sequence[JsonObject],
        *,
        migrate: bool,
        steps: Iterable[ConversionFunction] = (),
    ) -> None:
        """`steps` are those that convert, as far as they are known, for what they acknowledge to lose."""
        self._api = api
        self._losses = [Acknowledgement(step, path, reason) for step in steps for path, reason in step.loses.items()]
        self._stages = stages
        self._objects = objects
        self._migrate = migrate
        self._first: ObjectReadings = {}
        """Each object as it was first read at each version."""
        self._paths: list[str] = []
        self._migrations = 0

    async def run(self, *, back: bool) -> AsyncIterator[StageResult]:
        """Go through the stages, and back again; ends where there is no going on."""
        order = [(stage, False) for stage in self._stages]
        if back:
            order += [(stage, True) for stage in reversed(self._stages[:-1])]
        for stage, backwards in order:
            outcome = StageResult(stage, backwards, objects=len(self._paths))
            await self._run_stage(stage, outcome, is_first=stage is self._stages[0] and not backwards)
            yield outcome
            if outcome.stuck:
                return

    async def _run_stage(self, stage: Stage, outcome: StageResult, *, is_first: bool) -> None:
        try:
            await self._api.apply_crd(stage.crd.manifest)
        except RehearsalError as error:
            outcome.findings += [f"the definition is refused: {error}", *await self._suggest_release(stage)]
            outcome.stuck = True
            return
        if is_first:
            await self._create(stage, outcome)
        outcome.objects = len(self._paths)
        reported: set[str] = set()
        await self._read_objects(stage, outcome, "", reported)
        if self._migrate:
            self._migrations += 1
            try:
                await self._api.migrate(stage.crd.manifest, f"rehearsal-{self._migrations}")
                outcome.migrated = True
            except RehearsalError as error:
                outcome.findings.append(f"the migration to {stage.crd.storage} failed: {error}")
                return
            await self._read_objects(stage, outcome, " after the migration", reported)

    async def _suggest_release(self, stage: Stage) -> list[str]:
        """What would lead on, where a definition drops what is still stored."""
        crd = stage.crd
        try:
            live = await self._api.request("GET", f"{CRDS_PATH}/{crd.name}")
        except RehearsalError:
            return []
        removed_versions = [version for version in live["status"]["storedVersions"] if version not in crd.versions]
        if not removed_versions:
            return []
        suggestion = (
            f"a release between them that declares {' and '.join(removed_versions)} as well, but stores {crd.storage},"
        )
        return [f"{suggestion} would lead on" + ("" if self._migrate else " once it is migrated")]

    async def _create(self, stage: Stage, outcome: StageResult) -> None:
        crd = stage.crd
        plural = crd.manifest["spec"]["names"]["plural"]
        for obj in self._objects:
            metadata = {k: v for k, v in obj["metadata"].items() if k not in _SERVER_FIELDS}
            namespace = metadata.get("namespace") or "default"
            place = f"namespaces/{namespace}/{plural}" if crd.namespaced else plural
            path = f"/apis/{obj['apiVersion']}/{place}"
            try:
                if crd.namespaced:
                    await self._ensure_namespace(namespace)
                created = await self._api.request("POST", path, {**obj, "metadata": metadata})
                name = created["metadata"]["name"]
                if "status" in obj and "status" in (crd.version_of(obj).version_entry.get("subresources") or {}):
                    await self._api.request("PUT", f"{path}/{name}/status", {**created, "status": obj["status"]})
                self._paths.append(f"{place}/{name}")
            except RehearsalError as error:
                outcome.findings.append(f"{metadata.get('name')} cannot be created: {error}")

    async def _ensure_namespace(self, namespace: str) -> None:
        try:
            await self._api.request("GET", f"/api/v1/namespaces/{namespace}")
        except RehearsalError:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            await self._api.request("POST", "/api/v1/namespaces", manifest)

    async def _read_objects(self, stage: Stage, outcome: StageResult, when: str, reported: set[str]) -> None:
        """Read every object at every served version, and have it judged as if it were new.

        What has been `seen` to be wrong with it is not told again.
        """
        for version in stage.crd.versions.values():
            if not version.served:
                continue
            for path in self._paths:
                about = f"{path.rpartition('/')[2]} at {version.name}{when}"
                url = f"/apis/{version.api_version}/{path}"
                try:
                    obj = await self._api.request("GET", url)
                except RehearsalError as error:
                    outcome.findings.append(f"{about} cannot be read: {error}")
                    continue
                first = self._first.setdefault((path, version.name), obj)
                for difference in visible_differences(first, obj):
                    if (report_key := f"{url} {describe_difference(difference)}") not in reported:
                        reported.add(report_key)
                        self._record(outcome, version.name, f"{about}: {describe_difference(difference)}", difference)
                if not when:
                    refused = version.validation_errors(obj)
                    outcome.findings += [f"{about} would be refused if it were new: {reason}" for reason in refused]

    def _record(self, outcome: StageResult, version: str, text: str, difference: Difference) -> None:
        reason = next(
            (loss.reason for loss in self._losses if loss.step.origin == version and loss.covers(difference)), None
        )
        if reason is None:
            outcome.findings.append(text)
        else:
            outcome.acknowledged.append(f"{text}; acknowledged: {reason}")
