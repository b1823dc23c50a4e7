"""What both sorts of writes do with the entries of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from polykind import errors
from polykind.apply.compare import Comparison, compare
from polykind.apply.fieldset import LEAF, Fields, difference
from polykind.apply.managed_fields import Entries
from polykind.apply.model import MisfitError
from polykind.apply.remove import reconcile_atomics
from polykind.apply.typed_value import applied_fields, type_errors
from polykind.apply.typemodel import TypeModel
from polykind.contract import JsonObject

Convert = Callable[[JsonObject, str], Awaitable[JsonObject | None]]
"""An object at another apiVersion; None if there is no such version any more. Raises APIError if it cannot be had."""

Models = Mapping[str, TypeModel]
"""The types of each version that exists, by apiVersion."""

Reset = Mapping[str, Fields]
"""Per apiVersion the fields that the endpoint does not let a request change: nobody comes to own them there."""

MAIN_RESET: Final[Fields] = {"f:status": LEAF}
"""What the main endpoint of a kind with a status subresource resets."""

STATUS_RESET: Final[Fields] = {"f:metadata": LEAF, "f:spec": LEAF}
"""What the status endpoint resets."""

SPEC_RESET: Final[Fields] = {"f:spec": LEAF}
"""What it resets where metadata can be changed through it."""

_SYSTEM: Final = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
UNOWNED_FIELDS: Final[Fields] = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {".": LEAF, **{f"f:{name}": LEAF for name in sorted(_SYSTEM)}},
}
"""Fields that nobody owns."""


def strip_system_fields(document: JsonObject) -> JsonObject:
    """The object without what nobody can own."""
    out = {name: value for name, value in document.items() if name != "apiVersion" and name != "kind"}
    metadata = out.get("metadata")
    if isinstance(metadata, dict):
        out["metadata"] = {name: value for name, value in metadata.items() if name not in _SYSTEM}
    return out


async def reconcile_schema(entries: Entries, models: Models, live: JsonObject, convert: Convert) -> None:
    """Brings the entries in line with today's schemas.

    Those of versions that are gone are dropped, unless `convert` refuses such versions: nothing can be done then.
    """
    for owner, entry in list(entries.items()):
        model = models.get(entry.version)
        if model is None:
            await convert(live, entry.version)
        if model is None:
            del entries[owner]
            continue
        fields = reconcile_atomics(entry.fields, model.root)
        if fields is not entry.fields:
            entry.change(fields)


def disown_system(entries: Entries, new: JsonObject) -> None:
    """Takes from all what a create brings of what nobody can own."""
    metadata = new.get("metadata")
    brought = sorted(_SYSTEM & metadata.keys()) if isinstance(metadata, dict) else []
    if not brought:
        return
    system: Fields = {"f:metadata": {f"f:{name}": LEAF for name in brought}}
    for owner, entry in list(entries.items()):
        fields = difference(entry.fields, system)
        if not fields:
            del entries[owner]
        elif fields is not entry.fields:
            entry.change(fields)


async def remove_changed_fields(
    entries: Entries,
    found: Comparison,
    old: JsonObject,
    new: JsonObject,
    api_version: str,
    models: Models,
    convert: Convert,
    reset: Reset,
) -> None:
    """Takes what has changed from all who own it, each at the version at which they do; who owns nothing is dropped.

    MisfitError if the object does not fit one of these versions: nothing prunes what is converted for its managers.
    APIError if it cannot be converted.
    """
    versions: dict[str, Comparison | None] = {api_version: found}
    for owner, entry in list(entries.items()):
        if entry.version not in versions:
            versions[entry.version] = await compare_at(entry.version, old, new, models, convert, reset)
        theirs = versions[entry.version]
        if theirs is None:
            del entries[owner]
            continue
        fields = entry.fields
        for part in theirs:
            if part:
                fields = difference(fields, part)
        if not fields:
            del entries[owner]
        elif fields is not entry.fields:
            entry.change(fields)


async def compare_at(
    version: str, old: JsonObject, new: JsonObject, models: Models, convert: Convert, reset: Reset
) -> Comparison | None:
    """What differs at another version; None if there is no such version."""
    model = models.get(version)
    if model is None:
        return None
    before, after = await convert(old, version), await convert(new, version)
    if before is None or after is None:
        return None
    before, after = strip_system_fields(before), strip_system_fields(after)
    applied_fields(before, model.root, unique=True)
    applied_fields(after, model.root, unique=True)
    return compare(before, after, model.root).excluding(reset.get(version))


class VersionConverter:
    """The versions of a kind, for a write that must not go on without them: what fails is told to the client."""

    def __init__(self, models: Models, convert: Convert) -> None:
        self.models = models
        self.convert = convert

    async def at(self, document: JsonObject, version: str, what: str = "") -> JsonObject | None:
        """The object at a version, fit for its schema; None if there is no such version. `what` leads the error."""
        if document.get("apiVersion") == version:
            return document
        if version not in self.models:
            return None
        kind = self.models[version].root
        try:
            converted = await self.convert(document, version)
            if converted is not None:
                applied_fields(converted, kind, unique=True)
        except errors.APIError as error:
            raise errors.UnknownReasonError(what + error.message) from None
        except MisfitError:
            raise errors.UnknownReasonError(what + type_errors(converted, kind)) from None
        return converted
