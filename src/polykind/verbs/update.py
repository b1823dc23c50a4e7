"""update: replace an object or its status."""

from __future__ import annotations

from polykind import errors, names
from polykind.codec import negotiation
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, UpdateOptions, WriteOptions
from polykind.operations.responses import Response
from polykind.verbs import respond
from polykind.verbs.change import Change, change_object, check_uid
from polykind.verbs.create import create_object
from polykind.verbs.decode import decode
from polykind.verbs.metadata import check_name, dedupe_owners, ignore_resource_version, match_namespace
from polykind.verbs.write import Draft, Existing


class Replacement(Change):
    """Replaces an object by the one in the request body."""

    def __init__(self, op: Operation, options: WriteOptions, draft: Draft) -> None:
        super().__init__(op, options)
        self.draft = draft

    @classmethod
    async def read(cls, op: Operation, options: WriteOptions) -> Replacement:
        """Decode the request body. Raise BadRequestError if it is not the object that the URL names."""
        draft = await op.lane.read(op.body, decode, op, options)
        match_namespace(op, draft.obj["metadata"])
        check_name(op, draft.obj)
        await dedupe_owners(op, draft.obj["metadata"])
        return cls(op, options, draft)

    async def change(self, old: Existing) -> Draft:
        return self.draft

    async def again(self) -> Replacement:
        # The first attempt has modified the decoded object.
        return await self.read(self.op, self.options)


async def update(op: Operation) -> Response:
    response_format = respond.negotiate(op, negotiation.VERSION_TRANSFORMS)
    options = op.options(UpdateOptions)
    all_versions = respond.wants_all_versions(response_format, options)
    replacement = await Replacement.read(op, options)
    if op.version.strategy.creates_on_update and not all_versions:
        created = await _create_if_missing(op, options)
        if created is not None:
            return await respond.object_response(op, response_format, 201, created)
    data = await change_object(replacement, all_versions=all_versions)
    return await respond.object_response(op, response_format, 200, data)


async def _create_if_missing(op: Operation, options: UpdateOptions) -> bytes | None:
    """Create the object of a PUT and return its representation. Return None if the object already exists."""
    await op.backend.cache.wait_until_fresh(op.resource.cache)
    if op.resource.cache.get(op.key) is not None or names.path_segment(op.name):
        return None
    draft = (await Replacement.read(op, options)).draft
    check_uid(op, draft.obj, {"metadata": {}}, dry_run=options.dry_run)
    ignore_resource_version(draft.obj["metadata"], dry_run=options.dry_run)
    try:
        return await create_object(op, draft, CreateOptions(options.dry_run, options.field_manager))
    except errors.AlreadyExistsError:
        return None
