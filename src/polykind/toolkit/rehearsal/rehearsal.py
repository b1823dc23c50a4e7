"""A rehearsal of a CRD's releases on a server with real objects, forwards and then backwards.

At each release the rehearsal applies the CRD, reads every object at every served version, and migrates the stored
objects. Then clients of every served version edit the objects and write them back, the converter's process is
restarted, and the converter has outages. Nothing that a client can see may get lost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from polykind.contract import JsonObject
from polykind.declare.conversions import ConversionFunction
from polykind.declare.stash import ANNOTATION
from polykind.toolkit.crd_versions import CRD, CRDVersion
from polykind.toolkit.migrating.field_manager_cleanup import repair
from polykind.toolkit.proving.losses import Acknowledgement
from polykind.toolkit.proving.object_diff import Difference, differences, format_path
from polykind.toolkit.rehearsal.client_edits import TOUCHED
from polykind.toolkit.rehearsal.converter_process import Upstream
from polykind.toolkit.rehearsal.rehearsal_client import CRDS_PATH, JSON_PATCH, RehearsalClient, RehearsalError
from polykind.toolkit.rehearsal.rehearsal_finding import Finding, Phase, describe_difference
from polykind.toolkit.rehearsal.rehearsed_converter import RehearsedConverter

ProcessMode = Literal["both", "keep", "restart"]
_INVENTED = "the conversion sets a field that was not there: set it only if the other version has a value for it"
_CONCURRENCY = 16
_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


class Stage(NamedTuple):
    """The CRD of one release, named after its file."""

    name: str
    crd: CRD
    upstream: Upstream | None = None
    """The webhook of this release, if it has one of its own."""

    @property
    def versions(self) -> str:
        """The versions in one line. A star marks the storage version, and parentheses mark a version that is not
        served.
        """
        shown = (f"{v.name}*" if v.storage else v.name for v in self.crd.versions.values())
        served = (v.served for v in self.crd.versions.values())
        return " ".join(name if is_served else f"({name})" for name, is_served in zip(shown, served, strict=True))

    @property
    def served(self) -> list[CRDVersion]:
        return [version for version in self.crd.versions.values() if version.served]


@dataclass(slots=True)
class PhaseResult:
    """The result of one phase of a stage. `text` says what was done."""

    name: Phase
    text: str
    seconds: float = 0.0


@dataclass(slots=True)
class StageResult:
    """The result of one stage. `back` is true if the stage was reached by a downgrade.

    `findings` contains problems, warnings, and losses that conversion functions acknowledge. `stuck` is true if the
    rehearsal cannot continue after this stage.
    """

    stage: Stage
    back: bool
    objects: int = 0
    migrated: bool = False
    findings: list[Finding] = field(default_factory=list)
    phases: list[PhaseResult] = field(default_factory=list)
    stuck: bool = False

    @property
    def problems(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level == "error"]

    @property
    def ok(self) -> bool:
        return not self.problems


Snapshot = dict[str, dict[str, JsonObject]]
"""Objects by the version at which they were read, and by their URL path below the version."""


@dataclass(frozen=True, slots=True)
class Options:
    """The parts of a rehearsal."""

    migrate: bool = True
    clients: bool = True
    """True if clients of every served version edit objects and write them back."""
    process: ProcessMode = "both"
    """The converter's process: `keep` never restarts it, `restart` restarts it before each stage, and `both` compares
    what clients see before and after a restart at each stage.
    """
    outages: bool = True


class Rehearsal:
    """Runs the stages on one server. `converter` is None if the CRDs need none, or if the server runs it itself."""

    def __init__(
        self,
        api: RehearsalClient,
        stages: Sequence[Stage],
        objects: Sequence[JsonObject],
        options: Options | None = None,
        *,
        steps: Iterable[ConversionFunction] = (),
        converter: RehearsedConverter | None = None,
        on_phase: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`steps` are the conversion functions whose acknowledged losses are not reported as problems.

        `on_phase` is called with a text at the beginning of each phase.
        """
        self.api = api
        self.options = options or Options()
        self.converter = converter
        self._losses = [Acknowledgement(step, path, reason) for step in steps for path, reason in step.loses.items()]
        self._stages = stages
        self._objects = objects
        self._on_phase = on_phase
        self.first: Snapshot = {}
        """The first read of each object at each version. Later reads are compared with it."""
        self.paths: list[str] = []
        self.reported_field_managers = False
        """True if the loss of managedFields in an outage has been reported."""
        self._migrations = 0
        self._reported: set[tuple[str, str, str]] = set()

    async def run(self, *, back: bool) -> AsyncIterator[StageResult]:
        """Run the stages in order and, if `back` is true, then in reverse order. Yield the result of each stage.

        End after a stage from which the rehearsal cannot continue.
        """
        order = [(stage, False) for stage in self._stages]
        if back:
            order += [(stage, True) for stage in reversed(self._stages[:-1])]
        for stage, backwards in order:
            outcome = StageResult(stage, backwards, objects=len(self.paths))
            await self._run_stage(stage, outcome, is_first=stage is self._stages[0] and not backwards)
            yield outcome
            if outcome.stuck:
                return

    async def _run_stage(self, stage: Stage, outcome: StageResult, *, is_first: bool) -> None:
        from polykind.toolkit.rehearsal.client_rounds import ClientRounds
        from polykind.toolkit.rehearsal.converter_trials import rehearse_outages, rehearse_restart

        self._reported = set()
        if not await self._apply(stage, outcome):
            return
        if is_first:
            await self._create(stage, outcome)
        outcome.objects = len(self.paths)
        await self._repair_field_managers(stage, outcome)
        with _Timer(self, outcome, "read", f"every object is read at {_listed(stage)}"):
            await self.read_objects(stage, outcome, "")
        if self.options.migrate and not await self._migrate(stage, outcome):
            return
        converter, options = self._converter_of(stage), self.options
        if options.clients and self.paths:
            rounds = ClientRounds(self, stage, outcome)
            with _Timer(
                self, outcome, "clients", f"clients at {_listed(stage)} edit and write back (PUT, PATCH, apply)"
            ):
                await rounds.run()
        if converter is None or len(stage.crd.versions) < 2 or not self.paths:
            return
        if options.process == "both" and converter.restartable:
            with _Timer(self, outcome, "restart", "the converter's process is killed and started again"):
                await rehearse_restart(self, stage, outcome, converter)
        if options.outages:
            with _Timer(self, outcome, "outage", "the converter is down, slow, has a wrong certificate, sends garbage"):
                await rehearse_outages(self, stage, outcome, converter)

    def _converter_of(self, stage: Stage) -> RehearsedConverter | None:
        """Return the converter of a stage, or None if its conversions only change apiVersion."""
        if self.converter is None:
            return None
        if stage.upstream is not None:
            self.converter.use(stage.upstream)
        return self.converter if self.converter.has_upstream else None

    def begin(self, text: str) -> None:
        self._on_phase(text)

    async def _apply(self, stage: Stage, outcome: StageResult) -> bool:
        """Apply the CRD of a stage. Return False if the server rejects it."""
        manifest, converter = stage.crd.manifest, self._converter_of(stage)
        if converter is not None:
            if self.options.process == "restart" and converter.restartable:
                await converter.restart()
            if len(stage.crd.versions) > 1:
                manifest = {**manifest, "spec": {**manifest["spec"], "conversion": converter.conversion}}
        try:
            with _Timer(self, outcome, "crd", f"the CRD of {stage.name} is applied"):
                await self.api.apply_crd(manifest)
        except RehearsalError as error:
            advice = await self._suggest_release(stage)
            outcome.findings.append(Finding(f"the API server rejects the CRD: {error}", "crd", advice=advice))
            outcome.stuck = True
            return False
        return True

    async def _migrate(self, stage: Stage, outcome: StageResult) -> bool:
        """Migrate all objects and read them again. Return False if the migration fails."""
        self._migrations += 1
        try:
            with _Timer(self, outcome, "migration", f"all objects are migrated to {stage.crd.storage}"):
                await self.api.migrate(stage.crd.manifest, f"rehearsal-{self._migrations}")
        except RehearsalError as error:
            outcome.findings.append(Finding(f"the migration to {stage.crd.storage} failed: {error}", "migration"))
            return False
        outcome.migrated = True
        await self.read_objects(stage, outcome, " after the migration", "migration")
        return True

    async def _suggest_release(self, stage: Stage) -> str:
        """Suggest an intermediate release if the CRD removes a version that is still stored."""
        crd = stage.crd
        try:
            live = await self.api.request("GET", f"{CRDS_PATH}/{crd.name}")
        except RehearsalError:
            return ""
        removed_versions = [version for version in live["status"]["storedVersions"] if version not in crd.versions]
        if not removed_versions:
            return ""
        suggestion = (
            f"add a release in between that still declares {' and '.join(removed_versions)} but stores {crd.storage}"
        )
        return suggestion + ("" if self.options.migrate else ", and migrate the stored objects")

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
                created = await self.api.request("POST", path, {**obj, "metadata": metadata})
                name = created["metadata"]["name"]
                if "status" in obj and "status" in (crd.version_of(obj).version_entry.get("subresources") or {}):
                    await self.api.request("PUT", f"{path}/{name}/status", {**created, "status": obj["status"]})
                self.paths.append(f"{place}/{name}")
            except RehearsalError as error:
                text = f"{metadata.get('name')} cannot be created: {error}"
                outcome.findings.append(Finding(text, "create", object=str(metadata.get("name"))))

    async def _ensure_namespace(self, namespace: str) -> None:
        try:
            await self.api.request("GET", f"/api/v1/namespaces/{namespace}")
        except RehearsalError:
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            await self.api.request("POST", "/api/v1/namespaces", manifest)

    async def _repair_field_managers(self, stage: Stage, outcome: StageResult) -> None:
        """Repair managedFields that name a version which this stage no longer has, and report that they need it."""
        crd, version, repaired = stage.crd, stage.served[0], 0
        storage = crd.versions[crd.storage]
        for path, obj in (await self.snapshot(stage, only=version.name)).get(version.name, {}).items():
            fix = repair(obj["metadata"], crd.group, set(crd.versions), crd.storage, storage.openapi)
            if fix is not None:
                repaired += 1
                await self.api.request(
                    "PATCH", f"/apis/{version.api_version}/{path}", fix.patch, content_type=JSON_PATCH
                )
        if repaired:
            noun = "object has" if repaired == 1 else "objects have"
            outcome.findings.append(
                Finding(
                    f"{repaired} {noun} field managers at a version that {stage.name} no longer has, so server-side "
                    "apply fails on them until managedFields are repaired",
                    "crd",
                    "warning",
                    advice=f"run polykind migrate {crd.name} after the release; the rehearsal goes on as if it had run",
                )
            )

    # ------------------------------------------------------------------ reading and comparing

    async def snapshot(
        self,
        stage: Stage,
        *,
        only: str = "",
        paths: Sequence[str] | None = None,
        on_error: Callable[[CRDVersion, str, RehearsalError], None] | None = None,
    ) -> Snapshot:
        """Read all objects at all served versions, or at one of them. Leave out objects that cannot be read.

        `paths` are the objects to read, by default all objects of the rehearsal.

        `on_error` is called for each of these. One list per version sends the objects to the converter in batches.
        """
        paths = self.paths if paths is None else paths
        plural, wanted, out = stage.crd.manifest["spec"]["names"]["plural"], set(paths), Snapshot()
        for version in stage.served:
            if only and version.name != only:
                continue
            read = out[version.name] = {}
            try:
                listed = await self.api.request("GET", f"/apis/{version.api_version}/{plural}")
                for obj in listed["items"]:
                    path = object_path(obj, plural)
                    if path in wanted:
                        read[path] = {
                            "apiVersion": version.api_version,
                            "kind": stage.crd.kind.partition(".")[0],
                            **obj,
                        }
                continue
            except RehearsalError:
                pass
            slots = asyncio.Semaphore(_CONCURRENCY)
            found = await asyncio.gather(*(self._get(version, path, slots) for path in paths))
            for path, result in zip(paths, found, strict=True):
                if not isinstance(result, RehearsalError):
                    read[path] = result
                elif on_error is not None:
                    on_error(version, path, result)
        return out

    async def _get(self, version: CRDVersion, path: str, slots: asyncio.Semaphore) -> JsonObject | RehearsalError:
        async with slots:
            try:
                return await self.api.request("GET", f"/apis/{version.api_version}/{path}")
            except RehearsalError as error:
                return error

    async def read_objects(self, stage: Stage, outcome: StageResult, when: str, phase: Phase = "read") -> None:
        """Read every object at every served version, compare it with its first read there, and validate it."""

        def unreadable(version: CRDVersion, path: str, error: RehearsalError) -> None:
            text = f"{name_of(path)} at {version.name}{when} cannot be read: {error}"
            outcome.findings.append(Finding(text, phase, object=readable(path), version=version.name))

        seen = await self.snapshot(stage, on_error=unreadable)
        for version in stage.served:
            first = self.first.setdefault(version.name, {})
            for path in self.paths:
                obj = seen[version.name].get(path)
                if obj is None:
                    continue
                self.compare(outcome, version.name, path, first.setdefault(path, obj), obj, when, phase)
                if when:
                    continue
                for error in version.validation_errors(obj):
                    text = f"{name_of(path)} at {version.name} would be rejected as a new object: {error}"
                    outcome.findings.append(Finding(text, phase, object=readable(path), version=version.name))

    def compare(
        self,
        outcome: StageResult,
        version: str,
        path: str,
        before: JsonObject,
        after: JsonObject,
        when: str,
        phase: Phase,
        *,
        client: str = "",
        advice: str = "",
    ) -> bool:
        """Record the differences between two states of an object at a version. Return True if there are none.

        A difference that this stage has already reported is not reported again.
        """
        same = True
        for difference in visible_differences(before, after):
            same = False
            text = describe_difference(difference)
            reason = self._acknowledged(version, difference)
            # An acknowledged loss is reported for one object, a problem for every object.
            key = (version, path, text) if reason is None else (version, "", format_path(difference.path))
            if key in self._reported:
                continue
            self._reported.add(key)
            sentence = f"{name_of(path)} at {version}{when}: {text}"
            outcome.findings.append(
                Finding(
                    sentence if reason is None else f"{sentence}; acknowledged: {reason}",
                    phase,
                    "error" if reason is None else "acknowledged",
                    readable(path),
                    client,
                    version,
                    format_path(difference.path),
                    difference.before,
                    difference.after,
                    (advice if difference.kind != "invented" else _INVENTED) if reason is None else "",
                )
            )
        return same

    def _acknowledged(self, version: str, difference: Difference) -> str | None:
        """Return the reason of the acknowledged loss that explains a difference at a version, or None."""
        return next(
            (loss.reason for loss in self._losses if loss.step.origin == version and loss.covers(difference)), None
        )


class _Timer:
    """Measures a phase and adds it to the result of its stage."""

    def __init__(self, rehearsal: Rehearsal, outcome: StageResult, name: Phase, text: str) -> None:
        self._outcome, self._phase = outcome, PhaseResult(name, text)
        self._rehearsal = rehearsal

    def __enter__(self) -> None:
        self._rehearsal.begin(f"{self._outcome.stage.name}: {self._phase.text}")
        self._outcome.phases.append(self._phase)
        self._phase.seconds = -time.monotonic()

    def __exit__(self, *error: object) -> None:
        self._phase.seconds += time.monotonic()


def object_path(obj: JsonObject, plural: str) -> str:
    """Return an object's URL path below the version."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return f"namespaces/{namespace}/{plural}/{metadata['name']}" if namespace else f"{plural}/{metadata['name']}"


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def readable(path: str) -> str:
    """Return the namespace and name in a URL path below the version."""
    parts = path.split("/")
    return f"{parts[1]}/{parts[3]}" if len(parts) == 4 else parts[-1]


def _listed(stage: Stage) -> str:
    return ", ".join(version.name for version in stage.served)


def visible_differences(before: JsonObject, after: JsonObject) -> list[Difference]:
    """Return the differences between two objects, except in the stash and in metadata that the server sets."""
    return list(differences(_without_server_fields(before), _without_server_fields(after)))


def _without_server_fields(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _SERVER_FIELDS}
    visible = {
        k: v
        for k, v in (metadata.get("annotations") or {}).items()
        if k != TOUCHED and not k.endswith(f"/{ANNOTATION}")
    }
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, **({"annotations": visible} if visible else {})}}
