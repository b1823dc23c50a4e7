"""A rehearsal of a CRD's releases on a server with real objects.

For each release, it applies the CRD, reads every object and migrates stored objects, forwards and then backwards.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.crd import versions as crd_versions
from polykind.http.messages import Request, Response
from polykind.server.server import Server
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.declare.conversions import ConversionFunction
from polykind.toolkit.declare.stash import ANNOTATION
from polykind.toolkit.proving.losses import Acknowledgement
from polykind.toolkit.proving.object_diff import Difference, differences, format_path

CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MIGRATIONS_PATH = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
_POLL_SECONDS = 0.002
_POLL_ATTEMPTS = 15_000
_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


class RehearsalError(Exception):
    """The server returned an error status. The exception's text is the server's message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class RehearsalClient:
    """Sends requests to one server as its admin."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._headers = {b"authorization": b"Bearer " + server.token.encode(), b"user-agent": b"polykind-rehearse"}

    async def request(self, method: str, path: str, body: Any = None, *, query: str = "") -> JsonObject:
        """Send a request and return the decoded response. Raise RehearsalError for an error status."""
        headers = {**self._headers, b"content-type": b"application/json", b"accept": b"application/json"}
        request = Request(method, path, query, headers, b"" if body is None else json_codec.encode(body))
        response = await self._server.http.app(request)
        assert isinstance(response, Response)
        data = response.body if isinstance(response.body, bytes) else b"".join(response.body)
        if response.status >= 300:
            raise RehearsalError(response.status, _message(data))
        value: JsonObject = json_codec.decode(data)
        return value

    async def apply_crd(self, crd: JsonObject) -> None:
        """Create or update a CRD, and wait until the server serves its versions.

        Raise RehearsalError if the server rejects the CRD.
        """
        name = crd["metadata"]["name"]
        try:
            live = await self.request("GET", f"{CRDS_PATH}/{name}")
        except RehearsalError:
            written = await self.request("POST", CRDS_PATH, crd)
        else:
            metadata = {**crd["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
            written = await self.request("PUT", f"{CRDS_PATH}/{name}", {**crd, "metadata": metadata})
        await self._poll(lambda: self._is_served(written))

    async def _is_served(self, written: JsonObject) -> bool:
        spec, find = written["spec"], self._server.registry.find
        for version in spec["versions"]:
            served = find(spec["group"], version["name"], spec["names"]["plural"])
            if (served is not None) != version["served"]:
                return False
            resource: Any = served.resource if served is not None else None
            if resource is not None and resource.crd["metadata"].get("generation") != written["metadata"]["generation"]:
                return False
        live = await self.request("GET", f"{CRDS_PATH}/{written['metadata']['name']}")
        return crd_versions.storage_version(live) in live["status"]["storedVersions"]

    async def migrate(self, crd: JsonObject, name: str) -> None:
        """Migrate all stored objects of a CRD to its storage version, by a StorageVersionMigration named `name`.

        Raise RehearsalError if the migration fails. The message lists the objects.
        """
        spec = crd["spec"]
        resource = {"group": spec["group"], "resource": spec["names"]["plural"]}
        await self.request(
            "POST",
            MIGRATIONS_PATH,
            {
                "apiVersion": "storagemigration.k8s.io/v1beta1",
                "kind": "StorageVersionMigration",
                "metadata": {"name": name},
                "spec": {"resource": resource},
            },
        )
        final_condition: JsonObject = {}

        async def is_finished() -> bool:
            migration = await self.request("GET", f"{MIGRATIONS_PATH}/{name}")
            for condition in (migration.get("status") or {}).get("conditions") or ():
                if condition["type"] in ("Succeeded", "Failed") and condition["status"] == "True":
                    final_condition.update(condition)
            return bool(final_condition)

        await self._poll(is_finished)
        if final_condition["type"] == "Failed":
            raise RehearsalError(500, final_condition.get("message", "the migration failed"))

    async def _poll(self, condition: Callable[[], Awaitable[bool]]) -> None:
        for _ in range(_POLL_ATTEMPTS):
            if await condition():
                return
            await asyncio.sleep(_POLL_SECONDS)
        raise RehearsalError(504, "the server did not finish within 30 s")


def _message(data: bytes) -> str:
    try:
        status = json_codec.decode(data)
        return str(status["message"])
    except (json_codec.MalformedJSONError, KeyError, TypeError):
        return data.decode(errors="replace").strip()


class Stage(NamedTuple):
    """The CRD of one release, named after its file."""

    name: str
    crd: CRD

    @property
    def versions(self) -> str:
        """The versions in one line. A star marks the storage version, and parentheses mark a version that is not
        served.
        """
        shown = (f"{v.name}*" if v.storage else v.name for v in self.crd.versions.values())
        served = (v.served for v in self.crd.versions.values())
        return " ".join(name if is_served else f"({name})" for name, is_served in zip(shown, served, strict=True))


@dataclass(slots=True)
class StageResult:
    """The result of one stage. `back` is true if the stage was reached by a downgrade.

    `findings` are problems, `acknowledged` are losses that conversion functions declare, and `stuck` is true if the
    rehearsal cannot continue after this stage.
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
"""Objects by their URL path below the version, and by the version at which they were read."""


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
        """`steps` are the conversion functions whose acknowledged losses are not reported as problems."""
        self._api = api
        self._losses = [Acknowledgement(step, path, reason) for step in steps for path, reason in step.loses.items()]
        self._stages = stages
        self._objects = objects
        self._migrate = migrate
        self._first: ObjectReadings = {}
        """The first read of each object at each version. Later reads are compared with the first read."""
        self._paths: list[str] = []
        self._migrations = 0

    async def run(self, *, back: bool) -> AsyncIterator[StageResult]:
        """Run the stages in order and, if `back` is true, then in reverse order. Yield the result of each stage.

        End after a stage from which the rehearsal cannot continue.
        """
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
        """Read every object at every served version, compare it with its first read at that version, and validate it.

        `reported` contains the differences that this stage has already reported.
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
    """Return the differences between two objects, except in the stash and in metadata that the server sets."""
    return list(differences(_without_server_fields(before), _without_server_fields(after)))


def _without_server_fields(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _SERVER_FIELDS}
    visible = {k: v for k, v in (metadata.get("annotations") or {}).items() if not k.endswith(f"/{ANNOTATION}")}
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, **({"annotations": visible} if visible else {})}}


def describe_difference(difference: Difference) -> str:
    """Return a short text about a difference, such as "spec.host was removed, it was ..."."""
    path = format_path(difference.path)
    if difference.kind == "dropped":
        return f"{path} was removed, it was {_shorten(difference.before)}"
    if difference.kind == "invented":
        return f"{path} was added: {_shorten(difference.after)}"
    return f"{path} changed from {_shorten(difference.before)} to {_shorten(difference.after)}"


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
