"""Restoration of metadata after a conversion: a converter may change only labels and annotations."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.errors import FieldError, aggregate_message, invalid, too_long
from polykind.golang.fmt import go_type
from polykind.golang.utf8 import byte_length
from polykind.names import label_value, qualified_name

_MAX_ANNOTATION_BYTES = 256 * 1024


class InvalidMetadataError(Exception):
    """Metadata of a converted object that is not acceptable."""


def restore_metadata(original: JsonObject, converted: JsonObject) -> JsonObject:
    """Return the original's metadata with the labels and annotations of the converted object.

    Raise InvalidMetadataError.
    """
    if "metadata" not in converted:
        raise InvalidMetadataError("missing metadata in converted object")
    response_metadata = converted["metadata"]
    if not isinstance(response_metadata, dict):
        raise InvalidMetadataError(f"invalid metadata of type {go_type(response_metadata)} in converted object")
    original_metadata = original.get("metadata", {})
    if not isinstance(original_metadata, dict):
        raise InvalidMetadataError(f"invalid metadata of type {go_type(original_metadata)} in input object")
    metadata = dict(original_metadata)
    for field in ("labels", "annotations"):
        value = response_metadata.get(field)
        if value is None:
            metadata.pop(field, None)
        else:
            _check(field, value, original_metadata.get(field))
            metadata[field] = value
    return metadata


def _check(field: str, entries: Any, original: Any) -> None:
    if not isinstance(entries, dict):
        raise InvalidMetadataError(f"invalid metadata.{field} of type {go_type(entries)} in converted object")
    if original is not None and not isinstance(original, dict):
        raise InvalidMetadataError(f"invalid metadata.{field} of type {go_type(original)} in original object")
    for key, value in entries.items():
        if not isinstance(value, str):
            raise InvalidMetadataError(
                f"metadata.{field}[{key}] must be a string, but is {go_type(value)} in converted object"
            )
    if entries == (original or {}):
        return
    errors = _label_errors(entries) if field == "labels" else _annotation_errors(entries)
    if errors:
        raise InvalidMetadataError(aggregate_message(errors))


def _label_errors(labels: dict[str, str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for key, value in sorted(labels.items()):
        errors += (invalid("metadata.labels", key, error) for error in qualified_name(key))
        errors += (invalid("metadata.labels", value, error) for error in label_value(value))
    return errors


def _annotation_errors(annotations: dict[str, str]) -> list[FieldError]:
    path = "metadata.annotation"
    errors = [invalid(path, key, error) for key in sorted(annotations) for error in qualified_name(key.lower())]
    if sum(byte_length(k) + byte_length(v) for k, v in annotations.items()) > _MAX_ANNOTATION_BYTES:
        errors.append(too_long(path, _MAX_ANNOTATION_BYTES))
    return errors
