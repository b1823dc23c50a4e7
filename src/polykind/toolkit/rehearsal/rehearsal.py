"""A rehearsal of a CRD's releases: apply each CRD, read every object, migrate, and go back again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.declare.conversions import ConversionFunction
from polykind.toolkit.declare.stash import ANNOTATION
from polykind.toolkit.proving.losses import Acknowledgement
from polykind.toolkit.proving.object_diff import Difference, differences, format_path
from polykind.toolkit.rehearsal.rehearsal_client import CRDS_PATH, RehearsalClient, RehearsalError

_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


class Stage(NamedTuple):
    """The CRD of one release, named after its file."""

    name: str
    crd: CRD

    @property
    def versions(self) -> str:
        """The versions in one line: a star marks the storage version, parentheses a version that is not served."""
        shown = (f"{v.name}*" if v.storage else v.name for v in self.crd.versions.values())
        served = (v.served for v in self.crd.versions.values())
        return " ".join(name if is_served else f"({name})" for name, is_served in zip(shown, served, strict=True))


@dataclass(slots=True)
class StageResult:
    """The result of one stage.

    `findings` are problems, `acknowledged` are declared losses, and `stuck` is true if the rehearsal cannot continue.
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
"""Objects by their path below the version, and by the version they were read at."""


class Rehearsal:
    """Applies the CRD of each stage, reads every object at each served version, and migrates stored objects."""

    def __init__(
        self,
        api: RehearsalClient,
        stages: Sequence[Stage],
        objects: Sequence[JsonObject],
        *,
        migrate: bool,
        steps: Iterable[ConversionFunction] = (),
    ) -> None:
        """`steps` are the known conversion functions, for the losses that they acknowledge."""
        self._api = api
        self._losses = [Acknowledgement(step, path, reason) for step in steps for path, reason in step.loses.items()]
        self._stages = stages
        self._objects = objects
        self._migrate = migrate
        self._first: ObjectReadings = {}
        """The first read of each object at each version, which later reads are compared with."""
        self._paths: list[str] = []
        self._migrations = 0

    async def run(self, *, back: bool) -> AsyncIterator[StageResult]:
        """Run the stages forwards and, if `back` is true, backwards. Stop after a stage that is stuck."""
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
            outcome.findings += [f"the API server rejects the CRD: {error}", *await self._suggest_release(stage)]
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
        """Suggest an intermediate release if the CRD removes a version that is still stored."""
        crd = stage.crd
        try:
            live = await self._api.request("GET", f"{CRDS_PATH}/{crd.name}")
        except RehearsalError:
            return []
        removed_versions = [version for version in live["status"]["storedVersions"] if version not in crd.versions]
        if not removed_versions:
            return []
        suggestion = (
            f"add a release in between that still declares {' and '.join(removed_versions)} but stores {crd.storage}"
        )
        return [suggestion + ("" if self._migrate else ", and migrate the stored objects")]

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
        """Read every object at every served version, compare it with its first read, and validate it as a new object.

        `reported` holds the differences that this stage has reported already.
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
                    errors = version.validation_errors(obj)
                    outcome.findings += [f"{about} would be rejected as a new object: {error}" for error in errors]

    def _record(self, outcome: StageResult, version: str, text: str, difference: Difference) -> None:
        reason = next(
            (loss.reason for loss in self._losses if loss.step.origin == version and loss.covers(difference)), None
        )
        if reason is None:
            outcome.findings.append(text)
        else:
            outcome.acknowledged.append(f"{text}; acknowledged: {reason}")


def visible_differences(before: JsonObject, after: JsonObject) -> list[Difference]:
    """Return the differences that an author would notice, without server-managed metadata and the stash."""
    return list(differences(_without_server_fields(before), _without_server_fields(after)))


def _without_server_fields(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _SERVER_FIELDS}
    visible = {k: v for k, v in (metadata.get("annotations") or {}).items() if not k.endswith(f"/{ANNOTATION}")}
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, **({"annotations": visible} if visible else {})}}


def describe_difference(difference: Difference) -> str:
    """Describe a difference in a few words."""
    path = format_path(difference.path)
    if difference.kind == "dropped":
        return f"{path} was removed, it was {_shorten(difference.before)}"
    if difference.kind == "invented":
        return f"{path} was added: {_shorten(difference.after)}"
    return f"{path} changed from {_shorten(difference.before)} to {_shorten(difference.after)}"


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
