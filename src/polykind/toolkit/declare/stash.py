"""What an older version cannot say, kept in an annotation until the object comes back.

    @crontabs.step("v2", "v1")
    def down(obj):
        hosts = obj["spec"].pop("hosts", None)
        if hosts:
            obj["spec"]["host"] = hosts[0]
            put(obj, "hosts", hosts, beside=["spec.host"])

    @crontabs.step("v1", "v2")
    def up(obj):
        hosts = take(obj, "hosts")
        host = obj["spec"].pop("host", None)
        if hosts is not None:
            obj["spec"]["hosts"] = hosts
        elif host is not None:
            obj["spec"]["hosts"] = [host]

`beside` names the fields of the older version that say part of the same. If one of them has been edited meanwhile, the
edit wins: `take` then gives nothing. So `put` comes after those fields have been set, and `take` before they are read.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any

from polykind.contract import JsonObject

ANNOTATION = "conversion-stash"
"""The annotation's name; its prefix is the object's group, which is its author's."""

WARN_BYTES = 32 * 1024
"""Annotations of an object may take 256 KiB in all, and `kubectl apply` keeps a copy of the object in one of them."""

log = logging.getLogger(__name__)


def put(obj: JsonObject, name: str, value: Any, *, beside: Sequence[str] = ()) -> None:
    """Keep a JSON value in the object under a name, for as long as the fields `beside` it are not edited."""
    key = _key(obj)
    entries = _entries(obj, key)
    entries[name] = {"value": value, "beside": list(beside), "digest": _digest(obj, beside)}
    text = _encode(entries)
    if len(text) > WARN_BYTES:
        log.warning("the stash of an object has grown to %d bytes: keep less, or convert without it", len(text))
    metadata = obj.setdefault("metadata", {})
    annotations = metadata.get("annotations")
    metadata["annotations"] = {**annotations, key: text} if isinstance(annotations, dict) else {key: text}


def take(obj: JsonObject, name: str, otherwise: Any = None) -> Any:
    """The value kept under a name, which is then gone from the object; `otherwise` if none is, or an edit beats it."""
    key = _key(obj)
    entries = _entries(obj, key)
    entry = entries.pop(name, None)
    if entry is None:
        return otherwise
    annotations = {k: v for k, v in obj["metadata"]["annotations"].items() if k != key}
    if entries:
        annotations[key] = _encode(entries)
    if annotations:
        obj["metadata"]["annotations"] = annotations
    else:
        del obj["metadata"]["annotations"]
    try:
        beside, digest, value = entry["beside"], entry["digest"], entry["value"]
        return value if digest == _digest(obj, beside) else otherwise
    except (KeyError, TypeError, AttributeError):
        return otherwise


def _key(obj: JsonObject) -> str:
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    if not group:
        raise ValueError("an object without a group has no stash")
    return f"{group}/{ANNOTATION}"


def _entries(obj: JsonObject, key: str) -> JsonObject:
    """What is kept in an object. Anybody may edit annotations: what is not ours counts as nothing."""
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(key) if isinstance(annotations, dict) else None
    if not isinstance(text, str):
        return {}
    try:
        entries = json.loads(text)
    except ValueError:
        return {}
    return entries if isinstance(entries, dict) else {}


def _digest(obj: JsonObject, beside: Sequence[str]) -> str:
    """A digest of the fields at some paths, and of whether they are there."""
    return hashlib.sha256(_encode([_field(obj, path) for path in beside]).encode()).hexdigest()[:16]


def _field(obj: JsonObject, path: str) -> list[Any]:
    at: Any = obj
    for name in path.split("."):
        if not isinstance(at, dict) or name not in at:
            return []
        at = at[name]
    return [at]


def _encode(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
