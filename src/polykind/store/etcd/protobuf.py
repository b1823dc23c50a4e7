"""Values that Kubernetes keeps as Protocol Buffers, read as JSON: of the types served here, only namespaces are.

Custom resources and their definitions it keeps as JSON; and it reads JSON wherever it would write the other.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import orjson

from polykind.contract import JsonObject
from polykind.store.etcd.wire import Malformed, fields

MAGIC = b"k8s\0"

Read = Callable[[Any], Any]
Shape = dict[int, tuple[str, Read, bool]]
"""By field number: the name in JSON, how it is read, whether it is repeated."""


def as_json(value: bytes) -> bytes:
    """The value as JSON if it is a namespace in Protocol Buffers, else as it is."""
    try:
        envelope = _read(_ENVELOPE, value[len(MAGIC) :])
        if envelope.get("type") != {"apiVersion": "v1", "kind": "Namespace"}:
            return value
        namespace = {**envelope["type"], **_read(_NAMESPACE, envelope.get("raw", b""))}
        return orjson.dumps(namespace, option=orjson.OPT_SORT_KEYS)
    except (ValueError, TypeError, OverflowError):
        return value


def _read(shape: Shape, raw: bytes) -> JsonObject:
    out: JsonObject = {}
    for field, value in fields(raw):
        known = shape.get(field)
        if known is None:
            continue
        name, read, repeated = known
        found = read(value)
        if repeated:
            out.setdefault(name, []).append(found)
        elif isinstance(found, dict) and isinstance(out.get(name), dict):
            out[name].update(found)
        elif found or found is False:
            out[name] = found
    return out


def _text(value: bytes) -> str:
    return value.decode()


def _moment(value: bytes) -> str:
    seconds = next((number for field, number in fields(value) if field == 1), 0)
    return datetime.fromtimestamp(cast(int, seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""


def _pair(value: bytes) -> dict[str, str]:
    """One entry of a map."""
    both = dict(fields(value))
    return {_text(cast(bytes, both.get(1, b""))): _text(cast(bytes, both.get(2, b"")))}


def _fields_v1(value: bytes) -> Any:
    raw = next((inner for field, inner in fields(value) if field == 1), b"{}")
    return orjson.loads(cast(bytes, raw))


def _nested(shape: Shape) -> Read:
    def read(value: Any) -> JsonObject:
        if not isinstance(value, bytes):
            raise Malformed("a message is a number")
        return _read(shape, value)

    return read


_OWNER: Shape = {
    1: ("kind", _text, False),
    3: ("name", _text, False),
    4: ("uid", _text, False),
    5: ("apiVersion", _text, False),
    6: ("controller", bool, False),
    7: ("blockOwnerDeletion", bool, False),
}
_MANAGED: Shape = {
    1: ("manager", _text, False),
    2: ("operation", _text, False),
    3: ("apiVersion", _text, False),
    4: ("time", _moment, False),
    6: ("fieldsType", _text, False),
    7: ("fieldsV1", _fields_v1, False),
    8: ("subresource", _text, False),
}
_META: Shape = {
    1: ("name", _text, False),
    2: ("generateName", _text, False),
    5: ("uid", _text, False),
    7: ("generation", int, False),
    8: ("creationTimestamp", _moment, False),
    9: ("deletionTimestamp", _moment, False),
    10: ("deletionGracePeriodSeconds", int, False),
    11: ("labels", _pair, False),
    12: ("annotations", _pair, False),
    13: ("ownerReferences", _nested(_OWNER), True),
    14: ("finalizers", _text, True),
    17: ("managedFields", _nested(_MANAGED), True),
}
_CONDITION: Shape = {
    1: ("type", _text, False),
    2: ("status", _text, False),
    4: ("lastTransitionTime", _moment, False),
    5: ("reason", _text, False),
    6: ("message", _text, False),
}
_STATUS: Shape = {1: ("phase", _text, False), 2: ("conditions", _nested(_CONDITION), True)}
_SPEC: Shape = {1: ("finalizers", _text, True)}
_NAMESPACE: Shape = {
    1: ("metadata", _nested(_META), False),
    2: ("spec", _nested(_SPEC), False),
    3: ("status", _nested(_STATUS), False),
}
_TYPE: Shape = {1: ("apiVersion", _text, False), 2: ("kind", _text, False)}
_ENVELOPE: Shape = {1: ("type", _nested(_TYPE), False), 2: ("raw", bytes, False)}
