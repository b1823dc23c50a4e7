"""Objects that a mutating step has patched, read anew."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.apis import machinery
from polykind.apply import jsonpatch
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.json import json_type_name
from polykind.schema.object_meta import BadObjectMetaError


def reread(asked: Attributes, made: Any) -> JsonObject:
    """What a patch has made, as an object of its own, which must still say what it is. Raises InternalError."""
    if not isinstance(made, dict):
        raise errors.InternalError(jsonpatch.NO_OBJECT % json_type_name(made))
    own: JsonObject = json_codec.decode(json_codec.encode(made))
    try:
        version, kind = json_codec.read_type_meta(own)
    except errors.BadRequestError as error:
        raise errors.InternalError(error.message) from None
    if asked.typed:
        own["apiVersion"], own["kind"] = version or asked.resource.kind_version, kind or asked.resource.kind
    elif not kind:
        raise errors.InternalError(f"Object 'Kind' is missing in '{json_codec.encode(made).decode()}'")
    return own


def defaulted(asked: Attributes, obj: JsonObject) -> JsonObject:
    """An object with its defaults. Raises InternalError."""
    try:
        return asked.default(obj)
    except errors.UnknownReasonError:
        raise
    except (machinery.Undecodable, BadObjectMetaError) as error:
        raise errors.InternalError(error.why) from None
    except errors.APIError as error:
        raise errors.InternalError(error.message) from None
