"""Continue tokens: the position and revision at which the next page of a list starts."""

from __future__ import annotations

import base64
import posixpath

import orjson

from polykind import errors
from polykind.apis.machinery.decoding import Decoding
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import INT64, STRING
from polykind.codec import json_codec
from polykind.golang.base64 import Base64Error, decode_base64_url
from polykind.operations.operation import Operation

_VERSION = "meta.k8s.io/v1"
_TOKEN = Struct(
    "storage.continueToken",
    (
        Field("v", 0, STRING, omitempty=False),
        Field("rv", 0, INT64, omitempty=False),
        Field("start", 0, STRING, omitempty=False),
    ),
)
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def _key_prefix(op: Operation) -> str:
    """Return the common prefix of the keys in a list. Tokens omit this prefix."""
    return f"{op.namespace}/" if op.namespace is not None and op.resource.namespaced else ""


def encode(op: Operation, revision: int, key: str) -> str:
    """Return the token that continues after a key at a revision. Revision -1 stands for the newest revision."""
    start = key.removeprefix(_key_prefix(op))
    raw = orjson.dumps({"v": _VERSION, "rv": revision, "start": f"{start}\x00"})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(token: str, op: Operation, resource_version: str) -> tuple[int, str]:
    """Return the revision to list at, or 0 for the newest, and the key after which the list continues.

    Raise BadRequestError if the token is invalid.
    """
    version, revision, start = _decode_fields(_decode_base64(token))
    if version != _VERSION:
        raise _invalid(f"continue key is not valid: server does not recognize this encoded version {version}")
    if revision == 0:
        raise _invalid(f"continue key is not valid: incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _invalid(f"continue key is not valid: encoded start key empty (version {_VERSION})")
    path = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(path) != path or path.startswith("//"):
        raise _invalid(f"continue key is not valid: {start}")
    if resource_version not in ("", "0"):
        raise errors.BadRequestError("specifying resource version is not allowed when using continue")
    return max(revision, 0), _key_prefix(op) + path[1:].rstrip("\x00")


def _decode_base64(token: str) -> bytes:
    try:
        return decode_base64_url(token)
    except Base64Error as error:
        raise _invalid(f"continue key is not valid: {error}") from None


def _decode_fields(raw: bytes) -> tuple[str, int, str]:
    """Return the fields of a token. Absent fields are empty."""
    try:
        value, _ = json_codec.decode_literal(raw)
    except json_codec.MalformedJSONError as error:
        raise _invalid(f"continue key is not valid: {error.text}") from None
    decoding = Decoding(report_unknown=False)
    fields = _TOKEN.decode({} if value is None else value, None, decoding)
    if decoding.error is not None:
        raise _invalid(f"continue key is not valid: {decoding.error}")
    return fields["v"], fields["rv"], fields["start"]


def _invalid(reason: str) -> errors.BadRequestError:
    return errors.BadRequestError(f"invalid continue token: {reason}")


def expired(op: Operation, after: str) -> errors.ExpiredError:
    """Return the error for a list at a compacted revision.

    If `after` is not empty, the error contains a token that continues the list after this key at the newest revision.
    """
    if not after:
        return errors.ExpiredError("The resourceVersion for the provided list is too old.")
    error = errors.ExpiredError(_EXPIRED)
    error.metadata = {"continue": encode(op, -1, after)}
    return error
