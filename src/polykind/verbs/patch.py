"""patch: change an object by a JSON patch, a merge patch, a strategic merge patch or server-side apply."""

from __future__ import annotations

from polykind import errors
from polykind.codec import negotiation
from polykind.operations.operation import Operation
from polykind.operations.responses import Response
from polykind.resources.resource import APPLY_PATCH
from polykind.verbs import respond
from polykind.verbs.apply import apply
from polykind.verbs.change import change_object
from polykind.verbs.patches import patch_of


async def patch(op: Operation) -> Response:
    content_type = patch_type(op)
    response_format = respond.negotiate(op, negotiation.VERSION_TRANSFORMS)
    options = op.patch_options(apply=content_type == APPLY_PATCH)
    all_versions = respond.wants_all_versions(response_format, options)
    op.notes.record_patch()
    if content_type == APPLY_PATCH:
        status, data = await apply(op, options, all_versions=all_versions)
    else:
        status, data = 200, await change_object(patch_of(op, content_type, options), all_versions=all_versions)
    return await respond.object_response(op, response_format, status, data)


def patch_type(op: Operation) -> str:
    """Return the media type of the request's patch. Raise UnsupportedMediaTypeError if it is not supported."""
    try:
        return negotiation.patch_media_type(op.media.content_type, offers=op.version.patch_types)
    except errors.UnsupportedMediaTypeError as error:
        # kube-apiserver's router accepts a list with one supported type. Its patch handler then rejects the list.
        listed = op.media.content_type.split(",")
        if any(part.partition(";")[0].strip() in op.version.patch_types for part in listed):
            raise
        raise op.version.unsupported_patch() or error from None
