"""Write the tables of built-in types (src/polykind/apis/<package>/<version>.types) from a checkout of Kubernetes.

    python tools/write_types.py CHECKOUT 1.37     # merge the types of this version into the tables
    python tools/write_types.py                   # only sort the tables and align their columns

The program reads the Go files of the checkout as text: struct fields with their tags and markers. The lines without
`since` and `until` are those of the version that the server emulates; for this version the program corrects them. For a
newer version it adds new lines with `since`, and `until` to lines that are gone or have changed. Descriptions and the
flags `keepempty` and `internal` are ours: they are kept by struct and field, and new fields have none. Structs that new
fields refer to are added. Upstream's prose is never copied.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from polykind.apis.machinery.type_tables import EMULATED

ROOT = Path(__file__).parents[1]
APIS = ROOT / "src/polykind/apis"

_STAGING = "staging/src/k8s.io"
_SOURCES = {
    "apiextensions": "apiextensions-apiserver/pkg/apis/apiextensions/{version}",
    "apiregistration": "kube-aggregator/pkg/apis/apiregistration/{version}",
    "meta": "apimachinery/pkg/apis/meta/{version}",
}
"""Directories of types by package, if it is not `api/<package>/<version>`."""
_NOT_IN_KUBERNETES = ("apiserver", "audit", "meta/version", "ratelimits")
"""Tables, and packages of tables, that are written only by hand, because the server supports a part of the types."""
_BUILT_IN = {
    "[]byte": "bytes",
    "int": "int32",
    "intstr.IntOrString": "IntOrString",
    "metav1.Duration": "Duration",
    "metav1.MicroTime": "MicroTime",
    "metav1.Time": "Time",
    "resource.Quantity": "Quantity",
    "runtime.RawExtension": "RawExtension",
    "types.UID": "UID",
}
_KNOWN = frozenset(("Duration", "IntOrString", "MicroTime", "Quantity", "RawExtension", "RawObject", "Time", "UID"))
"""Types that the reader of the tables declares."""
_OURS = ("keepempty", "internal=value")
"""Flags of fields that do not follow from the source."""


# Tables ---------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """A line of a struct. `description` is None if the line has none."""

    name: str
    number: str
    type: str
    flags: list[str]
    description: str | None

    def bound(self, word: str) -> str:
        return next((flag.partition("=")[2] for flag in self.flags if flag.startswith(f"{word}=")), "")

    def in_version(self, version: tuple[int, int]) -> bool:
        since, until = self.bound("since"), self.bound("until")
        return (not since or _version(since) <= version) and (not until or version <= _version(until))

    def facts(self) -> tuple[str, str, list[str]]:
        """Return what the source says about the field."""
        return self.number, self.type, sorted(flag for flag in self.flags if not flag.startswith(("since=", "until=")))


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


@dataclass
class Block:
    """A struct: its flags, its description and its lines."""

    flags: list[str]
    description: str
    rows: list[Row] = field(default_factory=list)


@dataclass
class Table:
    """A table as it is written: comments at its start, and declarations by name."""

    comments: list[str]
    models: str = ""
    types: dict[str, str] = field(default_factory=dict)
    internal: dict[str, str] = field(default_factory=dict)
    structs: dict[str, Block] = field(default_factory=dict)


def read_table(text: str) -> Table:
    """Read the text of a table."""
    table = Table([])
    block = Block([], "")
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if line.startswith("#"):
            table.comments.append(line)
        elif line.startswith(" "):
            declared, bar, description = line.partition(" |")
            name, number, type_, *flags = declared.split()
            block.rows.append(Row(name, number, type_, flags, description.strip() if bar else None))
        elif word == "models":
            table.models = rest
        elif word in ("type", "internal"):
            name, _, declared = rest.partition(" = ")
            (table.types if word == "type" else table.internal)[name] = declared
        elif word == "struct":
            declared, _, description = rest.partition(" | ")
            name, *flags = declared.split()
            block = table.structs[name] = Block(flags, description)
    return table


def write_table(table: Table) -> str:
    """Return the text of a table, with aligned columns and sorted declarations."""
    parts = ["\n".join(table.comments)]
    if table.models:
        parts.append(f"models {table.models}")
    for word, declared in (("type", table.types), ("internal", table.internal)):
        if declared:
            parts.append("\n".join(f"{word} {name} = {declared[name]}" for name in sorted(declared)))
    for name, block in sorted(table.structs.items()):
        head = " ".join(("struct", name, *block.flags)) + (f" | {block.description}" if block.description else "")
        parts.append("\n".join((head, *_aligned(block.rows))))
    return "\n\n".join(parts) + "\n"


def _aligned(rows: list[Row]) -> Iterator[str]:
    cells = [(row.name, row.number, row.type, " ".join(row.flags)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)] if cells else []
    for row, (name, number, type_, flags) in zip(rows, cells, strict=True):
        line = f"    {name:<{widths[0]}}  {number:>{widths[1]}}  {type_:<{widths[2]}}"
        if widths[3]:
            line += f"  {flags:<{widths[3]}}"
        description = "" if row.description is None else f" | {row.description}" if row.description else " |"
        yield (line + description).rstrip()


# Go -------------------------------------------------------------------------------------------------------------------


@dataclass
class GoField:
    """A field of a Go struct. `name` is empty if the struct is embedded."""

    go: str
    name: str
    type: str
    tags: dict[str, str]
    json: list[str]
    markers: dict[str, list[str]]


@dataclass
class GoPackage:
    """The declarations of one Go package: structs, other named types, and the values of strings."""

    structs: dict[str, list[GoField]] = field(default_factory=dict)
    markers: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    values: dict[str, set[str]] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    computed: set[str] = field(default_factory=set)
    """The types of constants whose values are not literals."""


_field = re.compile(r"^\s*(?:(\w+)\s+)?([*\[\]\w.]+)\s+`(.*)`")
_named = re.compile(r"^(?:type )?\s*(\w+) (string|(?:\[\]|map\[)[\w.\]*\[]+)$")
_constant = re.compile(r'^\s*(\w+)\s+(\w+)?\s*=\s*(?:(\w+)\()?"(.*)"')
_computed = re.compile(r"^\s*\w+\s+= (\w+)\(")
_import = re.compile(r'^\s*(?:import )?(?:(\w+) )?"(k8s\.io/[\w./-]+)"')


def read_package(directory: Path) -> GoPackage:
    """Read the types of a Go package."""
    package = GoPackage()
    for path in sorted(directory.glob("*.go")):
        if not path.name.startswith(("zz_generated", "generated")) and not path.name.endswith("_test.go"):
            _read_file(path, package)
    return package


def _read_file(path: Path, package: GoPackage) -> None:
    aliases: dict[str, str] = {}
    comments: list[str] = []
    fields: list[GoField] | None = None
    for line in path.read_text().splitlines():
        if line.lstrip().startswith("//"):
            comments.append(line)
        elif fields is not None and line == "}":
            fields, comments = None, []
        elif fields is not None:
            fields += _go_fields(line, comments, aliases)
            comments = []
        elif (words := line.split()) and words[0] == "type" and line.rstrip("{} ").endswith(" struct"):
            package.structs[words[1]] = []
            package.markers[words[1]] = _markers(comments)
            fields, comments = (None if line.endswith("}") else package.structs[words[1]]), []
        elif match := _named.match(line):
            markers = package.markers[match[1]] = _markers(comments)
            wrapped = "wrapped " if "protobuf.nullable" in markers and match[2].startswith("[]") else ""
            package.named[match[1]] = wrapped + _translated(match[2], aliases)
            comments = []
        elif match := _constant.match(line):
            package.constants[match[1]] = match[4]
            package.values.setdefault(match[2] or match[3] or "", set()).add(match[4])
            comments = []
        elif match := _computed.match(line):
            package.computed.add(match[1])
        elif match := _import.match(line):
            aliases[match[1] or match[2].split("/")[-1]] = match[2]
        elif line:
            comments = []


def _go_fields(line: str, comments: list[str], aliases: dict[str, str]) -> Iterator[GoField]:
    match = _field.match(line)
    if match is None:
        return
    go, type_, tag_text = match.groups()
    tags = dict(re.findall(r'(\w+):"([^"]*)"', tag_text))
    name, *json = tags.get("json", "").split(",")
    if name != "-" and not (go is None and type_.endswith("TypeMeta")):
        type_ = _translated(type_, aliases)
        yield GoField(go or type_.rpartition(".")[2], name, type_, tags, json, _markers(comments))


def _markers(lines: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        text = line.strip().removeprefix("//").strip()
        if text.startswith("+"):
            word, _, value = text[1:].partition("=")
            found.setdefault(word.strip(), []).append(value.strip())
    return found


def _translated(text: str, aliases: dict[str, str]) -> str:
    """Return a Go type as tables have it."""
    for prefix in ("*", "[]"):
        if text.startswith(prefix) and text != "[]byte":
            inner = _translated(text[len(prefix) :], aliases)
            return inner if prefix == "*" and inner.startswith(("[]", "map[")) else prefix + inner
    if text.startswith("map["):
        key, _, item = text[4:].partition("]")
        return f"map[{_translated(key, aliases)}]{_translated(item, aliases)}"
    alias, dot, name = text.partition(".")
    if dot:
        path = aliases.get(alias, "")
        canonical = f"metav1.{name}" if path.endswith("apis/meta/v1") else text
        package, version = path.split("/")[-2:] if path.startswith("k8s.io/") else (alias, "v1")
        return _BUILT_IN.get(canonical, f"{package}.{name}" if version == "v1" else f"{package}/{version}.{name}")
    return _BUILT_IN.get(text, text)


# Merging --------------------------------------------------------------------------------------------------------------


class Merge:
    """The merging of one version of Kubernetes into all tables. `base` is the version of lines without bounds."""

    def __init__(self, checkout: Path, version: tuple[int, int], base: tuple[int, int]) -> None:
        self.version, self.base = version, base
        self.checkout = checkout
        self.tables: dict[str, Table] = {}
        self.sources: dict[str, GoPackage] = {}
        self.notes: list[str] = []
        for path in sorted(APIS.glob("*/*.types")):
            package, version_name = path.parent.name, path.stem
            name = f"{package}/{version_name}"
            if package in _NOT_IN_KUBERNETES or name in _NOT_IN_KUBERNETES:
                continue
            self.tables[name] = read_table(path.read_text())
            self.sources[name] = read_package(self._directory(name))
        self.new = {
            (name, struct)
            for name, source in self.sources.items()
            for struct in (*source.structs, *source.named)
            if struct not in self.tables[name].structs and struct not in self.tables[name].types
        }

    def _directory(self, name: str) -> Path:
        package, _, version = name.partition("/")
        source = _SOURCES.get(package, "api/{package}/{version}").format(package=package, version=version)
        return self.checkout / _STAGING / source

    def run(self) -> None:
        pending = [(name, struct) for name, table in self.tables.items() for struct in table.structs]
        seen: set[tuple[str, str]] = set()
        while pending:
            name, struct = pending.pop()
            if (name, struct) in seen:
                continue
            seen.add((name, struct))
            source = self.sources[name]
            if struct in source.structs:
                pending += self._merge_struct(name, struct)
            elif not any(
                flag.startswith(("ours", "since=", "until=")) for flag in self.tables[name].structs[struct].flags
            ):
                self._end_struct(name, struct)
        for name, table in self.tables.items():
            self._merge_values(name, table, self.sources[name])
            _drop_unused(table, [other for key, other in self.tables.items() if key != name], name)

    def _end_struct(self, name: str, struct: str) -> None:
        if self.version != self.base:
            self.tables[name].structs[struct].flags.append(self._until)
        else:
            self.notes.append(f"{name}: the source has no struct {struct}")

    @property
    def _until(self) -> str:
        return f"until={self.version[0]}.{self.version[1] - 1}"

    def _merge_struct(self, name: str, struct: str) -> Iterator[tuple[str, str]]:
        """Merge a struct. Yield the structs that it refers to."""
        table, source = self.tables[name], self.sources[name]
        block = table.structs.setdefault(struct, Block([], ""))
        if "ours" in block.flags:
            return
        is_new = (name, struct) in self.new
        if is_new and self.version != self.base and not block.flags:
            block.flags.append(f"since={_text(self.version)}")
        if "structType" in source.markers[struct] and "atomic" not in block.flags:
            block.flags.insert(0, "atomic")
        bounds = [f"since={_text(self.version)}"] if self.version != self.base and not is_new else []
        found = [_row(one, source) for one in source.structs[struct]]
        keys = {_key(row) for row in found}
        rows: list[Row] = []
        left = list(block.rows)
        for row in found:
            old = next((one for one in left if _key(one) == _key(row) and one.in_version(self.version)), None)
            # Lines that the source does not have stay where they are.
            while left and left[0] is not old and (_key(left[0]) not in keys or not left[0].in_version(self.version)):
                rows.append(self._without_source(f"{name} {struct}", left.pop(0)))
            if old is None:
                row.flags += bounds
                rows.append(row)
            else:
                left.remove(old)
                rows += self._changed(row, old, bounds)
            yield from self._referred(name, row.type)
        block.rows = rows + [self._without_source(f"{name} {struct}", row) for row in left]

    def _changed(self, row: Row, old: Row, bounds: list[str]) -> list[Row]:
        """Return the lines of a field that the table and the source have."""
        row.description = old.description
        row.flags += [flag for flag in old.flags if flag in _OURS]
        if old.type.endswith("RawObject"):
            row.type = row.type.replace("RawExtension", "RawObject")
        if row.facts() == old.facts():
            return [old]
        if self.version != self.base:
            row.flags += bounds
            return [self._ended(old), row]
        row.flags += [flag for flag in old.flags if flag.startswith(("since=", "until="))]
        return [row]

    def _without_source(self, place: str, row: Row) -> Row:
        if not row.in_version(self.version):
            return row
        if self.version == self.base:
            self.notes.append(f"{place}: the source has no field {row.name}")
            return row
        return self._ended(row)

    def _ended(self, row: Row) -> Row:
        return Row(row.name, row.number, row.type, [*row.flags, self._until], row.description)

    def _referred(self, name: str, type_: str) -> Iterator[tuple[str, str]]:
        """Declare the named types of a field, if they are not declared, and yield the structs among them."""
        for text in re.findall(r"[\w./]+", type_.removeprefix("map")):
            package, dot, own = text.partition(".")
            place = (package if "/" in package else f"{package}/v1") if dot else name
            own = own if dot else text
            if dot and place not in self.tables and self._directory(place).is_dir():
                self._add_table(place)
            if own in _KNOWN or place not in self.tables or own in self.tables[place].types:
                continue
            source = self.sources[place]
            if own in source.structs:
                yield place, own
            elif own in source.named:
                self.tables[place].types[own] = source.named[own]
                yield from self._referred(place, source.named[own])

    def _add_table(self, name: str) -> None:
        package = name.partition("/")[0]
        self.sources[name] = read_package(self._directory(name))
        comment = f"# Types of {name}. CONTRIBUTING.md describes the format."
        self.tables[name] = Table([comment], models=f"io.k8s.api.{package}")
        self.new |= {(name, own) for own in (*self.sources[name].structs, *self.sources[name].named)}

    def _merge_values(self, name: str, table: Table, source: GoPackage) -> None:
        """Merge the values of strings that OpenAPI lists, which the source marks with `+enum`."""
        for own, declared in table.types.items():
            if not declared.startswith("string") or "enum" not in source.markers.get(own, {}):
                continue
            old = [item for item in declared.partition(": ")[2].split(", ") if item]
            names = {item.partition(" since=")[0].partition(" until=")[0].strip('"') for item in old}
            found = source.values.get(own, set()) | (names if own in source.computed else set())
            newer = self.version != self.base and (name, own) not in self.new
            items = [
                f"{item} {self._until}"
                if newer and " until=" not in item and item.partition(" since=")[0].strip('"') not in found
                else item
                for item in old
                if newer or " since=" in item or item.partition(" until=")[0].strip('"') in found
            ]
            since = f" since={_text(self.version)}" if newer else ""
            items += [f"{value or chr(34) * 2}{since}" for value in found - names]
            items.sort(key=lambda item: item.strip('"'))
            table.types[own] = "string: " + ", ".join(items) if items else "string"


def _key(row: Row) -> str:
    return f"...{row.type.lstrip('*')}" if row.name == "..." else row.name


def _drop_unused(table: Table, others: list[Table], name: str) -> None:
    """Remove the strings, lists and maps that no field has."""
    prefix = name.removesuffix("/v1")
    own = [row.type for block in table.structs.values() for row in block.rows]
    own += [declared.partition(": ")[0] for declared in table.types.values()]
    used = {text for type_ in own for text in re.findall(r"[\w./]+", type_)}
    for other in others:
        for block in other.structs.values():
            used |= {text for row in block.rows for text in re.findall(rf"\b{prefix}\.(\w+)", row.type)}
    for unused in set(table.types) - used:
        del table.types[unused]


def _row(found: GoField, package: GoPackage) -> Row:
    """Return the line of a field, without a description."""
    tags, markers = found.tags, found.markers
    number = ([*tags.get("protobuf", "").split(","), "0", "0"])[1]
    pointer = found.type.startswith("*")
    always = "omitempty" not in found.json and "omitzero" not in found.json
    flags = ["always"] if always and found.name else []
    if "omitzero" in found.json:
        flags.append("omitzero")
    required = "required" in markers or (always and "optional" not in markers)
    if found.name and required != (always and not pointer):
        flags.append("required" if required else "optional")
    flags += _marker_flags(found, package)
    key, strategy = tags.get("patchMergeKey", ""), tags.get("patchStrategy", "")
    if key:
        flags.append(f"merge={key}")
    if strategy and not (key and strategy == "merge"):
        flags.append(f"patch={strategy}")
    name = found.name or "..."
    if name not in ("...", "metadata") and found.go != name[:1].upper() + name[1:]:
        flags.append(f"go={found.go}")
    return Row(name, number, found.type, flags, None)


def _marker_flags(found: GoField, package: GoPackage) -> Iterator[str]:
    """Yield the flags that follow from the markers in the comment of a field."""
    markers = found.markers
    default = markers.get("default", ["{}"])[0]
    if default.startswith("ref("):
        default = f'"{package.constants[default[4:-1]]}"'
    if default != "{}":
        yield f"default={default}"
    list_type = markers.get("listType", [""])[0]
    if keys := markers.get("listMapKey"):
        yield f"keys={','.join(keys)}"
    elif list_type == "set" or (list_type == "atomic" and found.type == "bytes"):
        yield f"list={list_type}"
    if map_type := markers.get("mapType") or markers.get("structType"):
        yield f"map={map_type[0]}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tables of built-in types.")
    parser.add_argument("checkout", nargs="?", type=Path, help="the directory of Kubernetes' source")
    parser.add_argument("version", nargs="?", help="its version, such as 1.37")
    arguments = parser.parse_args()
    tables: dict[str, Table] = {}
    if arguments.checkout:
        merge = Merge(arguments.checkout, _version(arguments.version), EMULATED)
        merge.run()
        tables = merge.tables
        print(*merge.notes, sep="\n")
    for path in APIS.glob("*/*.types"):
        tables.setdefault(f"{path.parent.name}/{path.stem}", read_table(path.read_text()))
    for name, table in tables.items():
        (APIS / f"{name}.types").write_text(write_table(table))


if __name__ == "__main__":
    main()
