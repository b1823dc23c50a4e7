"""Field paths of selectable fields and CEL rules, such as .spec.color or ['a.b'].c, resolved against a schema."""

from __future__ import annotations

import re

from polykind.contract import JsonObject

_escape = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """A path that cannot be parsed or that leads to no field of the schema. The message is that of kube-apiserver."""


def find_field(
    path: str, schema: JsonObject | None, *, brackets: bool = True
) -> tuple[tuple[str, ...], JsonObject | None]:
    """Return the field names of a path and the schema of its last field. Raise FieldPathError if the field is unknown.

    If `brackets` is false, the path must not contain brackets.
    """
    parts = _split(path)
    position = 0
    names: list[str] = []
    node = schema
    while position < len(parts):
        delimiter = parts[position]
        position += 1
        if delimiter not in (".", "["):
            raise FieldPathError(f"expected [ or . but got: {delimiter}")
        if delimiter == "[" and not brackets:
            raise FieldPathError("array notation is not allowed")
        if position == len(parts):
            raise FieldPathError("unexpected end of JSON path")
        name = parts[position]
        position += 1
        if delimiter == "[":
            if len(name) < 2 or name[0] != "'" or name[-1] != "'":
                raise FieldPathError(f"expected single quoted string but got {name}")
            name = _unescape(name[1:-1])
        node = _child(node, name)
        names.append(name)
        if delimiter == "[":
            if position == len(parts):
                raise FieldPathError("unexpected end of JSON path")
            if parts[position] != "]":
                raise FieldPathError(f"expected ] but got {parts[position]}")
            position += 1
    return tuple(names), node


def _split(path: str) -> list[str]:
    """Split a path into delimiters, quoted strings and the texts between them."""
    parts: list[str] = []
    start = 0
    while start < len(path):
        if path[start] == "'":
            end = start + 1
            while end < len(path) and not (path[end] == "'" and path[end - 1] != "\\"):
                end += 1
            end = min(end + 1, len(path))
        elif path[start] in ".[]":
            end = start + 1
        else:
            end = start + 1
            while end < len(path) and path[end] not in ".[]":
                end += 1
        parts.append(path[start:end])
        start = end
    return parts


def _child(node: JsonObject | None, name: str) -> JsonObject | None:
    if node is None:
        raise FieldPathError("does not refer to a valid field")
    properties = node.get("properties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        property_schema: JsonObject = properties[name]
        return property_schema
    if "additionalProperties" not in node:
        raise FieldPathError("does not refer to a valid field")
    additional = node["additionalProperties"]
    return additional if isinstance(additional, dict) else None


def _unescape(text: str) -> str:
    """Return the text of a single-quoted string."""
    for match in _escape.finditer(text):
        if match[1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
    return _escape.sub(lambda match: _ESCAPES[match[1]], text)
