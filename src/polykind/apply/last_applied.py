"""The annotation last-applied-configuration of kubectl's client-side apply, and the migration to server-side apply."""

from __future__ import annotations

from typing import Any

import msgspec

from polykind.apply.compare import compare
from polykind.apply.fieldset import Fields, difference
from polykind.apply.model import Type, TypeMismatchError
from polykind.apply.typed_value import applied_fields
from polykind.contract import JsonObject
from polykind.golang.json import go_json
from polykind.golang.utf8 import byte_length

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MAX_ANNOTATION_BYTES = 256 * 1024


def get_last_applied(document: JsonObject) -> str:
    """Return the last-applied annotation of an object. Return "" if it has none."""
    text = _annotations(document).get(ANNOTATION)
    return text if isinstance(text, str) else ""


def unchanged_fields(live: JsonObject, api_version: str, type_: Type) -> Fields | None:
    """Return the fields of the last-applied annotation whose values are unchanged in `live`.

    Return None if the annotation is missing or invalid, or if its apiVersion or kind differs.
    """
    text = get_last_applied(live)
    if not text:
        return None
    try:
        last = msgspec.json.decode(text)
        if not isinstance(last, dict) or (last.get("apiVersion"), last.get("kind")) != (api_version, live.get("kind")):
            return None
        out = applied_fields(last, type_, unique=True) or {}
        for part in compare(last, live, type_):
            out = difference(out, part)
    except (msgspec.DecodeError, TypeMismatchError, RecursionError):
        return None
    return out


def update_annotation(document: JsonObject, applied: JsonObject) -> JsonObject:
    """Return the object with its last-applied annotation updated, if it has one."""
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
    """True if `merged` has a last-applied annotation that the applied configuration does not change."""
    return bool(get_last_applied(merged)) and get_last_applied(applied) in ("", get_last_applied(live))


def without_annotation(metadata: JsonObject) -> JsonObject:
    """Return the metadata without the last-applied annotation."""
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return metadata
    return {**metadata, "annotations": {key: value for key, value in annotations.items() if key != ANNOTATION}}


def _text(applied: JsonObject) -> str:
    if ANNOTATION in _annotations(applied):
        applied = {**applied, "metadata": without_annotation(applied["metadata"])}
    return f"{go_json(applied)}\n"


def _annotations(document: JsonObject) -> dict[str, Any]:
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations if isinstance(annotations, dict) else {}


def _bytes(value: Any) -> int:
    return byte_length(value) if isinstance(value, str) else 0
