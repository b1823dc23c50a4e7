"""Field managers: who last set which field, kept on every write."""

from __future__ import annotations

from polykind.apply import managed
from polykind.contract import JsonObject
from polykind.http.options import manager_name
from polykind.schema import metadata_validation
from polykind.verbs.context import RequestContext

_THE_SERVERS = frozenset(("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"))
"""What of the metadata no client can state."""


async def created(call: RequestContext, obj: JsonObject, manager: str) -> None:
    """Track a create. What only the server can say is taken out before, unless it is an update that creates."""
    meta = obj["metadata"]
    if call.request.method != "PUT":
        for gone in _THE_SERVERS & meta.keys():
            del meta[gone]
    if fields := await _track(call, None, obj, manager):
        meta["managedFields"] = fields
    else:
        meta.pop("managedFields", None)


async def updated(call: RequestContext, new: JsonObject, old: JsonObject, manager: str) -> None:
    """Track an update or a patch. What is of another kind has no known fields."""
    known = new.get("kind") == call.resource.kind and new.get("apiVersion") in call.resource.models
    fields = await _track(call, old, new, manager) if known else []
    if fields:
        new["metadata"]["managedFields"] = fields
    else:
        new["metadata"].pop("managedFields", None)


def keep_times(new: JsonObject, old: JsonObject) -> None:
    """Times alone are no change, once what the client may not change has been put back."""
    if "managedFields" in old["metadata"] and managed.same_but_times(old, new):
        new["metadata"]["managedFields"] = old["metadata"]["managedFields"]


async def _track(call: RequestContext, live: JsonObject | None, new: JsonObject, manager: str) -> list[JsonObject]:
    return await managed.update(
        live,
        new,
        manager=manager_name(manager, call.request.headers.get(b"user-agent", b"")),
        api_version=call.version.api_version,
        subresource=call.subresource,
        now=call.now(),
        models=call.resource.models,
        convert=call.version.representer.convert,
        reset=call.resource.reset(call.version, call.subresource),
    )


def dedupe_owners(call: RequestContext, meta: JsonObject, *, made: bool = False) -> None:
    """Drop repeated owners, with a warning; what was `made` by a patch is only looked at late, and told so."""
    for warning in metadata_validation.dedupe_owner_references(meta, after_admission=made):
        call.request.warn(warning)
