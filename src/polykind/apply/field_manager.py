"""The field manager: computes metadata.managedFields for every write."""

from __future__ import annotations

from typing import Any, Final

from polykind import errors
from polykind.apply import managed_fields, ownership
from polykind.apply.apply_operation import apply
from polykind.apply.compare import Comparison, compare, json_equal
from polykind.apply.fieldset import EMPTY, LEAF, Fields, difference, recursive_difference, union
from polykind.apply.managed_fields import Entries, Entry, strip_system_fields
from polykind.apply.model import Type, TypeMismatchError
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET, Convert, Models, Reset
from polykind.apply.typed_value import all_fields, check_type
from polykind.contract import JsonObject

__all__ = ["MAIN_RESET", "STATUS_RESET", "Convert", "Models", "Reset", "apply", "equal_ignoring_times", "update"]

_METADATA: Final[Fields] = {"f:metadata": LEAF}
_ROOT: Final[Fields] = {".": LEAF, **_METADATA}
_TRACKED: Final = ("managedFields", "resourceVersion")


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
    raise_conversion_errors: bool = False,
    validated: bool = False,
) -> list[JsonObject]:
    """Return the managedFields after a create, an update or a patch. Not called for apply.

    `live` is the stored object, or None for a create. `new` is the object that the request would store. Both are at
    `api_version`. If the object cannot be converted to the version of an entry, raise the APIError if
    `raise_conversion_errors` is true. Otherwise drop all entries, as kube-apiserver does. Raise no other exception.
    `validated` is true if `new` is valid, so that its types need no check.
    """
    model = models[api_version]
    if live is None and not model.zero and managed_fields.get_managed_fields(new) is None:
        fields = _created_fields(new, model.root, (reset or {}).get(api_version))
        owner = managed_fields.updater(manager, api_version, subresource)
        return managed_fields.encode({owner: Entry(fields, api_version, now)}, ordered=model.ordered) if fields else []
    entries = _current_entries(live, new, subresource, by_empty=model.ordered)
    if not entries and live is not None:
        # As in kube-apiserver, managedFields that a client has cleared stay empty until the next apply.
        return []
    reset = reset or {}
    try:
        old = live if live is not None else model.zero
        await ownership.reconcile_schema(entries, models, old, convert)
        if live is None:
            ownership.disown_system(entries, new)
        before, after = strip_system_fields(old), strip_system_fields(new)
        # Check the whole new object, even the fields in `reset`, whose old values are restored later. The old object
        # may not match its type if the schema has changed since it was written, so check only its changed fields.
        if not validated:
            check_type(after, model.root, decoded=model.ordered)
        unchanged = [name for name, value in before.items() if name in after and json_equal(value, after[name])]
        for name in unchanged:
            del before[name], after[name]
        check_type(before, model.root, decoded=model.ordered)
        comparison = compare(before, after, model.root).excluding(reset.get(api_version))
        # Even without a change, the object is converted to every version that has an entry, as in kube-apiserver.
        await ownership.remove_changed_fields(entries, comparison, old, new, api_version, models, convert, reset)
        if comparison:
            _add_ownership(entries, comparison, managed_fields.updater(manager, api_version, subresource), now)
        managed_fields.cap_updates(entries)
    except errors.APIError:
        if raise_conversion_errors:
            raise
        return []
    except (TypeMismatchError, RecursionError):
        # If the object does not match its schema, validation rejects it, so its managedFields do not matter.
        return []
    return managed_fields.encode(entries, ordered=model.ordered)


def _created_fields(new: JsonObject, root: Type, reset: Fields | None) -> Fields:
    """Return the fields that the creator of an object owns. The set is empty if the object does not match its type."""
    try:
        fields = difference(all_fields(strip_system_fields(new), root), _ROOT)
        if reset:
            # The fields in `reset` are removed before validation, so check them here.
            check_type({name: new[name] for key in reset if (name := key[2:]) in new}, root)
    except (TypeMismatchError, RecursionError):
        return EMPTY
    return recursive_difference(fields, reset) if reset else fields


def equal_ignoring_times(old: JsonObject, new: JsonObject) -> bool:
    """True if two states of an object differ only in the times of managedFields and in resourceVersion."""
    old_metadata, new_metadata = old.get("metadata"), new.get("metadata")
    if not isinstance(old_metadata, dict) or not isinstance(new_metadata, dict) or old.keys() != new.keys():
        return False
    for name, value in old.items():
        if name != "metadata" and not json_equal(value, new[name]):
            return False
    for name in old_metadata.keys() | new_metadata.keys():
        if name not in _TRACKED and not json_equal(old_metadata.get(name), new_metadata.get(name)):
            return False
    # Compare the managers last, because a copy without times takes the longest.
    return bool(_without_times(old_metadata.get("managedFields")) == _without_times(new_metadata.get("managedFields")))


def _without_times(listed: Any) -> Any:
    if not isinstance(listed, list):
        return listed or []
    return [
        {key: value for key, value in entry.items() if key != "time"} if isinstance(entry, dict) else entry
        for entry in listed
    ]


def _add_ownership(entries: Entries, comparison: Comparison, owner: managed_fields.Owner, now: str) -> None:
    fields = difference(union(comparison.modified, comparison.added), _METADATA)
    if not fields:
        return
    previous = entries.get(owner)
    if previous is not None:
        fields = union(previous.fields, fields)
    entries[owner] = Entry(fields, owner.version, now)


def _current_entries(live: JsonObject | None, new: JsonObject, subresource: str, *, by_empty: bool) -> Entries:
    """Return the managedFields entries to start from: those of the request if it changes them, else the stored ones."""
    stored = managed_fields.get_managed_fields(live)
    requested = None if subresource else managed_fields.get_managed_fields(new)
    if requested is not None and requested is not stored:
        if managed_fields.is_reset(requested, by_empty=by_empty):
            return {}
        if requested != stored and (entries := managed_fields.decode(requested, trusted=False)):
            return entries
    return managed_fields.decode(stored, trusted=True) or {}
