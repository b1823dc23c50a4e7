"""One stored object in memory: its bytes with the resourceVersion in them, and its forms at the served versions."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from polykind.contract import JsonObject
from polykind.wire import codec


class _Head(msgspec.Struct):
    metadata: msgspec.Raw
    apiVersion: str = ""  # noqa: N815


class _Meta(msgspec.Struct):
    uid: str
    labels: dict[str, str] | None = None
    resourceVersion: str | None = None  # noqa: N815


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_meta = msgspec.json.Decoder(_Meta).decode


class Form:
    """An object as served at one version: the bytes, and what selections ask of it."""

    __slots__ = ("data", "fields", "labels")

    def __init__(self, data: bytes, labels: dict[str, str] | None) -> None:
        self.data = data
        self.labels = labels
        self.fields: dict[str, str] | None = None


class Entry:
    """One object at one revision. It never changes, but for the forms that are added to it on demand."""

    __slots__ = ("clean", "epoch", "forms", "key", "labels", "name", "namespace", "raw", "revision", "version")

    def __init__(
        self, key: str, raw: bytes, revision: int, version: str, labels: dict[str, str] | None, clean: bool
    ) -> None:
        self.key = key
        """The key below the resource's prefix: namespace/name, or name."""
        namespace, _, name = key.rpartition("/")
        self.namespace = namespace
        self.name = name
        self.raw = raw
        """The stored JSON, with metadata.resourceVersion spliced in."""
        self.revision = revision
        self.version = version
        """The version it is stored at."""
        self.labels = labels
        self.clean = clean
        """Written through the current schema of its stored version: a read at that version changes nothing."""
        self.epoch = 0
        """Which state of the definition `forms` and `clean` belong to."""
        self.forms: dict[str, Form] = {}

    def value(self) -> JsonObject:
        """The stored object, decoded."""
        value = codec.decode(self.raw)
        if not isinstance(value, dict):
            raise ValueError(f"{self.key} is not a JSON object in the store")
        return value


def intern_labels(labels: dict[str, str] | None) -> dict[str, str] | None:
    """Labels repeat across objects: share their texts."""
    if not labels:
        return None
    return {sys.intern(k): sys.intern(v) for k, v in labels.items()}


def parse(key: str, value: bytes, revision: int, clean: bool) -> Entry:
    """An entry from stored bytes, without decoding more than the metadata.

    The resourceVersion is not part of what is stored; in bytes that were encoded with sorted keys its place is
    just before the uid, which ends the metadata.
    """
    try:
        head = _decode_head(value)
        raw_meta = bytes(head.metadata)
        meta = _decode_meta(raw_meta)
        tail = b',"uid":"%b"}' % meta.uid.encode()
        if meta.resourceVersion is None and raw_meta.endswith(tail):
            end = value.index(raw_meta) + len(raw_meta) - len(tail)
            raw = b'%b,"resourceVersion":"%d"%b' % (value[:end], revision, value[end:].rstrip(b"\n"))
            version = sys.intern(head.apiVersion.rpartition("/")[2])
            return Entry(key, raw, revision, version, intern_labels(meta.labels), clean)
    except (msgspec.MsgspecError, ValueError):
        pass
    return _parse_foreign(key, value, revision)


def _parse_foreign(key: str, value: bytes, revision: int) -> Entry:
    """Bytes that others wrote: whatever they hold becomes an entry, so that it can be seen and mended."""
    obj = codec.decode(value)
    if not isinstance(obj, dict):
        obj = {"metadata": {}}
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        meta = obj["metadata"] = {}
    meta["resourceVersion"] = str(revision)
    api_version = obj.get("apiVersion")
    version = api_version.rpartition("/")[2] if isinstance(api_version, str) else ""
    return Entry(key, codec.encode(obj), revision, sys.intern(version), labels_of(obj), False)


def labels_of(obj: JsonObject) -> dict[str, str] | None:
    meta: Any = obj.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    if not isinstance(labels, dict):
        return None
    return intern_labels({k: v for k, v in labels.items() if isinstance(v, str)})
