"""Tables of built-in types: files with one line for each field, which are read when a type is first used.

CONTRIBUTING.md describes the format. A table is part of the code, as a module is: it is read from the package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pkgutil import get_data
from sys import intern
from typing import Any

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.json_schema_types import SchemaOrArray, SchemaOrBool, SchemaOrStrings, SchemaStruct
from polykind.apis.machinery.structs import Declaration, Field, Struct, Union
from polykind.apis.machinery.value_types import ListOf, MapOf, String, ValueType

EMULATED = (1, 36)
"""The version of Kubernetes whose types the server serves."""

_BUILT_IN = {
    "string": types.STRING,
    "bool": types.BOOL,
    "int32": types.INT32,
    "int64": types.INT64,
    "float64": types.FLOAT64,
    "bytes": types.BYTES,
    "[]string": types.STRINGS,
    "map[string]string": types.STRING_MAP,
    "Duration": types.DURATION,
    "IntOrString": types.INT_OR_STRING,
    "MicroTime": types.MICRO_TIME,
    "Quantity": types.QUANTITY,
    "RawExtension": types.RAW_EXTENSION,
    "RawObject": types.RAW_OBJECT,
    "Time": types.TIME,
    "UID": types.UID,
}
_SPECIAL: dict[str, Callable[[str, str, str], ValueType]] = {
    "raw": types.Raw,
    "verbatim": types.Verbatim,
    "wrapped": types.Wrapped,
}
"""Classes whose values are not declared any further, by the word that stands for them."""
_SCHEMA_OR = {"schemaOrArray": SchemaOrArray, "schemaOrBool": SchemaOrBool, "schemaOrStrings": SchemaOrStrings}

TYPE_META = (
    Field("kind", 0, types.STRING, "The kind of the object, in CamelCase."),
    Field("apiVersion", 0, types.STRING, "APIVersion defines the API group and version of this representation."),
)
"""The fields apiVersion and kind. They have no protobuf number, because the protobuf envelope contains them."""

# A declaration is a line that starts with one of these words, and the indented lines after it.
_declarations = re.compile(r"^(?:models|type|struct|internal) .*(?:\n .*)*", re.MULTILINE)


class TypeTable:
    """The types of one version of an API group, by name. `read` returns the text of the table."""

    def __init__(self, version: str, read: Callable[[], str], emulated: tuple[int, int] = EMULATED) -> None:
        self.version = version
        self._read = read
        self._emulated = emulated
        self._types: dict[str, ValueType] = {}
        """The types that are in use, by the text that fields have for them, such as `[]Container`."""

    @cached_property
    def _declared(self) -> dict[str, str]:
        """The texts of the declarations, by name. The names of `internal` lines have this word in front of them."""
        found = {}
        for text in _declarations.findall(self._read()):
            word, name, *_ = text.split(maxsplit=2)
            found[name if word in ("struct", "type") else f"internal {name}" if word == "internal" else word] = text
        return found

    @cached_property
    def models(self) -> str:
        """The prefix of the names of OpenAPI models, with a dot at its end. Empty if the types have no models."""
        text = self._declared.get("models")
        return f"{text.split()[1]}.{self.version}." if text else ""

    def names(self) -> list[str]:
        """Return the names of all types."""
        return [name for name in self._declared if name != "models" and not name.startswith("internal ")]

    def struct(self, name: str) -> Struct:
        """Return a struct by its name."""
        found = self.type(name)
        if not isinstance(found, Struct):
            raise TypeError(f"{found.go} is not a struct")
        return found

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a string type."""
        found = self.type(name)
        return found.values if isinstance(found, String) else ()

    def type(self, text: str) -> ValueType:
        """Return the type that a field has, such as `[]Container` or `map[string]core.ResourceList`."""
        found = _BUILT_IN.get(text) or self._types.get(text)
        if found is None:
            # Another thread may have found it, too. All fields must have the same object.
            found = self._types.setdefault(text, self._find(text))
        return found

    def _find(self, text: str) -> ValueType:
        if text.startswith("[]"):
            return ListOf(self.type(text[2:]))
        if text.startswith("map["):
            key, _, item = text[4:].partition("]")
            item_type = self.type(item)
            return MapOf(item_type, f"map[{self.type(key).go}]{item_type.go}")
        package, dot, name = text.partition(".")
        if dot:
            package, _, version = package.partition("/")
            return type_table(package, version or "v1", emulated=self._emulated).type(name)
        declared = self._declared.get(text)
        if declared is None:
            raise KeyError(f"no table of version {self.version} declares the type {text}")
        return self._named_struct(text) if declared.startswith("struct ") else self._named_type(text)

    def _named_type(self, name: str) -> ValueType:
        """Return a type that is declared as `type NAME = TYPE: DESCRIPTION`, or `= string: VALUE, VALUE`."""
        text, _, doc = self._declared[name].partition(" = ")[2].partition(": ")
        go, model = f"{self.version}.{name}", f"{self.models}{name}"
        word, _, argument = text.partition(" ")
        if word == "string":
            return String(go, tuple(self._served_values(doc)))
        if word in _SCHEMA_OR:
            return _SCHEMA_OR[word](go, model, doc, self.struct(argument))
        if word in _SPECIAL:
            return _SPECIAL[word](go, model if doc else "", doc)
        declared = self._find(text)
        if isinstance(declared, ListOf):
            return ListOf(declared.item, go)
        if isinstance(declared, MapOf):
            return MapOf(declared.item, go)
        raise ValueError(f"{name}: {text} is neither a list nor a map")

    def _named_struct(self, name: str) -> Struct:
        flags, _, _ = _struct_parts(self._declared[name])
        kind, version = (name, self.version) if {"kind", "registered"} & set(flags) else ("", "")
        made = SchemaStruct if "schema" in flags else Struct
        return made(f"{self.version}.{name}", lambda: self.declaration(name), kind=kind, version=version)

    def declaration(self, name: str) -> Declaration:
        """Return what the table says about a struct."""
        flags, doc, lines = _struct_parts(self._declared[name])
        fields = [field for line in lines if (field := self._field(line)) is not None]
        return Declaration(
            (*TYPE_META, *fields) if "kind" in flags else tuple(fields),
            model=f"{self.models}{name}" if self.models else "",
            doc=doc,
            atomic="atomic" in flags,
            unions=tuple(_union(flag[6:]) for flag in flags if flag.startswith("union=")),
            internal=tuple(self._internal_fields(name, fields)),
        )

    def _internal_fields(self, name: str, fields: list[Field]) -> Iterator[Field]:
        """Yield the fields of kube-apiserver's internal type if the table has a line with their order."""
        names = self._declared.get(f"internal {name}", "").split()[3:]
        own = {field.name: field for field in _flat(fields)}
        for text in names:
            struct, dot, member = text.partition(".")
            yield next(field for field in self.struct(struct).fields if field.name == member) if dot else own[text]

    def _field(self, line: str) -> Field | None:
        """Return the field that a line declares. Return None if the emulated version does not have it."""
        declared, bar, doc = line.partition(" |")
        name, number, type_, *flags = declared.split(maxsplit=3)
        options = _options(flags[0], self._emulated) if flags else _NO_OPTIONS
        if options is None:
            return None
        return Field(
            "" if name == "..." else intern(name),
            int(number),
            self.type(type_.removeprefix("*")),
            doc.strip() if bar else None,
            pointer=type_.startswith("*"),
            **options,
        )

    def _served_values(self, text: str) -> Iterator[str]:
        """Yield the values of a string that the emulated version has."""
        for item in filter(None, text.split(", ")):
            value, *flags = _bounds.split(item)
            bounds = {word: _version(bound) for word, _, bound in (flag.partition("=") for flag in flags)}
            if _in_range(bounds.get("since"), bounds.get("until"), self._emulated):
                yield value.strip('"')


def _struct_parts(text: str) -> tuple[list[str], str, list[str]]:
    """Return the flags, the description and the lines of a struct."""
    head, *lines = text.splitlines()
    declared, _, doc = head.partition(" | ")
    return declared.split()[2:], doc, lines


_bounds = re.compile(r" (?=since=|until=)")


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _in_range(since: tuple[int, int] | None, until: tuple[int, int] | None, version: tuple[int, int]) -> bool:
    return (since is None or since <= version) and (until is None or version <= until)


def _union(text: str) -> Union:
    members, _, discriminator = text.partition(":")
    return Union(tuple(members.split(",")), discriminator)


def _flat(fields: list[Field]) -> Iterator[Field]:
    for field in fields:
        yield from field.type.fields if not field.name and isinstance(field.type, Struct) else (field,)


_FLAGS: dict[str, Callable[[str], dict[str, Any]]] = {
    "always": lambda _: {"omitempty": False},
    "omitzero": lambda _: {"omitzero": True},
    "required": lambda _: {"required": True},
    "optional": lambda _: {"required": False},
    "keepempty": lambda _: {"keep_empty": True},
    "default": lambda value: {"default": json.loads(value)},
    "list": lambda value: {"list_type": value},
    "keys": lambda value: {"keys": tuple(value.split(","))},
    "map": lambda value: {"map_type": value},
    "merge": lambda value: {"merge_key": value},
    "patch": lambda value: {"patch_strategy": value},
    "go": lambda value: {"go_name": value},
    "internal": lambda value: {"internal_value": value == "value"},
    "since": lambda value: {"since": _version(value)},
    "until": lambda value: {"until": _version(value)},
}
"""The attributes of a field that follow from each flag and its value."""


def type_table(package: str, version: str, *, like: str = "", emulated: tuple[int, int] = EMULATED) -> TypeTable:
    """Return the table `<package>/<version>.types`, or the table of the version `like` if both have the same types."""
    return _table(package, version, like or version, emulated)


_NO_OPTIONS: dict[str, Any] = {}


@cache
def _options(flags: str, emulated: tuple[int, int]) -> dict[str, Any] | None:
    """Return the attributes of fields that have these flags. Return None if the emulated version has no such field."""
    options: dict[str, Any] = {}
    for flag in flags.split():
        word, _, value = flag.partition("=")
        options |= _FLAGS[word](value)
    return options if _in_range(options.pop("since", None), options.pop("until", None), emulated) else None


@cache
def _table(package: str, version: str, file: str, emulated: tuple[int, int]) -> TypeTable:
    def read() -> str:
        found = get_data(f"polykind.apis.{package}", f"{file}.types")
        if found is None:
            raise FileNotFoundError(f"{package}/{file}.types")
        return found.decode()

    return TypeTable(version, read, emulated)
