"""What is said to etcd and what it answers: the messages of its v3 protocol that a store needs, and no others."""

from __future__ import annotations

import re
from typing import NamedTuple, cast

from polykind.contract import KeyValue
from polykind.store.etcd.protobuf import MAGIC, as_json
from polykind.store.etcd.wire import data, fields, long_number, message, number

RANGE = "/etcdserverpb.KV/Range"
TXN = "/etcdserverpb.KV/Txn"
COMPACT = "/etcdserverpb.KV/Compact"
WATCH = "/etcdserverpb.Watch/Watch"
LEASE_GRANT = "/etcdserverpb.Lease/LeaseGrant"
LEASE_REVOKE = "/etcdserverpb.Lease/LeaseRevoke"
LEASE_KEEP_ALIVE = "/etcdserverpb.Lease/LeaseKeepAlive"
STATUS = "/etcdserverpb.Maintenance/Status"

# A header's revision, behind the cluster's and the member's numbers, which are long and of no use here.
_REVISION = re.compile(
    rb"(?:\x08[\x80-\xff]*[\0-\x7f])?(?:\x10[\x80-\xff]*[\0-\x7f])?\x18([\x80-\xff]*[\0-\x7f])"
).match
_EQUAL, _GREATER = 0, 1
_CREATED, _MODIFIED = 1, 2


class Span(NamedTuple):
    """The keys from `start` up to, not including, `end`; an end of one zero byte is none."""

    start: bytes
    end: bytes


def span(prefix: str, after: str = "") -> Span:
    """The keys that begin with `prefix` and sort after the key `after`."""
    start = prefix.encode()
    if after:
        start = max(start, after.encode() + b"\0")
    return Span(start or b"\0", _end(prefix.encode()))


def _end(prefix: bytes) -> bytes:
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else b"\0"


# ---------------------------------------------------------------------- requests


def range_request(where: Span, *, limit: int = 0, at: int = 0) -> bytes:
    return data(1, where.start) + data(2, where.end) + number(3, limit) + number(4, at)


def get_request(key: bytes, *, at: int = 0, count_only: bool = False) -> bytes:
    return data(1, key) + number(4, at) + number(9, count_only)


def _compare(key: bytes, result: int, target: int, revision: int) -> bytes:
    # The field of the number compared with is 5 for the revision of the creation, 6 for that of the last change.
    return number(1, result) + number(2, target) + data(3, key) + number(target + 4, revision)


def put_request(key: bytes, value: bytes, expect: int | None, lease: int = 0) -> bytes:
    """Write if the key's revision is `expect`, else tell what it holds."""
    condition = b"" if expect is None else message(1, _compare(key, _EQUAL, _MODIFIED, expect))
    if value[-1:] == b"}":
        # Kubernetes ends JSON with a new line, and takes a value without one for changed.
        value += b"\n"
    put = message(2, data(1, key) + data(2, value) + number(3, lease))
    return condition + message(2, put) + message(3, message(1, get_request(key)))


def delete_request(key: bytes, expect: int | None) -> bytes:
    """Delete if the key is there and its revision is `expect`, else tell what it holds."""
    if expect is None:
        condition = message(1, _compare(key, _GREATER, _CREATED, 0))
    else:
        condition = message(1, _compare(key, _EQUAL, _MODIFIED, expect))
    return condition + message(2, message(3, data(1, key))) + message(3, message(1, get_request(key)))


def compaction_request(revision: int) -> bytes:
    return number(1, revision)


def watch_request(where: Span, start: int, *, previous: bool = False) -> bytes:
    """Every change from revision `start` on, large answers in fragments, with progress told now and then."""
    create = data(1, where.start) + data(2, where.end) + number(3, start)
    return message(1, create + number(4, True) + number(6, previous) + number(8, True))


PROGRESS_REQUEST = message(3, b"")


def lease_request(seconds: int) -> bytes:
    return number(1, seconds)


def lease_of(lease: int) -> bytes:
    """The body of a revocation and of a sign of life alike."""
    return number(1, lease)


# ---------------------------------------------------------------------- answers


class RangeAnswer(NamedTuple):
    items: list[KeyValue]
    revision: int
    total: int


class TxnAnswer(NamedTuple):
    """Whether the condition held; if not, what the key holds."""

    succeeded: bool
    revision: int
    current: KeyValue | None


class EtcdEvent(NamedTuple):
    """One change; `value` is None for a deletion, `previous` known only if asked for."""

    key: str
    value: bytes | None
    revision: int
    previous: KeyValue | None


class WatchAnswer(NamedTuple):
    revision: int
    created: bool
    canceled: bool
    compacted: int
    reason: str
    fragment: bool
    events: list[EtcdEvent]


def header_revision(raw: bytes) -> int:
    """Of any answer: its first field is the header."""
    for field, value in fields(raw):
        if field == 1:
            return _header(cast(bytes, value))
    return 0


def _header(raw: bytes) -> int:
    found = _REVISION(raw)
    if found is not None:
        return long_number(found[1])
    for field, value in fields(raw):
        if field == 3:
            return cast(int, value)
    return 0


def key_value(raw: bytes) -> KeyValue:
    key, value, revision = b"", b"", 0
    for field, what in fields(raw):
        if field == 1:
            key = cast(bytes, what)
        elif field == 3:
            revision = cast(int, what)
        elif field == 5:
            value = cast(bytes, what)
    if value[:4] == MAGIC:
        value = as_json(value)
    elif value[-2:] == b"}\n":
        value = value[:-1]
    return KeyValue(key.decode(errors="surrogateescape"), value, revision)


def range_answer(raw: bytes) -> RangeAnswer:
    items: list[KeyValue] = []
    revision = count = 0
    for field, value in fields(raw):
        if field == 2:
            items.append(key_value(cast(bytes, value)))
        elif field == 1:
            revision = _header(cast(bytes, value))
        elif field == 4:
            count = cast(int, value)
    return RangeAnswer(items, revision, count)


def txn_answer(raw: bytes) -> TxnAnswer:
    succeeded, revision, current = False, 0, None
    for field, value in fields(raw):
        if field == 1:
            revision = _header(cast(bytes, value))
        elif field == 2:
            succeeded = bool(value)
            if succeeded:
                break
        elif field == 3:
            for kind, answer in fields(cast(bytes, value)):
                if kind == 1:
                    items = range_answer(cast(bytes, answer)).items
                    current = items[0] if items else None
    return TxnAnswer(succeeded, revision, current)


def watch_answer(raw: bytes) -> WatchAnswer:
    revision = compacted = 0
    created = canceled = fragment = False
    reason = ""
    events: list[EtcdEvent] = []
    for field, value in fields(raw):
        if field == 11:
            events.append(_event(cast(bytes, value)))
        elif field == 1:
            revision = _header(cast(bytes, value))
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
    return WatchAnswer(revision, created, canceled, compacted, reason, fragment, events)


_NOTHING = KeyValue("", b"", 0)


def _event(raw: bytes) -> EtcdEvent:
    deleted = False
    now = _NOTHING
    previous: KeyValue | None = None
    for field, value in fields(raw):
        if field == 1:
            deleted = bool(value)
        elif field == 2:
            now = key_value(cast(bytes, value))
        elif field == 3:
            previous = key_value(cast(bytes, value))
    return EtcdEvent(now.key, None if deleted else now.value, now.revision, previous)


def lease_answer(raw: bytes) -> tuple[int, int]:
    """A lease's number and the seconds it has left; of a lease that has ended, none."""
    lease = seconds = 0
    for field, value in fields(raw):
        if field == 2:
            lease = cast(int, value)
        elif field == 3:
            seconds = cast(int, value)
    return lease, 0 if seconds >= 1 << 63 else seconds


def status_answer(raw: bytes) -> str:
    """The member's version."""
    for field, value in fields(raw):
        if field == 2:
            return cast(bytes, value).decode(errors="replace")
    return ""
