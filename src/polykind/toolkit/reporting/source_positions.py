"""Positions in source files: of Python functions, of rules, and of the fields of a CRD."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from polykind.codec.yaml_lines import FieldLines, FieldPath, field_lines

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
