"""The stash: an annotation that keeps values which an older version cannot represent.

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

`beside` names fields of the older version that hold part of the same information. If a client edits one of them, the
edit wins and `take` returns the fallback value. Therefore call `put` after setting these fields, and `take` before
reading them.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any

from polykind.contract import JsonObject

ANNOTATION = "conversion-stash"
"""The annotation's name without its prefix. The prefix is the object's API group, a domain of the CRD's author."""

WARN_BYTES = 32 * 1024
"""The stash size in bytes above which the toolkit logs a warning. All annotations of an object may have 256 KiB
together.
"""

log = logging.getLogger(__name__)


def put(obj: JsonObject, name: str, value: Any, *, beside: Sequence[str] = ()) -> None:
    """Stash a JSON value under a name in an annotation of `obj`.

    `beside` are paths of fields. If one of these fields changes later, `take` does not return the value.
    """
    key = _key(obj)
    entries = _entries(obj, key)
    entries[name] = {"value": value, "beside": list(beside), "digest": _digest(obj, beside)}
    text = encode(entries)
    if len(text) > WARN_BYTES:
        log.warning(
            "conversion stash: the stash of an object has %d bytes, but its annotations together may have only 256 KiB",
            len(text),
        )
    metadata = obj.setdefault("metadata", {})
    annotations = metadata.get("annotations")
    metadata["annotations"] = {**annotations, key: text} if isinstance(annotations, dict) else {key: text}


def take(obj: JsonObject, name: str, otherwise: Any = None, *, edited: bool = False) -> Any:
    """Remove and return a stashed value. Return `otherwise` if there is no value or a field in `beside` has changed.

    If `edited` is true, return the value although a field in `beside` has changed.
    """
    key = _key(obj)
    entries = _entries(obj, key)
    entry = entries.pop(name, None)
    if entry is None:
        return otherwise
    annotations = {k: v for k, v in obj["metadata"]["annotations"].items() if k != key}
    if entries:
        annotations[key] = encode(entries)
    if annotations:
        obj["metadata"]["annotations"] = annotations
    else:
        del obj["metadata"]["annotations"]
    try:
        beside, digest, value = entry["beside"], entry["digest"], entry["value"]
        return value if edited or digest == _digest(obj, beside) else otherwise
    except (KeyError, TypeError, AttributeError):
        return otherwise


def _key(obj: JsonObject) -> str:
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    if not group:
        raise ValueError("the stash needs an object with a group in its apiVersion")
    return f"{group}/{ANNOTATION}"


def _entries(obj: JsonObject, key: str) -> JsonObject:
    """Return the entries of the stash, or an empty dict if the annotation is missing or invalid.

    Clients may edit annotations, so an invalid annotation is not an error.
    """
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
    """Return a digest of the fields at the paths `beside`. A missing field changes the digest too."""
    return hashlib.sha256(encode([_field(obj, path) for path in beside]).encode()).hexdigest()[:16]


def _field(obj: JsonObject, path: str) -> list[Any]:
    at: Any = obj
    for name in path.split("."):
        if not isinstance(at, dict) or name not in at:
            return []
        at = at[name]
    return [at]


def encode(value: Any) -> str:
    """Return a JSON value as text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def same(one: Any, other: Any) -> bool:
    """True if two JSON values are equal. Unlike in Python, true and 1 differ."""
    return one is other or encode(one) == encode(other)
