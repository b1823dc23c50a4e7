"""The value that a write carries from stage to stage."""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec

from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject
from polykind.operations.options import DeleteOptions, WriteOptions
from polykind.resources.resource import Finish


class Origin(msgspec.Struct, frozen=True):
    """The kind of request that a write comes from, with the properties that the write stages depend on."""

    name: str
    named_by_path: bool = True
    """True if the URL names the object. A POST takes the name from the body."""
    replaces: bool = False
    """True if the client sends the whole object, so that its uid and resourceVersion are preconditions."""
    merges: bool = False
    """True if the object results from a merge. Its managedFields are complete, and no schema has pruned it."""


POST = Origin("post", named_by_path=False)
PUT = Origin("put", replaces=True)
PATCH = Origin("patch")
APPLY = Origin("apply", merges=True)
SCALE_PUT = Origin("scale put", replaces=True, merges=True)
SCALE_PATCH = Origin("scale patch", merges=True)
DELETE = Origin("delete")


class Write(msgspec.Struct):
    """One write of one request: the object to store and the results of the stages so far."""

    obj: JsonObject
    """The new object at the request's version."""
    origin: Origin
    options: WriteOptions | DeleteOptions
    old: JsonObject | None = None
    """The object before the write, at the request's version. None for a create."""
    cached: CachedObject | None = None
    """The stored object that the write replaces. None for a create."""
    large: bool = False
    """True if the stages run in a worker thread because they would hold the event loop for too long."""
    values_validated: bool = False
    """True if decoding has already validated the values against the schema."""
    integers_only: bool = False
    """True if the request's body is known to contain no floats. Such an object encodes faster."""
    old_integers_only: bool = False
    """True if the old object is known to contain no floats."""
    normalized: bool = True
    """False if apply, scale or a mutating webhook has produced the object, so that no schema has pruned it."""
    metadata_error: str = ""
    """The error of decoding metadata that apply or a webhook has produced. It is raised if a conversion follows."""
    finish: Finish | None = None
    """A function that completes or undoes the effects of the write, such as an address allocation."""
    all_versions: bool = False
    """True if the result of a dry run is an ObjectVersions document, with the object at all served versions."""
    raw_metadata: JsonObject = {}
    """Applied metadata that is stored unchanged, although reads return it in another form or omit it."""

    async def complete(self, storing: Awaitable[bytes]) -> bytes:
        """Return the result of storing the object. Complete the effects of the write, or undo them if storing fails."""
        try:
            data = await storing
        except BaseException:
            if self.finish is not None:
                await self.finish(False)
            raise
        if self.finish is not None:
            await self.finish(True)
        return data

    def as_applied(self) -> JsonObject:
        """Return the object with its metadata as the client applied it, except for fields that the server has set
        since.
        """
        meta = self.obj["metadata"]
        raw = {k: v for k, v in self.raw_metadata.items() if k not in meta or k in ("labels", "annotations")}
        return {**self.obj, "metadata": {**meta, **raw}}
