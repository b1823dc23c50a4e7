"""What an object loses and gains by its schema: unknown fields, nulls, defaults. Exact and unhurried."""

from __future__ import annotations

from typing import Any

from polykind.schema.embedded_resources import coerce_embedded
from polykind.schema.equality import deep_copy
from polykind.schema.node import ABSENT, META_KEYS, SchemaNode
from polykind.schema.object_meta import round_trip


def prune(node: SchemaNode | None, value: Any, path: str, unknown: list[str] | None, *, root: bool = False) -> None:
    """Drop unknown fields in place; their paths go into `unknown`, unsorted."""
    if node is not None and node.preserve_unknown:
        _prune_specified(node, value, path, unknown, root=root)
    elif type(value) is dict:
        if node is None:
            _forget(value, path, unknown)
            return
        spared = META_KEYS if root or node.embedded_resource else ()
        for key in list(value):
            if key in spared:
                continue
            if not node.specifies(key):
                if unknown is not None:
                    unknown.append(_joined(path, key))
                del value[key]
            elif type(value[key]) in (dict, list):
                prune(node.child(key), value[key], _joined(path, key), unknown)
    elif type(value) is list:
        items = node.items if node else None
        if items is None:
            _prune_unspecified(value, path, unknown)
            return
        for at, item in enumerate(value):
            if type(item) in (dict, list):
                prune(items, item, f"{path}[{at}]", unknown)


def _prune_specified(
    node: SchemaNode | None, value: Any, path: str, unknown: list[str] | None, *, root: bool = False
) -> None:
    """Keep what is unknown here, but prune what is specified by its own schema."""
    if node is None:
        return
    if type(value) is dict:
        spared = META_KEYS if root or node.embedded_resource else ()
        for key, item in value.items():
            if type(item) in (dict, list) and key not in spared and node.specifies(key):
                prune(node.child(key), item, _joined(path, key), unknown)
    elif type(value) is list:
        for at, item in enumerate(value):
            if type(item) in (dict, list):
                _prune_specified(node.items, item, f"{path}[{at}]", unknown)


def _prune_unspecified(values: list[Any], path: str, unknown: list[str] | None) -> None:
    """Lists without a schema for their items keep their shape, but every object in them is emptied."""
    pending = [(values, path)]
    while pending:
        items, here = pending.pop()
        for at, item in enumerate(items):
            if type(item) is dict:
                _forget(item, f"{here}[{at}]", unknown)
            elif type(item) is list:
                pending.append((item, f"{here}[{at}]"))


def _forget(value: dict[str, Any], path: str, unknown: list[str] | None) -> None:
    if unknown is not None:
        unknown.extend(_joined(path, key) for key in value)
    value.clear()


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def drop_nulls(node: SchemaNode | None, value: Any, *, root: bool = False) -> None:
    """Drop keys whose value is null where neither nullable nor defaulted; nulls in lists stay."""
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
    """Set what is absent, or null where null is not allowed, to its default; what lies below a default included."""
    if node is None:
        return
    if type(value) is dict:
        for key in node.property_names:
            if root and key in META_KEYS:
                continue
            child = node.property_node(key)
            assert child is not None
            if key not in value or (value[key] is None and not child.nullable):
                filling = effective_default(child)
                if filling is not None:
                    value[key] = deep_copy(filling)
                    continue
            if key in value and type(value[key]) in (dict, list):
                apply_defaults(child, value[key])
        more = node.additional
        if more is not None:
            for key, item in value.items():
                if not node.has_property(key) and not (root and key in META_KEYS):
                    value[key] = _filled(more, item)
    elif type(value) is list:
        items = node.items
        if items is not None:
            for at, item in enumerate(value):
                value[at] = _filled(items, item)


def _filled(node: SchemaNode, item: Any) -> Any:
    if item is None:
        return None if node.nullable else deep_copy(effective_default(node))
    if type(item) in (dict, list):
        apply_defaults(node, item)
    return item


def effective_default(node: SchemaNode) -> Any:
    """The node's default as it is to be filled in: pruned by the schema, the defaults below it applied; None: none."""
    if node.prepared_default is ABSENT:
        node.prepared_default = _completed(node)
    return node.prepared_default


def _completed(node: SchemaNode) -> Any:
    value = node.raw.get("default")
    if value is None:
        return None
    value = deep_copy(value)
    if node.metadata_path is not None:
        value = _as_metadata(node.metadata_path, value)
    else:
        prune(node, value, "", None, root=node.embedded_resource)
        coerce_embedded(node, value, "", [], strict=False)
    if value is not None:
        apply_defaults(node, value)
    return value


def _as_metadata(path: tuple[str | int, ...], value: Any) -> Any:
    """A default inside the metadata of an embedded resource keeps only what metadata can hold there."""
    head, *steps = path
    if head != "metadata":
        return value if isinstance(value, str) else None
    whole = value
    for step in reversed(steps):
        whole = [whole] if step == 0 else {step: whole}
    found: Any = round_trip(whole, strict=False)[0]
    for step in steps:
        if step == 0:
            found = found[0] if isinstance(found, list) and found else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found
