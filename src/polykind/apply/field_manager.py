"""The field manager: what every write makes of metadata.managedFields."""

from __future__ import annotations

from typing import Any, Final

from polykind import errors
from polykind.apply import managed_fields
from polykind.apply.compare import Comparison, compare, json_equal
from polykind.apply.fieldset import EMPTY, LEAF, Fields, difference, recursive_difference, union
from polykind.apply.managed_fields import Entries, Entry
from polykind.apply.model import MisfitError, Type
from polykind.apply.ownership import (
    MAIN_RESET,
    STATUS_RESET,
    Convert,
    Models,
    Reset,
    disown_system,
    reconcile_schema,
    remove_changed_fields,
    strip_system_fields,
)
from polykind.apply.server_side_apply import apply
from polykind.apply.typed_value import all_fields, check_type
from polykind.contract import JsonObject

__all__ = [
    "MAIN_RESET",
    "STATUS_RESET",
    "Convert",
    "Models",
    "Reset",
    "apply",
    "equal_ignoring_times",
    "update",
]

_METADATA: Final[Fields] = {"f:metadata": LEAF}
_ROOT: Final[Fields] = {".": LEAF, **_METADATA}


async def update(
    live: JsonObject | None,
    new: JsonObject,
    *,
    manager: str,
    api_version: str,
    subresource: str,
    now: str,
    models: Models,
    convert: Convert,
    reset: Reset | None = None,
) -> list[JsonObject]:
    """The managedFields after a create (`live` is None), an update or a patch that is no apply; never an error.

    The objects are at `api_version`; `new` is what the request makes of the object, before it is stored.
    """
    model = models[api_version]
    if live is None and not model.zero and managed_fields.get_managed_fields(new) is None:
        fields = _created(new, model.root, (reset or {}).get(api_version))
        owner = managed_fields.updater(manager, api_version, subresource)
        return managed_fields.encode({owner: Entry(fields, api_version, now)}, ordered=model.ordered) if fields else []
    entries = _entries_of(live, new, subresource, by_empty=model.ordered)
    if not entries and live is not None:
        # Whoever had the entries cleared is not tracked again before somebody applies.
        return []
    reset = reset or {}
    try:
        old = live if live is not None else model.zero
        await reconcile_schema(entries, models, old, convert)
        if live is None:
            disown_system(entries, new)
        before, after = strip_system_fields(old), strip_system_fields(new)
        # What is put back later nobody else looks at; what is there may not fit if the schema has changed since.
        check_type(after, model.root)
        alike = [name for name, value in before.items() if name in after and json_equal(value, after[name])]
        for name in alike:
            del before[name], after[name]
        check_type(before, model.root)
        found = compare(before, after, model.root).excluding(reset.get(api_version))
        # Even where nothing changes the object is looked at, at every version that has an entry.
        await remove_changed_fields(entries, found, old, new, api_version, models, convert, reset)
        if found:
            _own(entries, found, managed_fields.updater(manager, api_version, subresource), now)
        managed_fields.cap_updates(entries)
    except (MisfitError, RecursionError, errors.APIError):
        # What does not fit its schema is refused when it is validated; the entries are of no use then. Nor are they
        # where the object cannot be had at one of their versions.
        return []
    return managed_fields.encode(entries, ordered=model.ordered)


def _created(new: JsonObject, root: Type, reset: Fields | None) -> Fields:
    """What the creator of an object owns: all there is. Nothing if it does not fit."""
    try:
        fields = difference(all_fields(strip_system_fields(new), root), _ROOT)
        if reset:
            # What is in lists that are owned as a whole is left to the validation, which will not see this.
            check_type({name: new[name] for key in reset if (name := key[2:]) in new}, root)
    except (MisfitError, RecursionError):
        return EMPTY
    return recursive_difference(fields, reset) if reset else fields


def equal_ignoring_times(old: JsonObject, new: JsonObject) -> bool:
    """Whether two states of an object differ in nothing but the times of managedFields (and the resourceVersion)."""
    ours, theirs = old.get("metadata"), new.get("metadata")
    if not isinstance(ours, dict) or not isinstance(theirs, dict) or old.keys() != new.keys():
        return False
    for name in ours.keys() | theirs.keys():
        if name == "managedFields":
            if _timeless(ours.get(name)) != _timeless(theirs.get(name)):
                return False
        elif name != "resourceVersion" and not json_equal(ours.get(name), theirs.get(name)):
            return False
    return all(name == "metadata" or json_equal(value, new[name]) for name, value in old.items())


def _timeless(listed: Any) -> Any:
    if not isinstance(listed, list):
        return listed or []
    return [
        {key: value for key, value in entry.items() if key != "time"} if isinstance(entry, dict) else entry
        for entry in listed
    ]


def _own(entries: Entries, found: Comparison, owner: managed_fields.Owner, now: str) -> None:
    fields = difference(union(found.modified, found.added), _METADATA)
    if not fields:
        return
    previous = entries.get(owner)
    if previous is not None:
        fields = union(previous.fields, fields)
    entries[owner] = Entry(fields, owner.version, now)


def _entries_of(live: JsonObject | None, new: JsonObject, subresource: str, *, by_empty: bool) -> Entries:
    """Where a write starts from: the entries that the request states, else those of the object."""
    stored = managed_fields.get_managed_fields(live)
    stated = None if subresource else managed_fields.get_managed_fields(new)
    if stated is not None and stated is not stored:
        if managed_fields.is_reset(stated, by_empty=by_empty):
            return {}
        if stated != stored and (entries := managed_fields.decode(stated, trusted=False)):
            return entries
    return managed_fields.decode(stored, trusted=True) or {}
