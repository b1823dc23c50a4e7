"""Continue tokens: where a list goes on, and as of which revision."""

from __future__ import annotations

import base64
import posixpath

import orjson

from polykind import errors
from polykind.apis.machinery.decoding import Decoding
from polykind.apis.machinery.fields import INT64, STRING, Field, Struct
from polykind.codec import json_codec
from polykind.golang.base64 import Base64Error, decode_base64_url
from polykind.verbs.context import RequestContext

_VERSION = "meta.k8s.io/v1"
_TOKEN = Struct(
    "storage.continueToken",
    (
        Field("v", STRING, 0, omitempty=False),
        Field("rv", INT64, 0, omitempty=False),
        Field("start", STRING, 0, omitempty=False),
    ),
)
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def _space(call: RequestContext) -> str:
    """What the keys of the objects of a list begin with: tokens leave it out."""
    return f"{call.namespace}/" if call.namespace is not None and call.resource.namespaced else ""


def encode(call: RequestContext, revision: int, key: str) -> str:
    """The token that goes on after a key, at a revision (-1: whatever is newest)."""
    start = key.removeprefix(_space(call))
    raw = orjson.dumps({"v": _VERSION, "rv": revision, "start": f"{start}\x00"})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(token: str, call: RequestContext, asked: str) -> tuple[int, str]:
    """The revision (0: newest) and the key to go on after."""
    version, revision, start = _read(_bytes(token))
    if version != _VERSION:
        raise _invalid(f"continue key is not valid: server does not recognize this encoded version {version}")
    if revision == 0:
        raise _invalid(f"continue key is not valid: incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _invalid(f"continue key is not valid: encoded start key empty (version {_VERSION})")
    path = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(path) != path or path.startswith("//"):
        raise _invalid(f"continue key is not valid: {start}")
    if asked not in ("", "0"):
        raise errors.BadRequestError("specifying resource version is not allowed when using continue")
    return max(revision, 0), _space(call) + path[1:].rstrip("\x00")


def _bytes(token: str) -> bytes:
    """What a token holds: base64 for URLs, without padding."""
    try:
        return decode_base64_url(token)
    except Base64Error as error:
        raise _invalid(f"continue key is not valid: {error}") from None


def _read(raw: bytes) -> tuple[str, int, str]:
    """The fields of a token; what is not there is empty."""
    try:
        value, _ = json_codec.decode_literal(raw)
    except json_codec.MalformedJSONError as error:
        raise _invalid(f"continue key is not valid: {error.text}") from None
    run = Decoding(report=False)
    fields = _TOKEN.decode({} if value is None else value, None, run)
    if run.refusal is not None:
        raise _invalid(f"continue key is not valid: {run.refusal}")
    return fields["v"], fields["rv"], fields["start"]


def _invalid(why: str) -> errors.BadRequestError:
    return errors.BadRequestError(f"invalid continue token: {why}")


def expired(call: RequestContext, after: str) -> errors.ExpiredError:
    """The revision is gone: a list begins anew, a continued one may go on with what is there now."""
    if not after:
        return errors.ExpiredError("The resourceVersion for the provided list is too old.")
    error = errors.ExpiredError(_EXPIRED)
    error.metadata = {"continue": encode(call, -1, after)}
    return error
