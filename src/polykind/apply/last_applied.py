"""Objects that kubectl used to apply on the client's side, and now applies on the server's."""

from __future__ import annotations

from typing import Any

import msgspec

from polykind.apply.compare import compare
from polykind.apply.fieldset import Fields, difference
from polykind.apply.model import MisfitError, Type
from polykind.apply.typed_value import applied_fields
from polykind.contract import JsonObject
from polykind.golang.json import go_json

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MAX_ANNOTATION_BYTES = 256 * 1024


def get_last_applied(document: JsonObject) -> str:
    """The configuration applied last on the client's side; nothing if there is none."""
    found = _annotations(document).get(ANNOTATION)
    return found if isinstance(found, str) else ""


def unchanged_fields(live: JsonObject, api_version: str, kind: Type) -> Fields | None:
    """The fields that were applied on the client's side and have not changed since; None if that cannot be told."""
    text = get_last_applied(live)
    if not text:
        return None
    try:
        last = msgspec.json.decode(text)
        if not isinstance(last, dict) or (last.get("apiVersion"), last.get("kind")) != (api_version, live.get("kind")):
            return None
        out = applied_fields(last, kind, unique=True) or {}
        for part in compare(last, live, kind):
            out = difference(out, part)
    except (msgspec.DecodeError, MisfitError, RecursionError):
        return None
    return out


def update_annotation(document: JsonObject, applied: JsonObject) -> JsonObject:
    """The object with the annotation telling of what is applied now, if it has one."""
    if not get_last_applied(document):
        return document
    try:
        annotations = {**_annotations(document), ANNOTATION: _text(applied)}
    except TypeError:
        return document
    if sum(_bytes(key) + _bytes(value) for key, value in annotations.items()) > MAX_ANNOTATION_BYTES:
        del annotations[ANNOTATION]
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}


def is_server_annotation(live: JsonObject, merged: JsonObject, applied: JsonObject) -> bool:
    """Whether the annotation was renewed here alone, and not by what was applied."""
    return bool(get_last_applied(merged)) and get_last_applied(applied) in ("", get_last_applied(live))


def without_annotation(metadata: JsonObject) -> JsonObject:
    """The metadata without the annotation."""
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return metadata
    return {**metadata, "annotations": {key: value for key, value in annotations.items() if key != ANNOTATION}}


def _text(applied: JsonObject) -> str:
    annotations = _annotations(applied)
    if ANNOTATION in annotations:
        kept = {key: value for key, value in annotations.items() if key != ANNOTATION}
        applied = {**applied, "metadata": {**applied["metadata"], "annotations": kept}}
    return f"{go_json(applied)}\n"


def _annotations(document: JsonObject) -> dict[str, Any]:
    metadata = document.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _bytes(value: Any) -> int:
    return len(value.encode(errors="replace")) if isinstance(value, str) else 0
