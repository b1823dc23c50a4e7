"""The entries of metadata.managedFields: who owns which fields, at which version, since when."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

from polykind.apply import fieldset
from polykind.apply.fieldset import Fields
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.json import go_json

MAX_UPDATE_ENTRIES = 10
ANCIENT = "ancient-changes"

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z")
_moment = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
).fullmatch
_TEXTS = ("manager", "operation", "apiVersion", "fieldsType", "subresource")


class Owner(NamedTuple):
    """Who an entry belongs to. Who applies is one owner at every version, who updates is one at each."""

    manager: str
    operation: str
    version: str
    subresource: str

    def text(self) -> str:
        """By what owners are sorted where their entries' times do not tell."""
        named = {"manager": self.manager, "operation": self.operation, "apiVersion": self.version}
        parts = [f"{go_json(key)}:{go_json(value)}" for key, value in named.items() if value]
        if self.subresource:
            parts.append(f'"subresource":{go_json(self.subresource)}')
        return f"{{{','.join(parts)}}}"


def updater(manager: str, version: str, subresource: str) -> Owner:
    return Owner(manager or "unknown", "Update", version, subresource)


def applier(manager: str, subresource: str) -> Owner:
    return Owner(manager or "unknown", "Apply", "", subresource)


class Entry:
    """What an owner owns; `origin` is the entry as it stood in an object, if it has not been changed since."""

    __slots__ = ("fields", "origin", "time", "version")

    def __init__(self, fields: Fields, version: str, time: str | None, origin: JsonObject | None = None) -> None:
        self.fields = fields
        self.version = version
        self.time = time
        self.origin = origin

    def change(self, fields: Fields) -> None:
        self.fields = fields
        self.origin = None


Entries = dict[Owner, Entry]


def get_managed_fields(document: JsonObject | None) -> Any:
    """The managedFields of an object, whatever they are."""
    metadata = document.get("metadata") if document else None
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def has_entry_types(entry: Any) -> bool:
    """Whether a value has the types of an entry, valid or not."""
    if not isinstance(entry, dict):
        return False
    time = entry.get("time")
    if time is not None and not (isinstance(time, str) and _moment(time)):
        return False
    return all(isinstance(entry.get(name), str | None) for name in _TEXTS)


def decode(listed: Any, *, trusted: bool) -> Entries | None:
    """The entries of an object; None if they are not valid. `trusted` ones come from the store."""
    out: Entries = {}
    if not isinstance(listed, list):
        return out if listed is None else None
    for entry in listed:
        if not isinstance(entry, dict):
            return None
        operation = entry.get("operation")
        version = entry.get("apiVersion")
        manager = entry.get("manager") or ""
        subresource = entry.get("subresource") or ""
        if operation == "Update":
            owner = Owner(manager, "Update", version or "", subresource)
        elif operation == "Apply":
            owner = Owner(manager, "Apply", "", subresource)
        else:
            return None
        fields, time = entry.get("fieldsV1"), entry.get("time")
        if not version or entry.get("fieldsType") != "FieldsV1":
            return None
        if not (type(version) is type(manager) is type(subresource) is type(time or "") is str):
            return None
        try:
            if not trusted:
                out[owner] = Entry(fieldset.decode(fields), version, time)
            elif fieldset.is_field_set(fields or {}):
                out[owner] = Entry(fields or {}, version, time, entry)
            else:
                return None
        except (ValueError, RecursionError):
            return None
    return out


def validation_error(listed: Any) -> str | None:
    """What is wrong with the entries of an object, in the reference's words; None if they are valid."""
    if decode(listed, trusted=False) is not None:
        return None
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        known: JsonObject = entry if isinstance(entry, dict) else {}
        if known.get("operation") not in ("Apply", "Update"):
            return "operation must be `Apply` or `Update`"
        if not known.get("apiVersion"):
            return "apiVersion must not be empty"
        kind = known.get("fieldsType")
        if not kind:
            return f"missing fieldsType in managed fields entry {index}"
        if kind != "FieldsV1":
            return f"invalid fieldsType {go_quote(str(kind))} in managed fields entry {index}"
        try:
            fieldset.decode(known.get("fieldsV1"))
        except (ValueError, RecursionError) as error:
            return f"error decoding set: {error}"
    return "not a list of entries"


def is_reset(listed: Any, *, by_empty: bool) -> bool:
    """Whether a request asks to forget all entries: by one entry with nothing in it, or by an empty list.

    Custom resources lose an empty list when their metadata are read, so that there it does not count.
    """
    if not isinstance(listed, list):
        return False
    if not listed:
        return by_empty
    only = listed[0]
    return len(listed) == 1 and (only is None or (isinstance(only, dict) and not any(map(_stated, only.values()))))


def _stated(value: Any) -> bool:
    return value is not None and value != ""


def encode(entries: Entries, *, ordered: bool) -> list[JsonObject]:
    """The entries for an object, in the reference's order: by operation, then by whole seconds."""
    if len(entries) == 1:
        return [_encoded(owner, entry, ordered) for owner, entry in entries.items()]
    keyed = [
        ((owner.operation, sort_time(entry.time), owner.manager, entry.version, owner.subresource), owner, entry)
        for owner, entry in entries.items()
    ]
    keyed.sort(key=_first)
    return [_encoded(owner, entry, ordered) for _, owner, entry in keyed]


def _first(item: tuple[Any, ...]) -> Any:
    return item[0]


def _encoded(owner: Owner, entry: Entry, ordered: bool) -> JsonObject:
    if entry.origin is not None:
        return entry.origin
    out: JsonObject = {}
    if owner.manager:
        out["manager"] = owner.manager
    out["operation"] = owner.operation
    out["apiVersion"] = entry.version
    if entry.time is not None:
        out["time"] = entry.time
    out["fieldsType"] = "FieldsV1"
    out["fieldsV1"] = fieldset.sort_fields(entry.fields) if ordered else entry.fields
    if owner.subresource:
        out["subresource"] = owner.subresource
    return out


def sort_time(time: str | None) -> str:
    """A time for sorting: as text in UTC, to the second; first of all where there is none."""
    if time is None or _TIME.match(time):
        return time or ""
    try:
        moment = datetime.fromisoformat(time)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def cap_updates(entries: Entries) -> None:
    """Merges the oldest entries of updates, those of a version with each other, until no more than ten are left."""
    updaters = [owner for owner in entries if owner.operation == "Update"]
    left = len(updaters)
    if left <= MAX_UPDATE_ENTRIES:
        return
    updaters.sort(key=lambda owner: (sort_time(entries[owner].time), owner.text()))
    first: dict[str, Owner] = {}
    for owner in updaters:
        if left <= MAX_UPDATE_ENTRIES:
            return
        entry = entries[owner]
        if entry.version not in first:
            first[entry.version] = owner
            continue
        bucket = updater(ANCIENT, entry.version, "")
        if bucket not in entries:
            entries[bucket] = entries.pop(first[entry.version])
        merged = entries.pop(first[entry.version] if owner == bucket else owner)
        fields = fieldset.union(merged.fields, entries[bucket].fields)
        entries[bucket] = Entry(fields, entry.version, entry.time)
        left -= 1
