"""Coercion and validation of the type and metadata of embedded resources (x-kubernetes-embedded-resource)."""

from __future__ import annotations

from typing import Any

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.sorting import sorted_strings
from polykind.schema import metadata_validation
from polykind.schema.node import SchemaNode
from polykind.schema.object_meta import ObjectMetaDecodeError, round_trip


class EmbeddedResourceError(Exception):
    """An embedded resource whose apiVersion, kind or metadata cannot be decoded."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def coerce_embedded(node: SchemaNode | None, value: Any, path: str, unknown: list[str], *, strict: bool) -> None:
    """Coerce the metadata of embedded resources in place. Append the paths of unknown metadata fields to `unknown`.

    If `strict` is true, raise EmbeddedResourceError if metadata is malformed. Otherwise drop malformed metadata.
    """
    if node is None:
        return
    if type(value) is dict:
        if node.embedded_resource:
            _coerce_resource(value, path, unknown, strict=strict)
        for key, item in value.items():
            if type(item) in (dict, list):
                child = node.child(key)
                if child is not None:
                    coerce_embedded(child, item, _child_path(node, path, key), unknown, strict=strict)
    elif type(value) is list and node.items is not None:
        for at, item in enumerate(value):
            if type(item) in (dict, list):
                coerce_embedded(node.items, item, f"{path}[{at}]", unknown, strict=strict)


def _coerce_resource(value: JsonObject, path: str, unknown: list[str], *, strict: bool) -> None:
    for key in ("apiVersion", "kind"):
        if key in value and type(value[key]) is not str:
            if strict:
                raise EmbeddedResourceError(errors.invalid(join_path(path, key), value[key], "must be a string"))
            del value[key]
    if "metadata" not in value:
        return
    meta = value["metadata"]
    if not strict and meta is not None and type(meta) is not dict:
        return
    here = join_path(path, "metadata")
    try:
        coerced, unknown_fields = round_trip(meta, strict=strict)
    except ObjectMetaDecodeError as error:
        raise EmbeddedResourceError(errors.invalid(here, meta, str(error))) from None
    unknown.extend(f"{here}.{name}" for name in unknown_fields)
    value["metadata"] = coerced


def validate_embedded(node: SchemaNode | None, value: Any, path: str, field_errors: list[FieldError]) -> None:
    """Append the errors in apiVersion, kind and metadata of all embedded resources in `value` to `field_errors`."""
    if node is None:
        return
    if type(value) is dict:
        if node.embedded_resource:
            _validate_resource(value, path, field_errors)
        for key in sorted_strings(value):
            if type(value[key]) in (dict, list):
                child = node.child(key)
                if child is not None:
                    validate_embedded(child, value[key], _child_path(node, path, key), field_errors)
    elif type(value) is list and node.items is not None:
        for at, item in enumerate(value):
            if type(item) in (dict, list):
                validate_embedded(node.items, item, f"{path}[{at}]", field_errors)


def _validate_resource(value: JsonObject, path: str, field_errors: list[FieldError]) -> None:
    field_errors.extend(errors.required(join_path(path, key)) for key in ("apiVersion", "kind") if key not in value)
    for key in ("apiVersion", "kind"):
        if key not in value:
            continue
        text, here = value[key], join_path(path, key)
        if type(text) is not str:
            field_errors.append(errors.invalid(here, text, "must be a string"))
        elif not text:
            field_errors.append(errors.invalid(here, text, "must not be empty"))
        elif key == "apiVersion":
            if text.count("/") > 1:
                field_errors.append(errors.invalid(here, text, f"unexpected GroupVersion string: {text}"))
        else:
            messages = names.dns1035_label(text.lower())
            if messages:
                detail = f"may have mixed case, but should otherwise match: {','.join(messages)}"
                field_errors.append(errors.invalid(here, text, detail))
    if "metadata" in value:
        here = join_path(path, "metadata")
        try:
            meta, _ = round_trip(value["metadata"], strict=True)
        except ObjectMetaDecodeError as error:
            field_errors.append(errors.invalid(here, value["metadata"], str(error)))
            return
        if not meta.get("name"):
            meta = {**meta, "name": "fakename"}
        rule = names.path_segment
        field_errors.extend(
            metadata_validation.validate_object_meta(
                meta, namespaced=bool(meta.get("namespace")), name_rule=rule, path=here
            )
        )


def _child_path(node: SchemaNode, path: str, key: str) -> str:
    """Return the path of `key` in the object at `path`. Keys that are not properties are written in brackets."""
    return join_path(path, key) if node.has_property(key) else f"{path}[{key}]"


def join_path(path: str, key: str) -> str:
    """Return the path of the property `key` of the object at `path`. The path of the root is empty."""
    return f"{path}.{key}" if path else key
