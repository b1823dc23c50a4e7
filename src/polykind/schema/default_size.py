"""The size of the defaults that an object would get. Defaults can turn a few bytes per list item into megabytes."""

from __future__ import annotations

from typing import Any, Final

from polykind import errors
from polykind.golang.json import go_json
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.pruning import effective_default

MAX_DEFAULT_BYTES: Final = 1536 * 1024
"""The maximum size of all defaults in one object, in bytes of JSON. No store accepts larger objects."""
_TOO_LARGE: Final = "etcdserver: request is too large"


def check_default_size(root: SchemaNode, obj: Any) -> None:
    """Raise UnknownReasonError, with etcd's message, if the defaults would make an object too large to be stored."""
    sizes: dict[int, int] = {}
    total = 0
    pending: list[tuple[SchemaNode, Any, bool]] = [(root, obj, True)]
    while pending:
        node, value, is_root = pending.pop()
        if type(value) is list:
            if node.items is not None:
                pending += [(node.items, item, False) for item in value if type(item) in (dict, list)]
            continue
        for key in node.property_names:
            child = node.property_node(key)
            if child is None or (is_root and key in META_KEYS):
                continue
            item = value.get(key)
            if type(item) in (dict, list):
                pending.append((child, item, False))
            elif item is None:
                total += _size(child, key, sizes)
        if node.additional is not None:
            members = (item for key, item in value.items() if not node.has_property(key))
            pending += [(node.additional, item, False) for item in members if type(item) in (dict, list)]
        if total > MAX_DEFAULT_BYTES:
            raise errors.UnknownReasonError(_TOO_LARGE)


def _size(node: SchemaNode, key: str, sizes: dict[int, int]) -> int:
    """Return the size of a property's key and default as JSON. Return 0 if the property has no default."""
    size = sizes.get(id(node))
    if size is None:
        default = effective_default(node)
        size = sizes[id(node)] = 0 if default is None else len(go_json(default)) + len(key) + 4
    return size
