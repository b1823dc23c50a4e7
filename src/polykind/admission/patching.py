"""Objects that a mutating step has patched, read anew."""

from __future__ import annotations

from typing import Any

from polykind import errors, typed
from polykind.admission.attributes import Attributes
from polykind.apply import jsonpatch
from polykind.contract import JsonObject
from polykind.gotext import json_name
from polykind.schema.objectmeta import MisfitError
from polykind.wire import codec, typemeta


def reread(asked: Attributes, made: Any) -> JsonObject:
    """What a patch has made, as an object of its own, which must still say what it is. Raises InternalError."""
    if not isinstance(made, dict):
        raise errors.InternalError(jsonpatch.NO_OBJECT % json_name(made))
    own: JsonObject = codec.decode(codec.encode(made))
    try:
        version, kind = typemeta.interpret(own)
    except errors.BadRequest as error:
        raise errors.InternalError(error.message) from None
    if asked.typed:
        own["apiVersion"], own["kind"] = version or asked.resource.kind_version, kind or asked.resource.kind
    elif not kind:
        raise errors.InternalError(f"Object 'Kind' is missing in '{codec.encode(made).decode()}'")
    return own


def defaulted(asked: Attributes, obj: JsonObject) -> JsonObject:
    """An object with its defaults. Raises InternalError."""
    try:
        return asked.default(obj)
    except errors.Unexplained:
        raise
    except (typed.Undecodable, MisfitError) as error:
        raise errors.InternalError(error.why) from None
    except errors.APIError as error:
        raise errors.InternalError(error.message) from None
