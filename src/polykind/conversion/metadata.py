"""What a converter may change in an object's metadata: labels and annotations. All else is the original's."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.errors import FieldError, aggregate_message, invalid, too_long
from polykind.golang.fmt import go_type
from polykind.golang.utf8 import byte_length
from polykind.schema.names import label_value, qualified_name

_ANNOTATIONS_MOST = 256 * 1024


class Refused(Exception):
    """The converted metadata cannot be taken."""


def restored(original: JsonObject, converted: JsonObject) -> JsonObject:
    """The metadata the converted object shall have: the original's, with the labels and annotations of the answer."""
    if "metadata" not in converted:
        raise Refused("missing metadata in converted object")
    answer = converted["metadata"]
    if not isinstance(answer, dict):
        raise Refused(f"invalid metadata of type {go_type(answer)} in converted object")
    before = original.get("metadata", {})
    if not isinstance(before, dict):
        raise Refused(f"invalid metadata of type {go_type(before)} in input object")
    out = dict(before)
    for field in ("labels", "annotations"):
        taken = answer.get(field)
        if taken is None:
            out.pop(field, None)
        else:
            _check(field, taken, before.get(field))
            out[field] = taken
    return out


def _check(field: str, taken: Any, before: Any) -> None:
    if not isinstance(taken, dict):
        raise Refused(f"invalid metadata.{field} of type {go_type(taken)} in converted object")
    if before is not None and not isinstance(before, dict):
        raise Refused(f"invalid metadata.{field} of type {go_type(before)} in original object")
    for key, value in taken.items():
        if not isinstance(value, str):
            raise Refused(f"metadata.{field}[{key}] must be a string, but is {go_type(value)} in converted object")
    if taken == (before or {}):
        return
    errors = _label_errors(taken) if field == "labels" else _annotation_errors(taken)
    if errors:
        raise Refused(aggregate_message(errors))


def _label_errors(labels: dict[str, str]) -> list[FieldError]:
    out: list[FieldError] = []
    for key, value in sorted(labels.items()):
        out += (invalid("metadata.labels", key, complaint) for complaint in qualified_name(key))
        out += (invalid("metadata.labels", value, complaint) for complaint in label_value(value))
    return out


def _annotation_errors(annotations: dict[str, str]) -> list[FieldError]:
    path = "metadata.annotation"
    out = [invalid(path, key, why) for key in sorted(annotations) for why in qualified_name(key.lower())]
    if sum(byte_length(k) + byte_length(v) for k, v in annotations.items()) > _ANNOTATIONS_MOST:
        out.append(too_long(path, _ANNOTATIONS_MOST))
    return out
