"""Requests of a rehearsal to its server, as the admin and without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.crd import versions as crd_versions
from polykind.http.messages import Request
from polykind.operations.responses import Response
from polykind.server.server import Server

CRDS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MIGRATIONS_PATH = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
_POLL_SECONDS = 0.002
_POLL_ATTEMPTS = 15_000


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

    async def request(
        self, method: str, path: str, body: Any = None, *, query: str = "", content_type: str = "application/json"
    ) -> JsonObject:
        """Send a request and return the decoded response. Raise RehearsalError for an error status."""
        headers = {**self._headers, b"content-type": content_type.encode(), b"accept": b"application/json"}
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
