"""The slow path of pruning and defaulting: drops unknown fields and nulls, and fills in defaults."""

from __future__ import annotations

from typing import Any

from polykind.schema.embedded_resources import coerce_embedded, join_path
from polykind.schema.equality import deep_copy
from polykind.schema.node import ABSENT, META_KEYS, SchemaNode
from polykind.schema.object_meta import round_trip


def prune(node: SchemaNode | None, value: Any, path: str, unknown: list[str] | None, *, root: bool = False) -> None:
    """Remove unknown fields in place. If `unknown` is a list, append the paths of the removed fields, unsorted."""
    if node is not None and node.preserve_unknown:
        _prune_specified(node, value, path, unknown, root=root)
    elif type(value) is dict:
        if node is None:
            _remove_all(value, path, unknown)
            return
        exempt = META_KEYS if root or node.embedded_resource else ()
        for key in list(value):
            if key in exempt:
                continue
            if not node.specifies(key):
                if unknown is not None:
                    unknown.append(join_path(path, key))
                del value[key]
            elif type(value[key]) in (dict, list):
                prune(node.child(key), value[key], join_path(path, key), unknown)
    elif type(value) is list:
        items = node.items if node else None
        if items is None:
            _prune_items_without_schema(value, path, unknown)
            return
        for at, item in enumerate(value):
            if type(item) in (dict, list):
                prune(items, item, f"{path}[{at}]", unknown)


def _prune_specified(
    node: SchemaNode | None, value: Any, path: str, unknown: list[str] | None, *, root: bool = False
) -> None:
    """Prune the values of known fields, but keep unknown fields (x-kubernetes-preserve-unknown-fields)."""
    if node is None:
        return
    if type(value) is dict:
        exempt = META_KEYS if root or node.embedded_resource else ()
        for key, item in value.items():
            if type(item) in (dict, list) and key not in exempt and node.specifies(key):
                prune(node.child(key), item, join_path(path, key), unknown)
    elif type(value) is list:
        for at, item in enumerate(value):
            if type(item) in (dict, list):
                _prune_specified(node.items, item, f"{path}[{at}]", unknown)


def _prune_items_without_schema(values: list[Any], path: str, unknown: list[str] | None) -> None:
    """Remove all fields of every object in a list whose items have no schema. The list keeps its length."""
    pending = [(values, path)]
    while pending:
        items, here = pending.pop()
        for at, item in enumerate(items):
            if type(item) is dict:
                _remove_all(item, f"{here}[{at}]", unknown)
            elif type(item) is list:
                pending.append((item, f"{here}[{at}]"))


def _remove_all(value: dict[str, Any], path: str, unknown: list[str] | None) -> None:
    if unknown is not None:
        unknown.extend(join_path(path, key) for key in value)
    value.clear()


def drop_nulls(node: SchemaNode | None, value: Any, *, root: bool = False) -> None:
    """Remove keys with a null value, in place, if the field is not nullable and has no default. Nulls in lists stay."""
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
    """Set fields to their defaults, in place, if they are absent, or null although they are not nullable."""
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
    """Return a node's default, pruned by its schema and with nested defaults applied. Return None if there is none."""
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
    """Return a default inside the metadata of an embedded resource, without parts that ObjectMeta does not allow."""
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
