"""A stored object in the watch cache, with its encoded representations at the served versions."""

from __future__ import annotations

import re
import secrets
import sys
from typing import Any

import msgspec

from polykind import errors
from polykind.codec import json_codec
from polykind.contract import DAMAGED_VALUE, ENCRYPTED_PREFIX, JsonObject, unreadable_reason


class _StoredHead(msgspec.Struct):
    metadata: msgspec.Raw
    apiVersion: str = ""  # noqa: N815


class _StoredMetadata(msgspec.Struct):
    uid: str
    labels: dict[str, str] | None = None
    resourceVersion: str | None = None  # noqa: N815


class _LabelsOnly(msgspec.Struct):
    labels: dict[str, str] | None = None


class _HeadWithLabels(msgspec.Struct):
    metadata: _LabelsOnly


_decode_head = msgspec.json.Decoder(_StoredHead).decode
_decode_metadata = msgspec.json.Decoder(_StoredMetadata).decode
_decode_labels = msgspec.json.Decoder(_HeadWithLabels).decode

UNREAD_LABELS: dict[str, str] = {}
"""The value of `known_labels` if the labels have not been read from the JSON yet."""


class Representation(msgspec.Struct, gc=False, eq=False):
    """An object as clients see it at one version: its JSON, and the labels and fields that selectors match.

    Representations and cached objects refer to no other objects than their own values, so they cannot be part of a
    reference cycle. They are therefore hidden from Python's garbage collector, which would otherwise stop the server
    for a tenth of a second to visit a million of them.
    """

    data: bytes
    known_labels: dict[str, str] | None
    fields: dict[str, str] | None = None

    @property
    def labels(self) -> dict[str, str] | None:
        """The labels, or None if there are none. A load does not read them, so the first use may have to."""
        if self.known_labels is UNREAD_LABELS:
            self.known_labels = intern_labels(_decode_labels(self.data).metadata.labels)
        return self.known_labels

    def label(self, key: str) -> str | None:
        """Return the value of a label, or None. Do not keep unread labels: an index needs one value of every object."""
        labels = self.known_labels
        if labels is UNREAD_LABELS:
            labels = _decode_labels(self.data).metadata.labels
        return labels.get(key) if labels else None


class ConvertedRepresentation(Representation, gc=False, eq=False, kw_only=True):
    """A representation that a converter has computed."""

    converted_at: float
    """The time at which the conversion began, which the representations of one call share."""


class CachedObject(Representation, gc=False, eq=False, kw_only=True):
    """One stored object at one revision.

    If `normalized` is true, the stored bytes are also the representation at the stored version, so reads at that
    version need no work. Representations at other versions are computed on demand and cached in `representations`.
    Other attributes do not change.
    """

    key: str
    """The key in the store without the resource's prefix: namespace/name, or name."""
    revision: int
    version: str
    """The version that the object is stored at."""
    normalized: bool
    """True if pruning and defaulting with the current schema of the stored version would change nothing."""
    schema_generation: int = 0
    """The schema generation of the CRD for which `normalized` and `representations` are valid."""
    representations: dict[str, Representation] | None = None

    @property
    def namespace(self) -> str:
        """The namespace, or "" if the resource is cluster-scoped."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key[self.key.rfind("/") + 1 :]

    @property
    def raw(self) -> bytes:
        """The stored JSON with metadata.resourceVersion inserted."""
        return self.data

    @property
    def stored_size(self) -> int:
        """The number of stored bytes, before encryption."""
        return len(self.data) - len(_KEY) - len(str(self.revision)) - 1

    def representation(self, version: str) -> Representation | None:
        """Return the cached representation at a version, or None if it has not been computed."""
        return self.representations.get(version) if self.representations is not None else None

    def add_representation(self, version: str, representation: Representation) -> None:
        if self.representations is None:
            self.representations = {}
        self.representations[version] = representation

    def invalidate(self, schema_generation: int) -> None:
        """Drop all cached representations because the CRD's schema has changed."""
        self.representations = self.fields = None
        self.normalized = False
        self.schema_generation = schema_generation

    def decode(self) -> JsonObject:
        """Decode the stored object. Raise InternalError if the bytes are damaged or are not a JSON object."""
        if self.data is DAMAGED_VALUE:
            raise errors.InternalError(f"{self.key} is damaged in the store: its checksum does not match")
        if reason := unreadable_reason(self.data):
            raise errors.InternalError(reason)
        try:
            value = json_codec.decode(self.raw)
        except errors.BadRequestError as error:
            if self.data.startswith(ENCRYPTED_PREFIX):
                text = "is encrypted in the store: start the server with --encryption-provider-config"
                raise errors.InternalError(f"{self.key} {text}") from None
            raise errors.InternalError(f"{self.key} is not JSON in the store: {error.message}") from None
        if not isinstance(value, dict):
            raise errors.InternalError(f"{self.key} is not a JSON object in the store")
        return value

    def terminating(self) -> bool:
        """True if the object has a deletionTimestamp."""
        if b'"deletionTimestamp"' not in self.raw:
            return False
        try:
            meta = self.decode().get("metadata")
        except errors.InternalError:
            return False
        return isinstance(meta, dict) and bool(meta.get("deletionTimestamp"))


class IrregularObject(CachedObject, gc=False, eq=False, kw_only=True):
    """An object that is not simply its stored bytes with the resourceVersion inserted at `uid_place`.

    Another `uid` comes before its own, such as a label, or another program has stored it in another form.
    """


def _build(
    key: str, data: bytes, labels: dict[str, str] | None, revision: int, version: str, normalized: bool, regular: bool
) -> CachedObject:
    cls = CachedObject if regular else IrregularObject
    return cls(data, labels, key=key, revision=revision, version=version, normalized=normalized)


def intern_labels(labels: dict[str, str] | None) -> dict[str, str] | None:
    """Intern the keys and values of labels, because many objects share them. Return None if there are no labels."""
    if not labels:
        return None
    return {sys.intern(k): sys.intern(v) for k, v in labels.items()}


def parse_stored(key: str, value: bytes, revision: int, normalized: bool) -> CachedObject:
    """Build a CachedObject from stored bytes, decoding no more than the metadata.

    resourceVersion is not stored. In JSON with sorted keys, it comes just before `uid`, the last field of metadata.
    """
    try:
        head = _decode_head(value)
        raw_metadata = bytes(head.metadata)
        metadata = _decode_metadata(raw_metadata)
        tail = b',"uid":"%b"}' % metadata.uid.encode()
        end = value.find(tail)
        # If `tail` occurs twice (the object may contain a copy of its metadata), the place to insert is ambiguous.
        if metadata.resourceVersion is None and raw_metadata.endswith(tail) and value.find(tail, end + 1) < 0:
            raw = b'%b,"resourceVersion":"%d"%b' % (value[:end], revision, value[end:].rstrip(b"\n"))
            version = sys.intern(head.apiVersion.rpartition("/")[2])
            regular = uid_place(value) == end
            return _build(key, raw, intern_labels(metadata.labels), revision, version, normalized, regular)
    except (msgspec.MsgspecError, ValueError):
        pass
    return _parse_external(key, value, revision)


match_head = re.compile(rb'\{"apiVersion":"(?:[^"/\\]*/)?([^"/\\]*)","kind":"[^"\\]*","metadata":').match
"""Match the JSON of an object up to its metadata. The first group is the version."""
_UID = b',"uid":"'
_UID_OF_OWNER_END = b'"}],"uid":"'


def uid_place(value: bytes, start: int = 0) -> int:
    """Return the place of the object's `uid` in stored bytes: of the first one, or of the next if it has one owner."""
    at = value.find(_UID, start)
    end = value.find(b'"', at + len(_UID))
    return end + 3 if value.startswith(_UID_OF_OWNER_END, end) else at


def parse_normalized(key: str, value: bytes, revision: int) -> CachedObject:
    """Build a CachedObject from stored bytes that are known to be normalized JSON, decoding only their metadata.

    This takes a third of the time of `parse_stored`, because it does not read what follows the metadata.
    """
    head = match_head(value)
    if head is not None:
        start = head.end()
        at = value.find(_UID, start)
        end = value.find(b"}", at) + 1
        try:
            # If this text is a complete JSON object, it is the metadata. A `uid` elsewhere, such as in an annotation,
            # leaves it incomplete.
            metadata = _decode_metadata(value[start:end])
        except (msgspec.MsgspecError, ValueError):
            return parse_stored(key, value, revision, True)
        uid_is_last = value.startswith(metadata.uid.encode() + b'"}', at + len(_UID))
        if at > 0 and metadata.resourceVersion is None and uid_is_last:
            raw = b'%b,"resourceVersion":"%d"%b' % (value[:at], revision, value[at:].rstrip(b"\n"))
            version = sys.intern(head[1].decode())
            return _build(key, raw, intern_labels(metadata.labels), revision, version, True, True)
    return parse_stored(key, value, revision, True)


def _parse_external(key: str, value: bytes, revision: int) -> CachedObject:
    """Parse bytes written by another program, such as kube-apiserver.

    Never raises an error: if the bytes are not a JSON object, `decode` of the CachedObject raises the error later.
    """
    try:
        obj = json_codec.decode(value)
    except errors.BadRequestError:
        obj = None
    if not isinstance(obj, dict):
        return IrregularObject(value, None, key=key, revision=revision, version="", normalized=False)
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        meta = obj["metadata"] = {}
    meta["resourceVersion"] = str(revision)
    api_version = obj.get("apiVersion")
    version = sys.intern(api_version.rpartition("/")[2] if isinstance(api_version, str) else "")
    data, labels = json_codec.encode(obj), _read_labels(meta.get("labels"))
    return IrregularObject(data, labels, key=key, revision=revision, version=version, normalized=False)


def _read_labels(labels: Any) -> dict[str, str] | None:
    """Return the labels that clients see. If a value is not a text, they see no labels."""
    if not isinstance(labels, dict) or not all(value is None or isinstance(value, str) for value in labels.values()):
        return None
    return intern_labels({key: value or "" for key, value in labels.items()})


def labels_of(obj: JsonObject) -> dict[str, str] | None:
    """Return an object's labels, interned. Return None if it has none."""
    meta: Any = obj.get("metadata")
    labels = meta.get("labels") if isinstance(meta, dict) else None
    if not isinstance(labels, dict):
        return None
    return {sys.intern(k): sys.intern(v) for k, v in labels.items() if isinstance(v, str)} or None


_PLACEHOLDER = f"rv-{secrets.token_hex(12)}"
_PLACEHOLDER_BYTES = _PLACEHOLDER.encode()
_has_negative_zero = re.compile(rb"[:,\[]-0[,\]}]").search
_KEY = b',"resourceVersion":"'


class Encoded:
    """An object's JSON in two parts, before and after the text of its resourceVersion."""

    __slots__ = ("_labels", "_version", "head", "tail")

    def __init__(self, obj: JsonObject, *, integers_only: bool = False) -> None:
        """Encode an object. If `integers_only` is true, the object contains no floats and a faster encoder is used."""
        meta = obj["metadata"]
        self._labels = labels_of(obj)
        self._version = sys.intern(obj["apiVersion"].rpartition("/")[2])
        before = meta.get("resourceVersion")
        meta["resourceVersion"] = _PLACEHOLDER
        text = json_codec.encode(obj, no_floats=integers_only)
        if not integers_only and b"-0" in text and _has_negative_zero(text):
            # Decoding turns -0 into 0, so the stored bytes must already contain 0.
            text = json_codec.encode(json_codec.decode(text))
        self.head, _, self.tail = text.partition(_PLACEHOLDER_BYTES)
        if before is None:
            del meta["resourceVersion"]
        else:
            meta["resourceVersion"] = before

    def same(self, other: Encoded) -> bool:
        """True if both objects are equal apart from their resourceVersions."""
        return self.head == other.head and self.tail == other.tail

    def matches(self, cached: CachedObject) -> bool:
        """True if the object equals a cached object, apart from its resourceVersion."""
        raw, revision = cached.raw, b"%d" % cached.revision
        if len(raw) != len(self.head) + len(revision) + len(self.tail):
            return False
        return raw.startswith(self.head) and raw.endswith(self.tail) and raw.startswith(revision, len(self.head))

    def stored(self) -> bytes:
        """Return the bytes to store, without resourceVersion. Remove the comma before it, since `name` precedes it."""
        return self.head[: -len(_KEY)] + self.tail[1:]

    def served(self, revision: int) -> bytes:
        """Return the bytes to serve, with the revision as resourceVersion."""
        return b"%b%d%b" % (self.head, revision, self.tail)

    def cached_object(self, key: str, stored: bytes, revision: int, normalized: bool) -> CachedObject:
        """Return the CachedObject that `parse_stored` would build from the stored bytes, without parsing them."""
        regular = uid_place(stored) == len(self.head) - len(_KEY)
        return _build(key, self.served(revision), self._labels, revision, self._version, normalized, regular)
