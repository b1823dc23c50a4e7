"""The scale subresource: an object's replicas, read and written through the paths that its CRD names."""

from __future__ import annotations

from polykind import errors
from polykind.apis.autoscaling.types import SCALE
from polykind.codec import json_codec, negotiation
from polykind.codec.negotiation import ResponseFormat
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions, UpdateOptions
from polykind.operations.responses import Response
from polykind.resources.resource import APPLY_PATCH
from polykind.verbs import respond
from polykind.verbs.change import change_object
from polykind.verbs.get import read_object
from polykind.verbs.metadata import check_name, match_namespace
from polykind.verbs.scale_changes import AppliedScale, PatchedScale, ScaleChange, SentScale
from polykind.verbs.scale_object import UNREGISTERED_TYPE, decode_body, replicas_path, scale_of, warn


async def get_scale(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    representation = await read_object(op)
    scale, has_replicas = scale_of(op, await _decode_object(op, representation.data))
    if not has_replicas:
        raise errors.InternalError(f"the spec replicas field {go_quote(replicas_path(op))} does not exist")
    return await _respond(op, response_format, scale)


async def update_scale(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    options = UpdateOptions.from_query(op.query)
    media = negotiation.body_media(op.media.content_type, offers=negotiation.BUILTIN_MEDIA)
    scale, strict_errors = await op.lane.read(op.body, decode_body, op.body, media)
    if strict_errors and options.field_validation == "Strict":
        raise errors.BadRequestError(UNREGISTERED_TYPE)
    op.notes.record_object(None, scale)
    warn(op, strict_errors, options.field_validation)
    match_namespace(op, scale["metadata"])
    check_name(op, scale)
    return await _change(op, response_format, SentScale(op, options, scale))


async def patch_scale(op: Operation) -> Response:
    content_type = negotiation.patch_media_type(op.media.content_type, offers=op.version.patch_types)
    response_format = respond.negotiate(op)
    options = PatchOptions.from_query(op.query, apply=content_type == APPLY_PATCH)
    op.notes.record_patch()
    if content_type == APPLY_PATCH:
        return await _change(op, response_format, AppliedScale(op, options))
    return await _change(op, response_format, PatchedScale(op, options, content_type))


async def _change(op: Operation, response_format: ResponseFormat, change: ScaleChange) -> Response:
    """Change an object through its Scale. Respond with its new Scale."""
    scale, _ = scale_of(op, await _decode_object(op, await change_object(change)))
    return await _respond(op, response_format, scale)


async def _decode_object(op: Operation, data: bytes) -> JsonObject:
    obj: JsonObject = await op.lane.read(data, json_codec.decode, data)
    return obj


async def _respond(op: Operation, response_format: ResponseFormat, scale: JsonObject) -> Response:
    return await respond.object_response(op, response_format, 200, json_codec.encode_ordered(scale), SCALE.table)
