"""Tables for kubectl get: objects as rows of printer columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from polykind.bounded_cache import remember
from polykind.codec import json_codec
from polykind.codec.jsonpath import JsonPath, JsonPathError
from polykind.codec.partial_metadata import encode_partial, ordered_list_metadata, partial_object
from polykind.codec.sparse_decoder import SparseDecoder
from polykind.contract import JsonObject
from polykind.golang import duration
from polykind.golang.fmt import go_float
from polykind.golang.strconv import float_to_int64
from polykind.golang.time import parse_rfc3339

_MISSING: Final = object()
_CELL_BYTES: Final = 32
_NAME_KEYS: Final[tuple[str, ...]] = ("metadata", "name")
_MAX_SPARSE_PATHS: Final = 32
_MAX_SPARSE_KEYS: Final = 8
"""The number of columns, and of keys of each path, for which objects are decoded only in part."""
NAME_DESCRIPTION: Final = "The name of the object, unique among those of its kind in its namespace."
AGE_DESCRIPTION: Final = "The time since the object was created."
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

Cell = Callable[[JsonObject, datetime], Any]
RowConditions = Callable[[JsonObject], list[JsonObject]]


def _name(obj: JsonObject, _: datetime) -> str:
    metadata = obj.get("metadata")
    return metadata.get("name") or "" if type(metadata) is dict else ""


class Column(NamedTuple):
    """A column of a built-in kind. `cell` computes its cells, or `at_time` if they depend on the current time."""

    name: str
    type: str
    description: str
    cell: Callable[[JsonObject], Any] | None = None
    priority: int = 0
    at_time: Cell | None = None
    format: str = ""
    defined: bool = True
    """False if kube-apiserver writes the cells, but does not list the column in columnDefinitions."""

    def timed_cell(self) -> Cell:
        cell = self.cell
        if self.at_time is not None:
            return self.at_time
        if cell is None:
            raise TypeError(f"the column {self.name} computes no cells")
        return lambda obj, now: cell(obj)


class TableFormat:
    """The compiled columns of one kind at one version. `definitions` are the Table's columnDefinitions."""

    __slots__ = ("_cells", "_conditions", "_decode", "definitions")

    def __init__(self, columns: Sequence[JsonObject] | None = None) -> None:
        """Compile additionalPrinterColumns. An empty list means one Age column.

        As in kube-apiserver, a column with a malformed jsonPath and all columns after it are left out.
        """
        self.definitions: list[JsonObject] = [_definition("Name", "string", "name", NAME_DESCRIPTION)]
        self._cells: list[Cell] = [_name]
        self._conditions: RowConditions | None = None
        self._decode: Callable[[bytes], JsonObject] = json_codec.decode
        """Decodes the fields of an object that the columns need."""
        paths = [_NAME_KEYS]
        for definition, cell, path in _read(columns or [_AGE_COLUMN]):
            self.add(definition, cell)
            paths.append(path.keys or ())
        if len(paths) <= _MAX_SPARSE_PATHS and all(0 < len(keys) <= _MAX_SPARSE_KEYS for keys in paths):
            self._decode = SparseDecoder(paths).decode

    @classmethod
    def of_columns(
        cls, columns: Sequence[Column], *, name_format: str = "name", conditions: RowConditions | None = None
    ) -> TableFormat:
        """Return the format of a built-in kind, whose cells are computed by functions.

        If `columns` has no column Name, one is added as the first. `conditions` is a function that returns the
        conditions of an object's row.
        """
        out = cls.__new__(cls)
        out.definitions, out._cells, out._conditions, out._decode = [], [], conditions, json_codec.decode
        if not any(column.name == "Name" for column in columns):
            columns = (Column("Name", "string", NAME_DESCRIPTION, at_time=_name, format=name_format), *columns)
        for column in columns:
            out._cells.append(column.timed_cell())
            if column.defined:
                out.definitions.append(
                    _definition(column.name, column.type, column.format, column.description, column.priority)
                )
        return out

    @property
    def row_bytes(self) -> int:
        """The work for the cells of one row, as the number of bytes of JSON that take as long to encode."""
        return _CELL_BYTES * len(self._cells)

    def add(self, definition: JsonObject, cell: Cell) -> None:
        self.definitions.append(definition)
        self._cells.append(cell)

    def row(self, obj: JsonObject, now: datetime, include: str = "Metadata", version: str = "v1") -> JsonObject:
        """Return an object's row. `include` selects the part of the object in the row: Metadata, Object or None."""
        metadata = obj.get("metadata")
        if type(metadata) is not dict:
            metadata = {}
        cells = [cell(obj, now) for cell in self._cells]
        included: JsonObject | None = None
        if include == "Object":
            included = json_codec.decode(json_codec.encode(obj))
        elif include == "Metadata" or INITIAL_EVENTS_END in (metadata.get("annotations") or ()):
            included = partial_object(obj, version)
        conditions = self._conditions(obj) if self._conditions is not None else None
        if conditions:
            return {"cells": cells, "conditions": conditions, "object": included}
        return {"cells": cells, "object": included}

    def encode_row(self, data: bytes, now: datetime, include: str = "Metadata", version: str = "v1") -> bytes:
        """Return the row of an object, both in JSON. The other parameters are those of `row`.

        The metadata is copied from `data`, if possible.
        """
        included = encode_partial(data, version) if include == "Metadata" else None
        if included is None:
            return json_codec.encode_ordered(self.row(json_codec.decode(data), now, include, version))
        obj = self._decode(data)
        cells = json_codec.encode_ordered([cell(obj, now) for cell in self._cells])
        conditions = self._conditions(obj) if self._conditions is not None else None
        if conditions:
            return b'{"cells":%b,"conditions":%b,"object":%b}' % (
                cells,
                json_codec.encode_ordered(conditions),
                included,
            )
        return b'{"cells":%b,"object":%b}' % (cells, included)

    def table(
        self,
        objs: Iterable[JsonObject],
        list_metadata: JsonObject,
        now: datetime,
        *,
        include: str = "Metadata",
        version: str = "v1",
        headers: bool = True,
    ) -> JsonObject:
        """Return a Table with one row per object, its keys in kube-apiserver's order.

        `list_metadata` is the metadata of the list, or of a single object. `headers` is false for all but the first
        event of a watch: the Table then has no columnDefinitions.
        """
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{version}",
            "metadata": ordered_list_metadata(list_metadata),
            "columnDefinitions": self.definitions if headers else None,
            "rows": [self.row(obj, now, include, version) for obj in objs],
        }


def _definition(name: str, kind: str, form: str, description: str, priority: int = 0) -> JsonObject:
    return {"name": name, "type": kind, "format": form, "description": description, "priority": priority}


_AGE_COLUMN: Final[JsonObject] = {
    "name": "Age",
    "type": "date",
    "description": AGE_DESCRIPTION,
    "jsonPath": ".metadata.creationTimestamp",
}


def _read(columns: Iterable[JsonObject]) -> Iterable[tuple[JsonObject, Cell, JsonPath]]:
    for column in columns:
        path = column.get("jsonPath") or column.get("JSONPath") or ""
        kind = column.get("type") or ""
        try:
            json_path = JsonPath(path)
        except JsonPathError:
            return
        description = column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        yield (
            _definition(
                column.get("name") or "", kind, column.get("format") or "", description, column.get("priority") or 0
            ),
            _cell(kind, json_path),
            json_path,
        )


def _cell(kind: str, path: JsonPath) -> Cell:
    if kind == "date":
        return lambda obj, now: age(value, now) if isinstance(value := path.first(obj), str) else None
    convert = {"string": _text, "integer": _integer, "number": _number, "boolean": _boolean}.get(kind)
    if convert is None:
        return lambda obj, now: None
    return lambda obj, now: convert(path.first(obj, _MISSING))


def _text(value: Any) -> str | None:
    if value is _MISSING:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return go_float(value)
    return "<no value>" if value is None else json_codec.encode(value).decode()


def _integer(value: Any) -> int | None:
    if isinstance(value, float):
        # Go converts an out-of-range float to the smallest int64 on amd64.
        return float_to_int64(value)
    return value if type(value) is int else None


def _number(value: Any) -> int | float | None:
    if type(value) is int and abs(value) > 1 << 53:
        return json_codec.normalize_float(float(value))
    return value if type(value) in (int, float) else None


def _boolean(value: Any) -> bool | None:
    return value if type(value) is bool else None


def age(value: str, now: datetime) -> str:
    """Return the time since an RFC 3339 time in kubectl's short form, such as 5d3h."""
    return _age_at(value, now.timestamp())


@remember(512 * 1024)
def _age_at(value: str, now: float) -> str:
    """Return the age at a Unix time. Many rows of a Table have the same time."""
    if value in ("", "null"):
        return "<unknown>"
    try:
        moment = parse_rfc3339(value)
    except ValueError:
        return "<invalid>"
    return "<unknown>" if moment.is_zero else duration.human_duration(now - moment.seconds)


def _created(obj: JsonObject) -> Any:
    return (obj.get("metadata") or {}).get("creationTimestamp") or "0001-01-01T00:00:00Z"


CREATED_AT: Final = Column("Created At", "date", "The time at which the object was created, in UTC.", _created)
"""The column of CustomResourceDefinitions and of built-in kinds without columns of their own."""
