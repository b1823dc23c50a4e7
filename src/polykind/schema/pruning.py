"""Pruning: removal of unknown fields, as kube-apiserver's structural schemas do it. This is the slow path."""

from __future__ import annotations

from typing import Any

from polykind.schema.node import META_KEYS, SchemaNode


def prune(node: SchemaNode | None, value: Any, path: str, unknown: list[str] | None, *, root: bool = False) -> None:
    """Remove unknown fields in place. Append their paths, unsorted, to `unknown` unless it is None."""
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
                    unknown.append(_join(path, key))
                del value[key]
            elif type(value[key]) in (dict, list):
                prune(node.child(key), value[key], _join(path, key), unknown)
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
    """Keep unknown fields (x-kubernetes-preserve-unknown-fields), but prune inside the specified ones."""
    if node is None:
        return
    if type(value) is dict:
        exempt = META_KEYS if root or node.embedded_resource else ()
        for key, item in value.items():
            if type(item) in (dict, list) and key not in exempt and node.specifies(key):
                prune(node.child(key), item, _join(path, key), unknown)
    elif type(value) is list:
        for at, item in enumerate(value):
            if type(item) in (dict, list):
                _prune_specified(node.items, item, f"{path}[{at}]", unknown)


def _prune_items_without_schema(values: list[Any], path: str, unknown: list[str] | None) -> None:
    """Empty every object in a list whose items have no schema. The list keeps its length."""
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
        unknown.extend(_join(path, key) for key in value)
    value.clear()


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
