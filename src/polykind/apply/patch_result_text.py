"""What a patch made, where it is told: objects that it went into are sorted, all else stands as it was written."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from polykind.golang.json import encode_json, escape_html

Node = Any
"""A part of a text: bytes as long as nobody looks into it, then a dict or a list of nodes; null is None."""

_blanks = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")|\s+').sub
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def json_patch_text(document: bytes, operations: bytes) -> bytes:
    """What a JSON patch that applies to a document makes of it."""
    patching = _Patching(_opened(document))
    for operation in _items(operations):
        patching.run(_opened(bytes(operation)))
    return _text(patching.root)


def merge_patch_text(document: bytes, patch: bytes) -> bytes:
    """What a merge patch makes of a document; a list takes its place."""
    root = _opened(patch)
    return _text(_merged(_opened(document), root) if isinstance(root, dict) else _pruned(root))


def _opened(node: Node) -> Node:
    """A node that is looked into, one level deep."""
    if type(node) is not bytes:
        return node
    first = node.lstrip()[:1]
    if first == b"{":
        return {key: _node(value) for key, value in _members(node).items()}
    if first == b"[":
        return [_node(value) for value in _items(node)]
    return node


def _node(raw: msgspec.Raw) -> Node:
    text = bytes(raw)
    return None if text == b"null" else text


def _text(node: Node) -> bytes:
    if node is None:
        return b"null"
    if isinstance(node, dict):
        return b"{%b}" % b",".join(b"%b:%b" % (encode_json(key), _text(node[key])) for key in sorted(node))
    if isinstance(node, list):
        return b"[%b]" % b",".join(map(_text, node))
    return escape_html(_blanks(rb"\1", node))


def _merged(document: dict[str, Node], patch: dict[str, Node]) -> Node:
    for key, value in patch.items():
        if value is None:
            document.pop(key, None)
            continue
        old = _opened(document.get(key))
        if not isinstance(old, dict):
            document[key] = _pruned(value)
            continue
        new = _opened(value)
        # What takes the place of an object without being one is not looked into.
        document[key] = _merged(old, new) if isinstance(new, dict) else value
    return document


def _pruned(node: Node) -> Node:
    node = _opened(node)
    if isinstance(node, dict):
        return {key: _pruned(value) for key, value in node.items() if value is not None}
    if isinstance(node, list):
        return [_pruned(value) for value in node]
    return node


class _Patching:
    """One run of a JSON patch that is known to apply."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def run(self, operation: dict[str, Node]) -> None:
        op, path = _string(operation, "op"), _string(operation, "path")
        value = operation.get("value")
        if op in ("move", "copy"):
            container, key = self.find(_string(operation, "from"))
            value = container[key] if isinstance(container, list) else container.get(key)
            if op == "move":
                del container[key]
            elif value is not None:
                value = _text(value)
        if op == "test":
            self.test(path)
        elif path == "":
            self.root = _opened(value)
        else:
            self.change(op, path, value)

    def change(self, op: str, path: str, value: Node) -> None:
        adds = op in ("add", "move", "copy")
        container, key = self.find(path, longer=adds)
        if op == "remove":
            del container[key]
        elif adds and isinstance(container, list):
            container.insert(key, value)
        else:
            container[key] = value

    def test(self, path: str) -> None:
        """A test looks into all that it compares."""
        if path:
            container, key = self.find(path)
            if isinstance(container, list) or key in container:
                container[key] = _wide_open(container[key])
        else:
            self.root = _wide_open(self.root)

    def find(self, path: str, *, longer: bool = False) -> tuple[Node, Any]:
        """The container of what a path names, and the key or index in it; `longer`: it may be one behind the last."""
        keys = [key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:]]
        container = self.root
        for key in keys[:-1]:
            place = _place(container, key)
            container[place] = container = _opened(container[place])
        return container, _place(container, keys[-1], longer=longer)


def _place(container: Node, key: str, *, longer: bool = False) -> Any:
    if isinstance(container, dict):
        return key
    length = len(container) + longer
    if key == "-":
        return length - 1
    return int(key) + length if key.startswith("-") else int(key)


def _wide_open(node: Node) -> Node:
    node = _opened(node)
    if isinstance(node, dict):
        return {key: _wide_open(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_wide_open(value) for value in node]
    return node


def _string(operation: dict[str, Node], field: str) -> str:
    text = operation.get(field)
    return msgspec.json.decode(text, type=str) if text is not None else ""
