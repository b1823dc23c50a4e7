"""Defaulting and nullability: defaults are filled in, and nulls dropped that are not allowed. This is the slow path."""

from __future__ import annotations

from typing import Any

from polykind.schema.embedded_resources import coerce_embedded
from polykind.schema.equality import deep_copy
from polykind.schema.node import ABSENT, META_KEYS, SchemaNode
from polykind.schema.object_meta import round_trip
from polykind.schema.pruning import prune


def drop_nulls(node: SchemaNode | None, value: Any, *, root: bool = False) -> None:
    """Remove keys whose value is null where the field is neither nullable nor has a default. Nulls in lists stay."""
    if node is None:
        return
    if type(value) is dict:
        for key in list(value):
            if root and key in META_KEYS:
                continue
            item, child = value[key], node.child(key)
            if item is None:
                if child is not None and not child.nullable and effective_default(child) is None:
                    del value[key]
            elif child is not None and type(item) in (dict, list):
                drop_nulls(child, item)
    elif type(value) is list and node.items is not None:
        for item in value:
            if type(item) in (dict, list):
                drop_nulls(node.items, item)


def apply_defaults(node: SchemaNode | None, value: Any, *, root: bool = False) -> None:
    """Set fields that are absent, or null without being nullable, to their defaults, in place."""
    if node is None:
        return
    if type(value) is dict:
        for key in node.property_names:
            if root and key in META_KEYS:
                continue
            child = node.property_node(key)
            assert child is not None
            if key not in value or (value[key] is None and not child.nullable):
                default = effective_default(child)
                if default is not None:
                    value[key] = deep_copy(default)
                    continue
            if key in value and type(value[key]) in (dict, list):
                apply_defaults(child, value[key])
        additional = node.additional
        if additional is not None:
            for key, item in value.items():
                if not node.has_property(key) and not (root and key in META_KEYS):
                    value[key] = _defaulted(additional, item)
    elif type(value) is list:
        items = node.items
        if items is not None:
            for at, item in enumerate(value):
                value[at] = _defaulted(items, item)


def _defaulted(node: SchemaNode, item: Any) -> Any:
    if item is None:
        return None if node.nullable else deep_copy(effective_default(node))
    if type(item) in (dict, list):
        apply_defaults(node, item)
    return item


def effective_default(node: SchemaNode) -> Any:
    """Return a node's default, pruned by its schema and with nested defaults applied. Return None if it has none."""
    if node.prepared_default is ABSENT:
        node.prepared_default = _prepare_default(node)
    return node.prepared_default


def _prepare_default(node: SchemaNode) -> Any:
    value = node.raw.get("default")
    if value is None:
        return None
    value = deep_copy(value)
    if node.metadata_path is not None:
        value = _coerce_metadata_default(node.metadata_path, value)
    else:
        prune(node, value, "", None, root=node.embedded_resource)
        coerce_embedded(node, value, "", [], strict=False)
    if value is not None:
        apply_defaults(node, value)
    return value


def _coerce_metadata_default(path: tuple[str | int, ...], value: Any) -> Any:
    """Coerce a default inside the metadata of an embedded resource: only what ObjectMeta can hold there remains."""
    head, *keys = path
    if head != "metadata":
        return value if isinstance(value, str) else None
    metadata = value
    for key in reversed(keys):
        metadata = [metadata] if key == 0 else {key: metadata}
    coerced: Any = round_trip(metadata, strict=False)[0]
    for key in keys:
        if key == 0:
            coerced = coerced[0] if isinstance(coerced, list) and coerced else None
        else:
            coerced = coerced.get(key) if isinstance(coerced, dict) else None
    return coerced
