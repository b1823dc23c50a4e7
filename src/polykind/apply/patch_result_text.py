"""The JSON text of a patched object, as kube-apiserver prints it in errors.

kube-apiserver's patch libraries decode only the objects on the paths of the patch. They write the keys of these objects
sorted, and keep all other text.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from polykind.golang.json import encode_json, escape_html

Node = Any
"""A part of the text: bytes if it is not decoded yet, otherwise a dict or list of nodes. A null is None."""

_strip_blanks = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|\s+', re.DOTALL).sub
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def json_patch_text(document: bytes, operations: bytes) -> bytes:
    """Return the document's text after a JSON patch that is known to succeed."""
    patcher = _Patcher(_open(document))
    for operation in _items(operations):
        patcher.run(_open(bytes(operation)))
    return _encode(patcher.root)


def merge_patch_text(document: bytes, patch: bytes) -> bytes:
    """Return the document's text after a merge patch. A patch that is a list replaces the document."""
    root = _open(patch)
    return _encode(_merge(_open(document), root) if isinstance(root, dict) else _without_nulls(root))


def _open(node: Node) -> Node:
    """Decode one level of a node: return a dict or list whose members are still bytes."""
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


def _encode(node: Node) -> bytes:
    if node is None:
        return b"null"
    if isinstance(node, dict):
        return b"{%b}" % b",".join(b"%b:%b" % (encode_json(key), _encode(node[key])) for key in sorted(node))
    if isinstance(node, list):
        return b"[%b]" % b",".join(map(_encode, node))
    return escape_html(_strip_blanks(rb"\1", node))


def _merge(document: dict[str, Node], patch: dict[str, Node]) -> Node:
    for key, value in patch.items():
        if value is None:
            document.pop(key, None)
            continue
        old = _open(document.get(key))
        if not isinstance(old, dict):
            document[key] = _without_nulls(value)
            continue
        new = _open(value)
        # A value that replaces an object is not decoded, unless it is an object itself.
        document[key] = _merge(old, new) if isinstance(new, dict) else value
    return document


def _without_nulls(node: Node) -> Node:
    node = _open(node)
    if isinstance(node, dict):
        return {key: _without_nulls(value) for key, value in node.items() if value is not None}
    if isinstance(node, list):
        return [_without_nulls(value) for value in node]
    return node


class _Patcher:
    """Applies a JSON patch that is known to succeed."""

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
                value = _encode(value)
        if op == "test":
            self.test(path)
        elif path == "":
            self.root = _open(value)
        else:
            self.change(op, path, value)

    def change(self, op: str, path: str, value: Node) -> None:
        is_add = op in ("add", "move", "copy")
        container, key = self.find(path, append=is_add)
        if op == "remove":
            del container[key]
        elif is_add and isinstance(container, list):
            container.insert(key, value)
        else:
            container[key] = value

    def test(self, path: str) -> None:
        """Decode the target of a test operation, as the patch library does. This sorts the keys in the text."""
        if path:
            container, key = self.find(path)
            if isinstance(container, list) or key in container:
                container[key] = _open_all(container[key])
        else:
            self.root = _open_all(self.root)

    def find(self, path: str, *, append: bool = False) -> tuple[Node, Any]:
        """Return the container of the target of `path`, and the target's key or index in it.

        If `append` is true, the index may be the end of a list.
        """
        keys = [key.replace("~1", "/").replace("~0", "~") for key in path.split("/")[1:]]
        container = self.root
        for key in keys[:-1]:
            index_or_key = _index_or_key(container, key)
            container[index_or_key] = container = _open(container[index_or_key])
        return container, _index_or_key(container, keys[-1], append=append)


def _index_or_key(container: Node, key: str, *, append: bool = False) -> Any:
    if isinstance(container, dict):
        return key
    length = len(container) + append
    if key == "-":
        return length - 1
    return int(key) + length if key.startswith("-") else int(key)


def _open_all(node: Node) -> Node:
    node = _open(node)
    if isinstance(node, dict):
        return {key: _open_all(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_open_all(value) for value in node]
    return node


def _string(operation: dict[str, Node], field: str) -> str:
    text = operation.get(field)
    return msgspec.json.decode(text, type=str) if text is not None else ""
