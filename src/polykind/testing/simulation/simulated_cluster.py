"""Access of the simulated controllers to a server's objects. It calls the server's code directly, without HTTP."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any

from polykind import errors
from polykind.auth.user import ADMIN_GROUP, User
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions
from polykind.resources.builtin import BuiltinResource
from polykind.resources.resource import ServedVersion
from polykind.resources.stored_objects import StoredObjects
from polykind.verbs.create import create_object
from polykind.verbs.write import Draft

GROUPS = {
    "cronjobs": "batch",
    "daemonsets": "apps",
    "deployments": "apps",
    "jobs": "batch",
    "nodes": "",
    "persistentvolumeclaims": "",
    "persistentvolumes": "",
    "pods": "",
    "replicasets": "apps",
    "services": "",
    "statefulsets": "apps",
}
"""The resources that the simulation uses, with their API groups."""
_MANAGER = "polykind-simulation"
_USER = User("system:kube-controller-manager", groups=(ADMIN_GROUP,))
"""The user of all writes. The server would skip webhooks and quotas for a write without a user."""

Change = Callable[[JsonObject], None]
"""A function that changes an object in place."""


class SimulatedCluster:
    """Reads and writes the objects of one server for the simulated controllers."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._stored = StoredObjects(backend.cache, backend.registry)
        self._client = ObjectClient(backend, manager=_MANAGER, user=_USER)

    def now(self) -> str:
        """Return the current time of the server's clock in RFC 3339 format."""
        return self._backend.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def resource(self, plural: str) -> BuiltinResource:
        """Return the built-in resource with this plural. Raise NotFoundError if the server does not serve it."""
        resource = self._backend.registry.resource(GROUPS[plural], plural)
        if not isinstance(resource, BuiltinResource):
            raise errors.NotFoundError(plural, GROUPS[plural], "")
        return resource

    async def get(self, plural: str, namespace: str, name: str) -> JsonObject | None:
        return await self._stored.get(GROUPS[plural], plural, namespace, name)

    async def list_objects(self, plural: str, namespace: str | None = None) -> list[JsonObject]:
        return await self._stored.list(GROUPS[plural], plural, namespace)

    async def owned(self, plural: str, owner: JsonObject) -> list[JsonObject]:
        """Return the objects in the owner's namespace that the owner controls, the oldest first."""
        uid = owner["metadata"]["uid"]
        found = [
            obj
            for obj in await self.list_objects(plural, owner["metadata"]["namespace"])
            if any(ref.get("controller") and ref["uid"] == uid for ref in obj["metadata"].get("ownerReferences") or ())
        ]
        return sorted(found, key=lambda obj: (obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]))

    async def create(self, plural: str, obj: Mapping[str, Any], *, admission: bool = True) -> JsonObject:
        """Create an object and return it. If `admission` is false, skip webhooks and admission plugins."""
        meta = obj["metadata"]
        user = _USER if admission else None
        op = self._operation("create", plural, meta.get("namespace"), meta.get("name", ""), user=user)
        decoded = op.version.codec.decode(copy.deepcopy(dict(obj)), report_unknown=False)
        created: JsonObject = json_codec.decode(await create_object(op, Draft(decoded.obj), CreateOptions()))
        return created

    async def update(self, plural: str, obj: JsonObject, change: Change, subresource: str = "") -> None:
        """Call `change` with a copy of the stored object, and write the copy. Write nothing if the copy is unchanged.

        If `subresource` is "status", write the status instead of the other fields. Do nothing if the object has been
        deleted.
        """
        found = await self._find(plural, obj)
        if found is None:
            return
        version, seen, stored = found
        changed = copy.deepcopy(stored)
        change(changed)
        if changed == stored:
            return

        def apply_change(new: JsonObject) -> None:
            copied = copy.deepcopy(new)
            change(copied)
            new.clear()
            new.update(copied)

        await self._client.change(version, seen, apply_change, subresource=subresource)

    async def update_status(self, plural: str, obj: JsonObject, change: Change) -> None:
        """Call `change` with the status of an object, which `change` modifies in place, and write the status."""
        await self.update(plural, obj, lambda new: change(new.setdefault("status", {})), "status")

    async def delete(self, plural: str, obj: JsonObject, *, now: bool = False) -> None:
        """Delete an object. If `now` is true, skip its grace period, as the kubelet does when a pod has ended."""
        found = await self._find(plural, obj)
        if found is None:
            raise errors.NotFoundError(plural, GROUPS[plural], obj["metadata"]["name"])
        version, seen, _ = found
        await self._client.delete(version, seen, grace_period=0 if now else None)

    async def _find(self, plural: str, obj: JsonObject) -> tuple[ServedVersion, CachedObject, JsonObject] | None:
        """Return the newest state of an object, or None if it has been deleted, although its name may exist."""
        meta, resource = obj["metadata"], self.resource(plural)
        seen = await self._client.read(resource, resource.key(meta.get("namespace", ""), meta["name"]))
        stored = resource.shown(seen) if seen is not None else None
        if seen is None or stored is None or stored["metadata"]["uid"] != meta["uid"]:
            return None
        return resource.storage_version(), seen, stored

    async def bind(self, pod: JsonObject, node: str) -> None:
        """Assign a pod to a node through its subresource `binding`."""
        from polykind.verbs.binding import create_pod_binding

        meta = pod["metadata"]
        target = {"kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}, "target": target}
        body = json_codec.encode(binding)
        await create_pod_binding(
            self._operation("create", "pods", meta["namespace"], meta["name"], "binding", body=body)
        )

    def _operation(
        self,
        verb: str,
        plural: str,
        namespace: str | None,
        name: str,
        subresource: str = "",
        *,
        user: User | None = _USER,
        body: bytes = b"",
    ) -> Operation:
        return Operation.by_server(
            self._backend,
            verb,
            self.resource(plural).storage_version(),
            name,
            namespace=namespace,
            subresource=subresource,
            user=user,
            manager=_MANAGER,
            body=body,
        )
