"""The requests and responses of etcd's v3 gRPC API that a store needs."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

import orjson

from polykind.apis import machinery
from polykind.apis.groups import find_decodable_kind
from polykind.apis.machinery.protobuf_envelope import MAGIC, decode_envelope
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.codec import protobuf_wire
from polykind.codec.protobuf_wire import iter_fields
from polykind.contract import ENCRYPTED_PREFIX, KeyValue
from polykind.errors import APIError
from polykind.golang.varint import encode_varint

RANGE = "/etcdserverpb.KV/Range"
TXN = "/etcdserverpb.KV/Txn"
COMPACT = "/etcdserverpb.KV/Compact"
WATCH = "/etcdserverpb.Watch/Watch"
LEASE_GRANT = "/etcdserverpb.Lease/LeaseGrant"
LEASE_REVOKE = "/etcdserverpb.Lease/LeaseRevoke"
LEASE_KEEP_ALIVE = "/etcdserverpb.Lease/LeaseKeepAlive"
STATUS = "/etcdserverpb.Maintenance/Status"

# Matches a response header up to the revision. Skips the cluster id and the member id, which are not needed here.
_REVISION = re.compile(
    rb"(?:\x08[\x80-\xff]*[\0-\x7f])?(?:\x10[\x80-\xff]*[\0-\x7f])?\x18([\x80-\xff]*[\0-\x7f])"
).match
_EQUAL, _GREATER = 0, 1
_CREATED, _MODIFIED = 1, 2


message_field = protobuf_wire.bytes_field
"""Encode an embedded message. Unlike `bytes_field`, encode it even if it is empty, because its presence matters."""


def varint_field(number: int, value: int) -> bytes:
    """Encode an integer field. Zero is the default value and is omitted."""
    return encode_varint(number << 3) + encode_varint(value) if value else b""


def bytes_field(number: int, value: bytes) -> bytes:
    """Encode a bytes field. An empty value is omitted, whereas `message_field` encodes an empty message."""
    return message_field(number, value) if value else b""


def decode_varint(raw: bytes) -> int:
    """Decode bytes that consist of exactly one varint."""
    value = 0
    for byte in reversed(raw):
        value = value << 7 | byte & 0x7F
    return value


class KeyRange(NamedTuple):
    """The keys from `start` up to, but not including, `end`. An end of one zero byte means no upper bound."""

    start: bytes
    end: bytes


def prefix_range(prefix: str, after: str = "") -> KeyRange:
    """Return the range of the keys with `prefix` that sort after the key `after`."""
    start = prefix.encode()
    if after:
        start = max(start, after.encode() + b"\0")
    return KeyRange(start or b"\0", _range_end(prefix.encode()))


def _range_end(prefix: bytes) -> bytes:
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else b"\0"


# ---------------------------------------------------------------------- requests


def range_request(keys: KeyRange, *, limit: int = 0, at: int = 0) -> bytes:
    return bytes_field(1, keys.start) + bytes_field(2, keys.end) + varint_field(3, limit) + varint_field(4, at)


def get_request(key: bytes, *, at: int = 0, count_only: bool = False) -> bytes:
    return bytes_field(1, key) + varint_field(4, at) + varint_field(9, count_only)


def _compare(key: bytes, result: int, target: int, revision: int) -> bytes:
    # The revision to compare with is field 5 for create_revision and field 6 for mod_revision.
    return varint_field(1, result) + varint_field(2, target) + bytes_field(3, key) + varint_field(target + 4, revision)


def put_request(key: bytes, value: bytes, expect: int | None, lease: int = 0) -> bytes:
    """Return a transaction: if the key's revision is `expect`, put the value, else get the key's current state.

    If `expect` is None, always put the value.
    """
    condition = b"" if expect is None else message_field(1, _compare(key, _EQUAL, _MODIFIED, expect))
    if value[-1:] == b"}" and not value.startswith(ENCRYPTED_PREFIX):
        # kube-apiserver stores JSON with a trailing newline, and would treat a value without one as changed.
        value += b"\n"
    put = message_field(2, bytes_field(1, key) + bytes_field(2, value) + varint_field(3, lease))
    return condition + message_field(2, put) + message_field(3, message_field(1, get_request(key)))


def delete_request(key: bytes, expect: int | None) -> bytes:
    """Return a transaction: if the key exists at revision `expect` (None: any), delete it, else get its state."""
    comparison = (_GREATER, _CREATED, 0) if expect is None else (_EQUAL, _MODIFIED, expect)
    condition = message_field(1, _compare(key, *comparison))
    delete = message_field(3, bytes_field(1, key))
    return condition + message_field(2, delete) + message_field(3, message_field(1, get_request(key)))


def watch_request(keys: KeyRange, start: int, *, previous: bool = False) -> bytes:
    """Return a watch request from revision `start`, with progress notifications and fragmented large responses."""
    create = bytes_field(1, keys.start) + bytes_field(2, keys.end) + varint_field(3, start)
    return message_field(1, create + varint_field(4, True) + varint_field(6, previous) + varint_field(8, True))


PROGRESS_REQUEST = message_field(3, b"")


def number_request(number: int) -> bytes:
    """Return a request with one number: a revision for Compact, seconds for LeaseGrant, a lease id for the others."""
    return varint_field(1, number)


# ---------------------------------------------------------------------- responses


class RangeResponse(NamedTuple):
    items: list[KeyValue]
    revision: int
    total: int


class TxnResponse(NamedTuple):
    """The result of a conditional write. `current` is the key's state if the condition was not fulfilled."""

    succeeded: bool
    revision: int
    current: KeyValue | None


class EtcdEvent(NamedTuple):
    """An event of an etcd watch. `value` is None for a deletion; `previous` is set only if the watch requested it."""

    key: str
    value: bytes | None
    revision: int
    previous: KeyValue | None


class WatchResponse(NamedTuple):
    revision: int
    created: bool
    canceled: bool
    compacted: int
    reason: str
    fragment: bool
    events: list[EtcdEvent]


def parse_revision(raw: bytes) -> int:
    """Return the revision in the header of any response."""
    for field, value in iter_fields(raw):
        if field == 1:
            return _parse_header_revision(cast(bytes, value))
    return 0


class Incarnation(NamedTuple):
    """The history that a response belongs to. When a cluster is restored from a backup, a new history starts.

    Within one history the Raft term never decreases in linearizable reads.
    """

    cluster_id: int
    raft_term: int


def parse_incarnation(raw: bytes) -> Incarnation:
    """Return the cluster id and the Raft term in the header of any response."""
    header = next((cast(bytes, value) for field, value in iter_fields(raw) if field == 1), b"")
    fields = dict(iter_fields(header))
    return Incarnation(cast(int, fields.get(1, 0)), cast(int, fields.get(4, 0)))


def _parse_header_revision(raw: bytes) -> int:
    match = _REVISION(raw)
    if match is not None:
        return decode_varint(match[1])
    for field, value in iter_fields(raw):
        if field == 3:
            return cast(int, value)
    return 0


def parse_key_value(raw: bytes) -> KeyValue:
    key, value, revision = b"", b"", 0
    for field, field_value in iter_fields(raw):
        if field == 1:
            key = cast(bytes, field_value)
        elif field == 3:
            revision = cast(int, field_value)
        elif field == 5:
            value = cast(bytes, field_value)
    if value[:4] == MAGIC:
        value = decode_stored(value)
    elif value[-2:] == b"}\n" and not value.startswith(ENCRYPTED_PREFIX):
        value = value[:-1]
    return KeyValue(key.decode(errors="surrogateescape"), value, revision)


def parse_range(raw: bytes) -> RangeResponse:
    items: list[KeyValue] = []
    revision = count = 0
    for field, value in iter_fields(raw):
        if field == 2:
            items.append(parse_key_value(cast(bytes, value)))
        elif field == 1:
            revision = _parse_header_revision(cast(bytes, value))
        elif field == 4:
            count = cast(int, value)
    return RangeResponse(items, revision, count)


def parse_txn(raw: bytes) -> TxnResponse:
    succeeded, revision, current = False, 0, None
    for field, value in iter_fields(raw):
        if field == 1:
            revision = _parse_header_revision(cast(bytes, value))
        elif field == 2:
            succeeded = bool(value)
            if succeeded:
                break
        elif field == 3:
            for response_field, response in iter_fields(cast(bytes, value)):
                if response_field == 1:
                    items = parse_range(cast(bytes, response)).items
                    current = items[0] if items else None
    return TxnResponse(succeeded, revision, current)


def parse_watch(raw: bytes) -> WatchResponse:
    revision = compacted = 0
    created = canceled = fragment = False
    reason = ""
    events: list[EtcdEvent] = []
    for field, value in iter_fields(raw):
        if field == 11:
            events.append(_parse_event(cast(bytes, value)))
        elif field == 1:
            revision = _parse_header_revision(cast(bytes, value))
        elif field == 3:
            created = bool(value)
        elif field == 4:
            canceled = bool(value)
        elif field == 5:
            compacted = cast(int, value)
        elif field == 6:
            reason = cast(bytes, value).decode(errors="replace")
        elif field == 7:
            fragment = bool(value)
    return WatchResponse(revision, created, canceled, compacted, reason, fragment, events)


_EMPTY = KeyValue("", b"", 0)


def _parse_event(raw: bytes) -> EtcdEvent:
    deleted = False
    current = _EMPTY
    previous: KeyValue | None = None
    for field, value in iter_fields(raw):
        if field == 1:
            deleted = bool(value)
        elif field == 2:
            current = parse_key_value(cast(bytes, value))
        elif field == 3:
            previous = parse_key_value(cast(bytes, value))
    return EtcdEvent(current.key, None if deleted else current.value, current.revision, previous)


def parse_lease(raw: bytes) -> tuple[int, int]:
    """Return a lease's id and its remaining seconds, which are 0 for an expired lease."""
    lease = seconds = 0
    for field, value in iter_fields(raw):
        if field == 2:
            lease = cast(int, value)
        elif field == 3:
            seconds = cast(int, value)
    return lease, 0 if seconds >= 1 << 63 else seconds


def parse_status(raw: bytes) -> str:
    """Return the member's etcd version."""
    for field, value in iter_fields(raw):
        if field == 2:
            return cast(bytes, value).decode(errors="replace")
    return ""


def parse_database_size(raw: bytes) -> int:
    """Return the size of the database file from a member's status."""
    return next((cast(int, value) for field, value in iter_fields(raw) if field == 3), 0)


def decode_stored(value: bytes) -> bytes:
    """Convert a stored protobuf object of a known kind to JSON. Return any other value unchanged.

    kube-apiserver stores custom resources and CRDs as JSON, and can read JSON wherever it would write protobuf.
    """
    try:
        api_version, kind, message = decode_envelope(value)
        struct = find_decodable_kind(api_version, kind)
        if struct is None:
            return value
        fields = {"apiVersion": api_version, "kind": kind, **decode_message(message, struct)}
        decoded, _ = machinery.decode(fields, struct, report=False)
        return orjson.dumps(decoded, option=orjson.OPT_SORT_KEYS)
    except (APIError, ValueError, TypeError):
        return value
