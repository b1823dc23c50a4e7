"""What a client's resourceVersion asks for."""

from __future__ import annotations

from polykind import errors
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.http.messages import bool_value
from polykind.verbs.context import RequestContext

_MOST = 2**64 - 1


def parse(text: str, *, listing: bool) -> int:
    """The number, 0 if there is none; a list answers 400 to nonsense, everything else 500, as the reference does."""
    if not text:
        return 0
    complaint = unparsable(text)
    if not complaint:
        return int(text)
    message = f"resourceVersion: Invalid value: {go_quote(text)}: {complaint}"
    if listing:
        raise errors.BadRequestError(f"invalid resource version: {message}")
    raise errors.UnknownReasonError(message)


def unparsable(text: str) -> str:
    """Why a text is no revision, "" if it is one."""
    if text.isascii() and text.isdigit():
        why = "value out of range" if int(text) > _MOST else ""
    else:
        why = "invalid syntax"
    return f"strconv.ParseUint: parsing {go_quote(text)}: {why}" if why else ""


def pass_over(meta: JsonObject, dry_run: bool) -> None:
    """Take the revision out of what an update or an apply creates: it must be one, and means nothing.

    A dry run shows it again.
    """
    given = meta.get("resourceVersion", "")
    if given and (nonsense := unparsable(given)):
        raise errors.UnknownReasonError(nonsense)
    if not dry_run:
        meta.pop("resourceVersion", None)


async def at_least(call: RequestContext) -> None:
    """A get that names a revision waits until the cache has reached it. One that asks for an export is refused."""
    if bool_value(call.query, "export"):
        raise errors.BadRequestError("the export parameter, deprecated since v1.14, is no longer supported")
    values = call.query.get("resourceVersion")
    if values and values[0]:
        revision = parse(values[0], listing=False)
        if revision:
            await call.backend.cache.wait_for_revision(revision)
