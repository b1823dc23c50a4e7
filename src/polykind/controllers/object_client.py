"""The client of controllers. Every update and deletion names the object that the decision to write was based on.

A name says too little: between a controller's read and its write, the object may be deleted and another one created
with the same name. So a write takes the cached object or the stored value that the controller has read. It raises
ConflictError, NotFoundError or RevisionConflictError if that object has been replaced, and the runtime then calls the
reconciler again, which reads the new state.
"""

from __future__ import annotations

from collections.abc import Callable

from polykind.auth.user import User
from polykind.cache.cached_object import CachedObject, parse_stored
from polykind.cache.resource_cache import CachedObjectFactory, ResourceCache
from polykind.codec import json_codec
from polykind.contract import JsonObject, KeyValue, RevisionConflictError
from polykind.controllers.object_metadata import metadata
from polykind.operations.backend import Backend
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, DeleteOptions, PatchOptions, UpdateOptions
from polykind.resources.resource import Resource, ServedVersion
from polykind.verbs.apply import AppliedConfiguration, Apply
from polykind.verbs.change import Change, ServerChange, change_object, check_precondition
from polykind.verbs.create import create_object
from polykind.verbs.delete import delete_object
from polykind.verbs.write import Draft, Existing

Edit = Callable[[JsonObject], None]
"""A function that sets fields of an object or of its metadata. Values below these are shared: replace, not modify."""


class ObjectClient:
    """Reads and writes objects for one controller.

    Without a user, writes skip authorization and admission. The field manager of updates is `manager`.
    """

    def __init__(self, backend: Backend, *, manager: str = "", user: User | None = None) -> None:
        self._backend = backend
        self._manager = manager
        self._user = user

    async def read(self, resource: Resource, key: str) -> CachedObject | None:
        """Return the object with a key as it is now, or None."""
        await self._backend.cache.wait_until_fresh(resource.cache)
        return resource.cache.get(key)

    # ------------------------------------------------------------------ writes that pass the stages of a request

    async def create(self, version: ServedVersion, obj: JsonObject) -> None:
        """Create an object. Raise AlreadyExistsError if there is one with its name."""

        meta = obj["metadata"]
        op = self._operation("create", version, meta.get("namespace", ""), meta["name"])
        await create_object(op, Draft(obj), CreateOptions())

    async def delete(
        self,
        version: ServedVersion,
        seen: CachedObject,
        *,
        policy: str | None = None,
        grace_period: int | None = None,
        unchanged: bool = False,
        of_collection: bool = False,
    ) -> None:
        """Delete the object `seen`, and no other object of its name.

        If `unchanged` is true, delete it only if it is still at the revision that was seen. If `of_collection` is true,
        admission sees a deletecollection.
        """

        uid = metadata(seen).uid
        options = DeleteOptions(
            grace_period_seconds=grace_period,
            propagation_policy=policy,
            uid=uid or None,
            resource_version=str(seen.revision) if unchanged or not uid else None,
        )
        op = self._operation("delete", version, seen.namespace, seen.name)
        await delete_object(op, options, named=not of_collection)

    async def change(
        self,
        version: ServedVersion,
        seen: CachedObject,
        edit: Edit,
        *,
        subresource: str = "",
        unchanged: bool = False,
    ) -> None:
        """Change the object `seen`, and no other object of its name.

        `edit` gets the newest state of the object, so that other changes of it are kept. If `unchanged` is true, change
        the object only if it is still at the revision that was seen.
        """

        def edited(old: JsonObject) -> JsonObject:
            new = {**old, "metadata": dict(old["metadata"])}
            edit(new)
            return new

        op = self._operation("patch", version, seen.namespace, seen.name, subresource)
        await change_object(_ChangeOfSeen(ServerChange(op, UpdateOptions(), edited), seen, unchanged=unchanged))

    async def replace(self, version: ServedVersion, obj: JsonObject, *, subresource: str = "") -> None:
        """Replace an object by a changed copy of what was read. Raise ConflictError if the object has changed since."""
        meta = obj["metadata"]
        if not meta.get("resourceVersion"):
            raise AssertionError("the copy does not show which state of the object was read")
        op = self._operation("update", version, meta.get("namespace", ""), meta["name"], subresource)
        await change_object(ServerChange(op, UpdateOptions(), lambda _: obj))

    async def apply(
        self, version: ServedVersion, seen: CachedObject, fields: JsonObject, *, subresource: str = ""
    ) -> None:
        """Apply `fields` with force to the object `seen`, if it is still at the revision that was seen."""

        applied = {
            "apiVersion": version.api_version,
            "kind": version.resource.kind,
            "metadata": {"name": seen.name, **({"namespace": seen.namespace} if seen.namespace else {})},
            **fields,
        }
        # The body shows the stages how large the change is.
        body = json_codec.encode(applied)
        op = self._operation("patch", version, seen.namespace, seen.name, subresource, body)
        options = PatchOptions(field_manager=self._manager, force=True)
        change = Apply(op, options, AppliedConfiguration(applied, []))
        await change_object(_ChangeOfSeen(change, seen, unchanged=True))

    # ------------------------------------------------------------------ writes of stored bytes

    async def add_stored(self, key: str, value: bytes) -> bool:
        """Store a new object. Return False if the key exists."""
        try:
            await self._backend.store.put(key, value, expect=0)
        except RevisionConflictError:
            return False
        return True

    async def add_cached(
        self, cache: ResourceCache, key: str, value: bytes, *, generation: int, build: CachedObjectFactory
    ) -> bool:
        """Store a new object whose bytes are normalized for a schema generation. Return False if the key exists.

        The cache calls `build` instead of decoding the bytes.
        """
        try:
            with cache.writing(key, value, build, generation):
                await self._backend.store.put(cache.prefix + key, value, expect=0)
        except RevisionConflictError:
            return False
        return True

    async def add_twice(self, key: str, first: bytes, second: bytes) -> int:
        """Store two values of a new object in one transaction. Return the revision of the first one."""
        return await self._backend.store.put_twice(key, first, second, expect=0)

    async def replace_stored(self, seen: KeyValue, value: bytes) -> None:
        await self._backend.store.put(seen.key, value, expect=seen.revision)

    async def remove_stored(self, seen: KeyValue) -> None:
        await self._backend.store.delete(seen.key, expect=seen.revision)

    async def replace_cached(
        self,
        cache: ResourceCache,
        seen: CachedObject,
        value: bytes,
        *,
        generation: int | None = None,
        build: CachedObjectFactory = parse_stored,
    ) -> None:
        """Replace the stored bytes of the object `seen`.

        If they are normalized for a schema generation, the cache learns this from `generation` and calls `build`.
        """
        with cache.writing(seen.key, value, build, generation):
            await self._backend.store.put(cache.prefix + seen.key, value, expect=seen.revision)

    async def remove_cached(self, cache: ResourceCache, seen: CachedObject) -> None:
        await self._backend.store.delete(cache.prefix + seen.key, expect=seen.revision)

    # ------------------------------------------------------------------ operations

    def _operation(
        self, verb: str, version: ServedVersion, namespace: str, name: str, subresource: str = "", body: bytes = b""
    ) -> Operation:
        return Operation.by_server(
            self._backend,
            verb,
            version,
            name,
            namespace=namespace if version.resource.namespaced else None,
            subresource=subresource,
            user=self._user,
            manager=self._manager,
            body=body,
        )


class _ChangeOfSeen(Change):
    """A change that fails if another object than the one that the controller has seen is stored."""

    def __init__(self, change: Change, seen: CachedObject, *, unchanged: bool) -> None:
        super().__init__(change.op, change.options)
        self._change = change
        self._seen = seen
        self._unchanged = unchanged

    async def change(self, old: Existing) -> Draft:
        uid = metadata(self._seen).uid
        check_precondition(self.op, "uid", uid, old.obj, dry_run=False)
        if self._unchanged or not uid:
            check_precondition(self.op, "resourceVersion", str(self._seen.revision), old.obj, dry_run=False)
        return await self._change.change(old)

    async def again(self) -> Change:
        return _ChangeOfSeen(await self._change.again(), self._seen, unchanged=self._unchanged)

    async def track(self, draft: Draft, old: Existing) -> None:
        await self._change.track(draft, old)

    async def admit(self, draft: Draft, old: Existing) -> Draft:
        return await self._change.admit(draft, old)
