"""Constants in the code of a Python converter: strings, numbers and patterns that its functions refer to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from random import Random
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from polykind.contract import JsonObject
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.choices import RandomChoices
from polykind.toolkit.proving.pattern_generator import UnsupportedPatternError, pattern_generator
from polykind.toolkit.proving.vocabulary import Vocabulary

_MAX_CONSTANTS = 400
_MAX_DEPTH = 12
_MAX_LENGTH = 100
_METADATA_FIELDS = ("apiVersion", "kind", "metadata", "spec", "status", "annotations", "labels", "name", "namespace")
_OWN_CODE = "polykind."
_looks_like_pattern = re.compile(r"\\[dwsSDW.]|\[[^\]]+\][+*?{]|\.\*|\.\+|^\^|\$$|\(\?").search


def converter_constants(library: Library, crd: CRD) -> Vocabulary:
    """Return the constants in the functions of a converter and in the functions and data that they refer to.

    Omit the names of fields, which every converter contains.
    """
    collector = _Collector()
    if library.declared is not None:
        for step in library.declared[crd.kind].steps.values():
            collector.visit(step.function)
    else:
        collector.visit(library.function(*crd.kind.partition(".")[::-2]))
    fields = {name for version in crd.versions.values() for name in _field_names(version.openapi)}
    known = {*fields, *_METADATA_FIELDS, crd.group, *crd.versions, *(v.api_version for v in crd.versions.values())}
    strings = [text for text in collector.strings if text not in known]
    for pattern in collector.patterns:
        strings += _pattern_examples(pattern)
    return Vocabulary(strings, collector.numbers)


def _field_names(raw: JsonObject) -> Iterator[str]:
    for name, child in (raw.get("properties") or {}).items():
        yield name
        yield from _field_names(child)
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), dict):
            yield from _field_names(raw[key])


def _pattern_examples(pattern: str) -> Iterator[str]:
    choices = RandomChoices(Random(pattern))  # noqa: S311
    for _ in range(6):
        try:
            drawn = pattern_generator(pattern).draw(choices)
        except UnsupportedPatternError:
            return
        if drawn:
            yield drawn


class _Collector:
    """Walks functions, their closures and the globals that they use. Insertion order makes runs repeatable."""

    def __init__(self) -> None:
        self.strings: dict[str, None] = {}
        self.numbers: dict[int | float, None] = {}
        self.patterns: dict[str, None] = {}
        self._seen: set[int] = set()
        self._kept: list[Any] = []

    def visit(self, value: Any, depth: int = 0) -> None:
        if len(self.strings) + len(self.numbers) >= _MAX_CONSTANTS or depth > _MAX_DEPTH:
            return
        if isinstance(value, (str, int, float, bytes)) or value is None:
            self._scalar(value)
            return
        if id(value) in self._seen or isinstance(value, ModuleType):
            return
        self._seen.add(id(value))
        self._kept.append(value)  # Keep a reference, so that no other value gets the same id.
        if isinstance(value, re.Pattern):
            if isinstance(value.pattern, str):
                self.patterns[value.pattern] = None
        elif isinstance(value, FunctionType):
            self._function(value, depth)
        elif isinstance(value, type):
            self._class(value, depth)
        else:
            inner = _contents(value)
            if inner is None:
                self._instance(value, depth)
            else:
                for item in inner:
                    self.visit(item, depth + 1)

    def _function(self, function: FunctionType, depth: int) -> None:
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            self.visit(wrapped, depth + 1)
        for cell in function.__closure__ or ():
            try:
                self.visit(cell.cell_contents, depth + 1)
            except ValueError:
                continue
        if (function.__module__ or "").startswith(_OWN_CODE):
            return
        self.visit(function.__defaults__ or (), depth + 1)
        for code in _nested_code(function.__code__):
            for constant in code.co_consts:
                if not isinstance(constant, CodeType) and constant is not function.__doc__:
                    self.visit(constant, depth + 1)
            for name in code.co_names:
                if name in function.__globals__:
                    self._global(function, function.__globals__[name], depth)

    def _global(self, user: FunctionType, value: Any, depth: int) -> None:
        """Visit a global variable, except code of another package."""
        module = getattr(value, "__module__", None)
        is_code = isinstance(value, (FunctionType, type)) and isinstance(module, str)
        if is_code and (_package(module) != _package(user.__module__) or str(module).startswith(_OWN_CODE)):
            return
        self.visit(value, depth + 1)

    def _class(self, value: type, depth: int) -> None:
        if value.__module__ == "builtins" or value.__module__.startswith(_OWN_CODE):
            return
        for item in list(vars(value).values()):
            if isinstance(item, (staticmethod, classmethod)):
                item = item.__func__
            if isinstance(item, (FunctionType, str, int, float, tuple, list, dict, set, frozenset, re.Pattern)):
                self.visit(item, depth + 1)

    def _instance(self, value: Any, depth: int) -> None:
        inner = getattr(value, "func", None)
        if callable(inner):
            self.visit(inner, depth + 1)
        state = getattr(value, "__dict__", None)
        if isinstance(state, dict) and type(value).__module__ not in ("builtins",):
            self.visit(state, depth + 1)
        self._class(type(value), depth + 1)

    def _scalar(self, value: Any) -> None:
        if isinstance(value, bool) or value is None or isinstance(value, bytes):
            return
        if isinstance(value, str):
            if 0 < len(value) <= _MAX_LENGTH:
                self.strings[value] = None
                if _looks_like_pattern(value):
                    self.patterns[value] = None
        elif value == value and abs(value) < 1 << 70:
            self.numbers[value] = None


def _contents(value: Any) -> list[Any] | None:
    """Return the values in a container or a bound method, or None for any other value."""
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, Mapping):
        return [each for item in value.items() for each in item]
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return list(value) if isinstance(value, (list, tuple)) else None


def _nested_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested_code(constant)


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]
