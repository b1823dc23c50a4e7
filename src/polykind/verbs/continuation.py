"""Continue tokens: where a list goes on, and as of which revision."""

from __future__ import annotations

import base64
import binascii

import orjson

from polykind import errors
from polykind.verbs.call import Call

_VERSION = "meta.k8s.io/v1"
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


def encode(revision: int, key: str) -> str:
    """The token that goes on after a key, at a revision (-1: whatever is newest)."""
    raw = orjson.dumps({"v": _VERSION, "rv": revision, "start": f"{key}\x00"})
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def decode(token: str, call: Call, asked: int) -> tuple[int, str]:
    """The revision (0: newest) and the key to go on after."""
    try:
        raw = base64.urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4))
        value = orjson.loads(raw)
        version, revision, start = value.get("v"), value.get("rv", 0), value.get("start")
    except (binascii.Error, ValueError, AttributeError):
        raise _invalid("continue key is not valid") from None
    if version != _VERSION:
        raise _invalid("continue key is not valid: server does not recognize this encoded version")
    if not isinstance(revision, int) or revision == 0:
        raise _invalid(f"continue key is not valid: incorrect encoded start resourceVersion (version {_VERSION})")
    if not isinstance(start, str) or not start:
        raise _invalid(f"continue key is not valid: encoded start key empty (version {_VERSION})")
    if asked:
        raise errors.BadRequest("specifying resource version is not allowed when using continue")
    return max(revision, 0), start.rstrip("\x00")


def _invalid(why: str) -> errors.BadRequest:
    return errors.BadRequest(f"invalid continue token: {why}")


def expired(call: Call, after: str) -> errors.Expired:
    """The revision is gone: a list begins anew, a continued one may go on with what is there now."""
    if not after:
        return errors.Expired("The resourceVersion for the provided list is too old.")
    error = errors.Expired(_EXPIRED)
    error.metadata = {"continue": encode(-1, after)}
    return error
