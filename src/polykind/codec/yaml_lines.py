"""The lines of fields in YAML files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yaml import Node

FieldPath = tuple[str | int, ...]
"""The keys and list indexes that lead to a field."""


class FieldLines:
    """The lines of the fields in one YAML or JSON document.

    A key of a mapping starts at the line of the key, and ends at the last line of its value.
    """

    def __init__(self, root: Node | None = None) -> None:
        self._lines: dict[FieldPath, tuple[int, int]] = {}
        self._scalars: dict[FieldPath, str] = {}
        if root is not None:
            self._lines[()] = (root.start_mark.line + 1, _last_line(root))
            self._add(root, ())

    def span(self, path: FieldPath) -> tuple[int, int] | None:
        """Return the first and last line of a field, counted from 1, or None if the document lacks the field."""
        return self._lines.get(path)

    def nearest(self, path: FieldPath) -> int:
        """Return the first line of a field, or of its closest parent in the document. Return 0 if there is none."""
        while path not in self._lines and path:
            path = path[:-1]
        return self._lines.get(path, (0, 0))[0]

    def scalar(self, path: FieldPath) -> str | None:
        """Return the text of a scalar field, or None if the document has no scalar at this path."""
        return self._scalars.get(path)

    def _add(self, node: Node, path: FieldPath) -> None:
        if isinstance(node.value, str):
            self._scalars[path] = node.value
            return
        for at, item in enumerate(node.value):
            # The value of a mapping node is a list of pairs of a key and a value.
            key, value = item if isinstance(item, tuple) else (None, item)
            here = (*path, at if key is None else str(key.value))
            first = (value if key is None else key).start_mark.line + 1
            self._lines[here] = (first, max(first, _last_line(value)))
            self._add(value, here)


def field_lines(text: str) -> list[FieldLines]:
    """Return the lines of all fields for each document of a YAML or JSON text. Raise ValueError if it is malformed."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return [FieldLines(root) for root in yaml.compose_all(text, loader)]
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None


def _last_line(node: Node) -> int:
    """Return the last line of a node. A block ends at the start of the token after it, which is on a later line."""
    first, end = node.start_mark.line + 1, node.end_mark
    block = (
        getattr(node, "style", "") in ("|", ">")
        if isinstance(node.value, str)
        else not getattr(node, "flow_style", False)
    )
    return max(first, end.line if block or end.column == 0 else end.line + 1)
