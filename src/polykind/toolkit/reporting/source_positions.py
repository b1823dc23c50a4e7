"""Positions in source files: of Python functions, of rules, and of fields in YAML files such as CRDs."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from yaml import Node

FieldPath = tuple[str | int, ...]
"""The keys and list indexes that lead to a field."""
_PACKAGE = __file__.removesuffix(f"toolkit{os.sep}reporting{os.sep}source_positions.py")
_PLACE = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(?:, in .*)?")


class SourcePosition(NamedTuple):
    """A line of a file. `line` counts from 1; 0 means the whole file."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        """Return `file:line`, relative to the working directory if the file is inside."""
        file = relative_file(self.file)
        return f"{file}:{self.line}" if self.line else file


def relative_file(file: str) -> str:
    """Return a file's path relative to the working directory, or unchanged if the file is outside."""
    return file.removeprefix(os.getcwd() + os.sep)


def parse_position(text: str) -> SourcePosition | None:
    """Parse `file:line` or `file:line, in function`. Return None if the text has another format."""
    match = _PLACE.fullmatch(text)
    return SourcePosition(match["file"], int(match["line"])) if match else None


def function_position(function: Callable[..., Any]) -> SourcePosition | None:
    """Return the position of a function's definition, or of the declaration of the rules that it was built from.

    Return None for functions without Python source, such as built-in functions.
    """
    inner = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)
    if place := getattr(inner, "declared_at", ""):
        return parse_position(place)
    code = getattr(inner, "__code__", None) or getattr(getattr(inner, "__call__", None), "__code__", None)  # noqa: B004
    return SourcePosition(code.co_filename, code.co_firstlineno) if code is not None else None


def is_own_function(function: Callable[..., Any]) -> bool:
    """True for a function of Polykind itself, which authors of converters need not see."""
    position = function_position(function)
    return position is not None and position.file.startswith(_PACKAGE)


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


class CRDFile:
    """Finds the lines of a CRD's fields in the file that declares the CRD. The file is read on first use."""

    def __init__(self, file: Path | str, name: str) -> None:
        """`name` is the CRD's `metadata.name`, because a file may contain several documents."""
        self.file = str(file)
        self._name = name

    @cached_property
    def _fields(self) -> FieldLines:
        """The document of the CRD, or an empty one if the file cannot be read."""
        try:
            documents = field_lines(Path(self.file).read_text())
        except (OSError, ValueError):
            return FieldLines()
        return next((each for each in documents if each.scalar(("metadata", "name")) == self._name), FieldLines())

    def position(self, version: str = "", path: str = "") -> SourcePosition:
        """Return the position of a field's schema, such as `spec.ports[*].name` of a version.

        If the schema lacks the field, return the position of its closest parent. If the file cannot be read or has
        another structure, return the position of the file.
        """
        here: FieldPath = ("spec", "versions")
        at = 0
        while self._fields.span((*here, at)):
            if self._fields.scalar((*here, at, "name")) == version:
                return SourcePosition(self.file, self._fields.nearest(self._schema_path((*here, at), path)))
            at += 1
        return SourcePosition(self.file, self._fields.nearest(here))

    def _schema_path(self, entry: FieldPath, path: str) -> FieldPath:
        """Return the path of a field's schema below a CRD version entry, or of its closest parent."""
        schema: FieldPath = (*entry, "schema", "openAPIV3Schema")
        here = schema if self._fields.span(schema) else entry
        for step in re.findall(r"\[[^\]]*\]|[^.\[\]]+", path):
            name = step.strip("[]")
            candidates: list[FieldPath] = [(*here, "properties", name), (*here, "additionalProperties")]
            if step.startswith("[") and (name == "*" or name.isdecimal()):
                candidates.insert(0, (*here, "items"))
            known = next((each for each in candidates if self._fields.span(each)), None)
            if known is None:
                break
            here = known
        return here
