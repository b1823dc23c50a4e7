"""The entries of metadata.managedFields."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, NamedTuple

from polykind.apply import fieldset
from polykind.apply.fieldset import Fields
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.json import go_json

MAX_UPDATE_ENTRIES = 10
ANCIENT = "ancient-changes"

_UTC_SECONDS = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z")
_rfc3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
).fullmatch
_STRING_FIELDS = ("manager", "operation", "apiVersion", "fieldsType", "subresource")
SYSTEM_METADATA = frozenset(
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


class Owner(NamedTuple):
    """The identity of a field manager in managedFields.

    A manager that applies has one entry for all versions. A manager that updates has one entry per version.
    """

    manager: str
    operation: str
    version: str
    subresource: str

    def text(self) -> str:
        """Return the text by which kube-apiserver sorts managers whose entries have the same time."""
        fields = {"manager": self.manager, "operation": self.operation, "apiVersion": self.version}
        parts = [f"{go_json(key)}:{go_json(value)}" for key, value in fields.items() if value]
        if self.subresource:
            parts.append(f'"subresource":{go_json(self.subresource)}')
        return f"{{{','.join(parts)}}}"


def updater(manager: str, version: str, subresource: str) -> Owner:
    return Owner(manager or "unknown", "Update", version, subresource)


def applier(manager: str, subresource: str) -> Owner:
    return Owner(manager or "unknown", "Apply", "", subresource)


class Entry:
    """A managedFields entry: the fields of one manager, their version and the time of the last change.

    `origin` is the JSON from which the entry was decoded, or None if the entry has changed since.
    """

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


def change_entry(entries: Entries, owner: Owner, fields: Fields) -> None:
    """Set the fields of the entry of `owner`. Remove the entry if `fields` is empty."""
    if not fields:
        del entries[owner]
    elif fields is not entries[owner].fields:
        entries[owner].change(fields)


def get_managed_fields(document: JsonObject | None) -> Any:
    """Return the managedFields of an object without checking them."""
    metadata = document.get("metadata") if document else None
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def has_entry_types(entry: Any) -> bool:
    """True if a value and its fields have the JSON types of a managedFields entry. Their contents may be invalid."""
    if not isinstance(entry, dict):
        return False
    time = entry.get("time")
    if time is not None and not (isinstance(time, str) and _rfc3339(time)):
        return False
    return all(isinstance(entry.get(name), str | None) for name in _STRING_FIELDS)


def decode(entry_list: Any, *, trusted: bool) -> Entries | None:
    """Decode managedFields. Return None if they are invalid. `trusted` is true for stored managedFields."""
    out: Entries = {}
    if not isinstance(entry_list, list):
        return out if entry_list is None else None
    for entry in entry_list:
        decoded = _decode_entry(entry, trusted=trusted) if isinstance(entry, dict) else None
        if decoded is None:
            return None
        out[decoded[0]] = decoded[1]
    return out


def _decode_entry(entry: JsonObject, *, trusted: bool) -> tuple[Owner, Entry] | None:
    """Decode one entry of managedFields. Return None if it is invalid."""
    operation, version = entry.get("operation"), entry.get("apiVersion")
    manager, subresource = entry.get("manager") or "", entry.get("subresource") or ""
    fields, time = entry.get("fieldsV1"), entry.get("time")
    if operation not in ("Update", "Apply") or not version or entry.get("fieldsType") != "FieldsV1":
        return None
    if not (type(version) is type(manager) is type(subresource) is type(time or "") is str):
        return None
    owner = Owner(manager, operation, version if operation == "Update" else "", subresource)
    try:
        if not trusted:
            return owner, Entry(fieldset.decode(fields), version, time)
        if fieldset.is_field_set(fields or {}):
            return owner, Entry(fields or {}, version, time, entry)
    except (ValueError, RecursionError):
        pass
    return None


def validation_error(entry_list: Any) -> str | None:
    """Return kube-apiserver's error for invalid managedFields. Return None if they are valid."""
    if decode(entry_list, trusted=False) is not None:
        return None
    for index, entry in enumerate(entry_list if isinstance(entry_list, list) else ()):
        entry_fields: JsonObject = entry if isinstance(entry, dict) else {}
        if entry_fields.get("operation") not in ("Apply", "Update"):
            return "operation must be `Apply` or `Update`"
        if not entry_fields.get("apiVersion"):
            return "apiVersion must not be empty"
        kind = entry_fields.get("fieldsType")
        if not kind:
            return f"missing fieldsType in managed fields entry {index}"
        if kind != "FieldsV1":
            return f"invalid fieldsType {go_quote(str(kind))} in managed fields entry {index}"
        try:
            fieldset.decode(entry_fields.get("fieldsV1"))
        except (ValueError, RecursionError) as error:
            return f"error decoding set: {error}"
    return "not a list of entries"


def is_reset(entry_list: Any, *, by_empty: bool) -> bool:
    """True if the managedFields of a request ask the server to clear all entries of the object.

    A list with one empty entry asks for this. An empty list asks for it only if `by_empty` is true, which it is not for
    custom resources.
    """
    if not isinstance(entry_list, list):
        return False
    if not entry_list:
        return by_empty
    single = entry_list[0]
    return len(entry_list) == 1 and (
        single is None or (isinstance(single, dict) and not any(map(_is_set, single.values())))
    )


def _is_set(value: Any) -> bool:
    return value is not None and value != ""


def encode(entries: Entries, *, ordered: bool) -> list[JsonObject]:
    """Encode entries in kube-apiserver's order: by operation, time in seconds, manager, version and subresource."""
    if len(entries) == 1:
        return [_encode_entry(owner, entry, ordered) for owner, entry in entries.items()]
    keyed = [
        ((owner.operation, sort_time(entry.time), owner.manager, entry.version, owner.subresource), owner, entry)
        for owner, entry in entries.items()
    ]
    keyed.sort(key=itemgetter(0))
    return [_encode_entry(owner, entry, ordered) for _, owner, entry in keyed]


def _encode_entry(owner: Owner, entry: Entry, ordered: bool) -> JsonObject:
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
    """Return a time as UTC text in whole seconds for sorting. A missing time sorts first."""
    if time is None or _UTC_SECONDS.match(time):
        return time or ""
    try:
        moment = datetime.fromisoformat(time)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def cap_updates(entries: Entries) -> None:
    """Merge the oldest update entries of the same version until at most MAX_UPDATE_ENTRIES update entries are left."""
    update_owners = [owner for owner in entries if owner.operation == "Update"]
    update_count = len(update_owners)
    if update_count <= MAX_UPDATE_ENTRIES:
        return
    update_owners.sort(key=lambda owner: (sort_time(entries[owner].time), owner.text()))
    first_owner: dict[str, Owner] = {}
    for owner in update_owners:
        if update_count <= MAX_UPDATE_ENTRIES:
            return
        entry = entries[owner]
        if entry.version not in first_owner:
            first_owner[entry.version] = owner
            continue
        bucket = updater(ANCIENT, entry.version, "")
        if bucket not in entries:
            entries[bucket] = entries.pop(first_owner[entry.version])
        oldest = entries.pop(first_owner[entry.version] if owner == bucket else owner)
        fields = fieldset.union(oldest.fields, entries[bucket].fields)
        entries[bucket] = Entry(fields, entry.version, entry.time)
        update_count -= 1


def strip_system_fields(document: JsonObject) -> JsonObject:
    """Return the object without apiVersion, kind and the system metadata, which no manager can own."""
    out = {name: value for name, value in document.items() if name != "apiVersion" and name != "kind"}
    metadata = out.get("metadata")
    if isinstance(metadata, dict):
        out["metadata"] = {name: value for name, value in metadata.items() if name not in SYSTEM_METADATA}
    return out
