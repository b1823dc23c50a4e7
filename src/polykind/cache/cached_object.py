"""One stored object in memory: its bytes with the resourceVersion in them, and its forms at the served versions."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from polykind import errors
from polykind.codec import json_codec
from polykind.contract import JsonObject


class _Head(msgspec.Struct):
    metadata: msgspec.Raw
    apiVersion: str = ""  # noqa: N815


class _Meta(msgspec.Struct):
    uid: str
    labels: dict[str, str] | None = None
    resourceVersion: str | None = None  # noqa: N815


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_meta = msgspec.json.Decoder(_Meta).decode


class Representation:
    """An object as served at one version: the bytes, and what selections ask of it."""

    __slots__ = ("data", "fields", "labels")

    def __init__(self, data: bytes, labels: dict[str, str] | None) -> None:
        self.data = data
        self.labels = labels
        self.fields: dict[str, str] | None = None


class CachedObject(Representation):
    """One stored object at one revision; where it is clean it is itself its form at the version it is stored at.

    It never changes, but for the forms at other versions that are added to it on demand.
    """

    __slots__ = ("key", "namespace", "normalized", "representations", "revision", "schema_generation", "version")

    def __init__(
        self, key: str, data: bytes, revision: int, version: str, labels: dict[str, str] | None, clean: bool
    ) -> None:
        super().__init__(data, labels)
        self.key = key
        """The key below the resource's prefix: namespace/name, or name."""
        self.namespace = sys.intern(key[: key.rfind("/")]) if "/" in key else ""
        self.revision = revision
        self.version = version
        """The version it is stored at."""
        self.normalized = clean
        """Written through the current schema of its stored version: a read at that version changes nothing."""
        self.schema_generation = 0
        """Which state of the definition `forms` and `clean` belong to."""
        self.representations: dict[str, Representation] | None = None

    @property
    def name(self) -> str:
        return self.key[self.key.rfind("/") + 1 :]

    @property
    def raw(self) -> bytes:
        """The stored JSON, with metadata.resourceVersion spliced in."""
        return self.data

    def representation(self, version: str) -> Representation | None:
        """The form at a version that has been made before."""
        return self.representations.get(version) if self.representations is not None else None

    def add_representation(self, version: str, form: Representation) -> None:
        if self.representations is None:
            self.representations = {}
        self.representations[version] = form

    def invalidate(self, epoch: int) -> None:
        """The definition has changed: nothing that was made of this entry holds any more."""
        self.representations = self.fields = None
        self.normalized = False
        self.schema_generation = epoch

    def decode(self) -> JsonObject:
        """The stored object, decoded. Raises InternalError where others have stored something else."""
        try:
            value = json_codec.decode(self.raw)
        except errors.BadRequestError as error:
            raise errors.InternalError(f"{self.key} is not JSON in the store: {error.message}") from None
        if not isinstance(value, dict):
            raise errors.InternalError(f"{self.key} is not a JSON object in the store")
        return value

    def terminating(self) -> bool:
        """Whether its deletion has begun."""
        if b'"deletionTimestamp"' not in self.raw:
            return False
        try:
            meta = self.decode().get("metadata")
        except errors.InternalError:
            return False
        return isinstance(meta, dict) and bool(meta.get("deletionTimestamp"))


def intern_labels(labels: dict[str, str] | None) -> dict[str, str] | None:
    """Labels repeat across objects: share their texts."""
    if not labels:
        return None
    return {sys.intern(k): sys.intern(v) for k, v in labels.items()}


def parse_stored(key: str, value: bytes, revision: int, clean: bool) -> CachedObject:
    """An entry from stored bytes, without decoding more than the metadata.

    The resourceVersion is not part of what is stored; in bytes that were encoded with sorted keys its place is
    just before the uid, which ends the metadata.
    """
    try:
        head = _decode_head(value)
        raw_meta = bytes(head.metadata)
        meta = _decode_meta(raw_meta)
        tail = b',"uid":"%b"}' % meta.uid.encode()
        end = value.find(tail)
        # Another part of the object may be a copy of its metadata: then nobody can tell here which is which.
        if meta.resourceVersion is None and raw_meta.endswith(tail) and value.find(tail, end + 1) < 0:
            raw = b'%b,"resourceVersion":"%d"%b' % (value[:end], revision, value[end:].rstrip(b"\n"))
            version = sys.intern(head.apiVersion.rpartition("/")[2])
            return CachedObject(key, raw, revision, version, intern_labels(meta.labels), clean)
    except (msgspec.MsgspecError, ValueError):
        pass
    return _parse_foreign(key, value, revision)


def _parse_foreign(key: str, value: bytes, revision: int) -> CachedObject:
    """Bytes that others wrote: whatever they hold becomes an entry. What is no object is told to who reads it."""
    try:
        obj = json_codec.decode(value)
    except errors.BadRequestError:
        obj = None
    if not isinstance(obj, dict):
        return CachedObject(key, value, revision, "", None, False)
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        meta = obj["metadata"] = {}
    meta["resourceVersion"] = str(revision)
    api_version = obj.get("apiVersion")
    version = api_version.rpartition("/")[2] if isinstance(api_version, str) else ""
    return CachedObject(key, json_codec.encode(obj), revision, sys.intern(version), labels_of(obj), False)


def labels_of(obj: JsonObject) -> dict[str, str] | None:
    meta: Any = obj.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    if not isinstance(labels, dict):
        return None
    return {sys.intern(k): sys.intern(v) for k, v in labels.items() if isinstance(v, str)} or None
