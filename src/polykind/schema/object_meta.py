"""The metadata of objects: its round trip through Kubernetes' own type. Its rules, of `metarules`, are here too."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.contract import JsonObject
from polykind.golang.json import json_float
from polykind.golang.time import is_normalized_time, normalize_time

_STRINGS = frozenset(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"))
_TEXT_TYPES = {"uid": "types.UID", "operation": "v1.ManagedFieldsOperationType"}
_MAP, _TEXTS, _OWNERS, _MANAGED = (
    "map[string]string",
    "[]string",
    "[]v1.OwnerReference",
    "[]v1.ManagedFieldsEntry",
)
_MOST_UNKNOWN = 100


class ObjectMetaDecodeError(ValueError):
    """Metadata that does not fit its type; the text is that of Go's JSON decoder."""


class BadObjectMetaError(errors.BadRequestError):
    """An object whose metadata is malformed; `why` is the decoder's text alone."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(text)
        self.why = why


def coerce(
    meta: object, *, strict: bool, kind: str = "", version: str = "", served: str = ""
) -> tuple[JsonObject, list[str]]:
    """Metadata as it comes out of the round trip, and the names of its unknown fields (metadata.x).

    Strict: raises BadRequest for what is malformed; `kind` and `version` are the object's, `served` the kind of the
    resource (the same if not given). Not strict: malformed fields are dropped. The input may be returned itself.
    """
    try:
        clean, unknown = round_trip(meta, strict=strict)
    except ObjectMetaDecodeError as error:
        text = f'{kind} in version "{version}" cannot be handled as a {served or kind}: {error}' if kind else str(error)
        raise BadObjectMetaError(text, str(error)) from None
    return clean, [f"metadata.{name}" for name in unknown]


def round_trip(meta: object, *, strict: bool) -> tuple[JsonObject, list[str]]:
    """As `coerce`, with names relative to the metadata, and MalformedError instead of an APIError."""
    if type(meta) is dict and _is_plain(meta):
        return meta, []
    if meta is None:
        return {}, []
    if type(meta) is not dict:
        if strict:
            raise ObjectMetaDecodeError(f"json: cannot unmarshal {_word(meta)} into Go value of type v1.ObjectMeta")
        return {}, []
    if strict:
        reader = _Reader()
        clean = reader.struct(meta, "ObjectMeta", (), "")
        reader.finish()
        return clean, reader.unknown
    clean, unknown = {}, []
    for key in sorted(meta):
        reader = _Reader()
        part = reader.struct({key: meta[key]}, "ObjectMeta", (), "")
        if not reader.failed:
            clean.update(part)
            unknown.extend(reader.unknown)
    return clean, unknown


def _is_plain(meta: JsonObject) -> bool:
    """Whether the round trip would give the metadata back as it is: the common case, decided quickly."""
    for key, value in meta.items():
        kind = type(value)
        if key in _STRINGS:
            if kind is not str or not value:
                return False
        elif key in ("labels", "annotations"):
            if kind is not dict or not value:
                return False
            for text in value.values():
                if type(text) is not str:
                    return False
        elif key == "creationTimestamp" or key == "deletionTimestamp":
            if kind is not str or not is_normalized_time(value):
                return False
        elif key == "generation":
            if kind is not int or not 0 < value < 2**63:
                return False
        elif key == "managedFields":
            if kind is not list or not value or not all(map(_is_plain_entry, value)):
                return False
        elif key == "finalizers":
            if kind is not list or not value or not all(type(text) is str for text in value):
                return False
        elif key == "ownerReferences":
            if kind is not list or not value or not all(map(_is_plain_owner, value)):
                return False
        else:
            return False
    return True


def _is_plain_entry(entry: Any) -> bool:
    if type(entry) is not dict:
        return False
    for key, value in entry.items():
        if key == "fieldsV1":
            if value is None:
                return False
        elif key == "time":
            if type(value) is not str or not is_normalized_time(value):
                return False
        elif key not in _FIELDS["ManagedFieldsEntry"] or type(value) is not str or not value:
            return False
    return True


def _is_plain_owner(owner: Any) -> bool:
    if type(owner) is not dict or not owner.keys() >= _OWNER_TEXTS:
        return False
    for key, value in owner.items():
        if key in _OWNER_TEXTS:
            if type(value) is not str:
                return False
        elif key not in ("controller", "blockOwnerDeletion") or type(value) is not bool:
            return False
    return True


_OWNER_TEXTS = frozenset(("apiVersion", "kind", "name", "uid"))
_FIELDS: dict[str, dict[str, str]] = {
    "ObjectMeta": {
        **dict.fromkeys(_STRINGS, "string"),
        "generation": "int64",
        "creationTimestamp": "time",
        "deletionTimestamp": "*time",
        "deletionGracePeriodSeconds": "*int64",
        "labels": _MAP,
        "annotations": _MAP,
        "ownerReferences": _OWNERS,
        "finalizers": _TEXTS,
        "managedFields": _MANAGED,
    },
    "OwnerReference": {**dict.fromkeys(_OWNER_TEXTS, "string!"), "controller": "*bool", "blockOwnerDeletion": "*bool"},
    "ManagedFieldsEntry": {
        **dict.fromkeys(("manager", "operation", "apiVersion", "fieldsType", "subresource"), "string"),
        "time": "*time",
        "fieldsV1": "any",
    },
}
_STRUCT_OF = {_OWNERS: "OwnerReference", _MANAGED: "ManagedFieldsEntry"}


class _Reader:
    """Reads values into Go's structs: the first mismatch is remembered, but a time that is none ends the reading."""

    def __init__(self) -> None:
        self.mismatch = ""
        self.fatal = ""
        self.unknown: list[str] = []

    @property
    def failed(self) -> bool:
        return bool(self.fatal or self.mismatch)

    def finish(self) -> None:
        if self.failed:
            raise ObjectMetaDecodeError(self.fatal or self.mismatch)

    def struct(self, value: JsonObject, struct: str, stack: tuple[str, ...], path: str) -> JsonObject:
        fields = _FIELDS[struct]
        out: JsonObject = {key: "" for key, kind in fields.items() if kind == "string!"}
        for key in sorted(value):
            if self.fatal:
                break
            kind = fields.get(key)
            if kind is None:
                if len(self.unknown) < _MOST_UNKNOWN:
                    self.unknown.append(path + key)
            elif value[key] is not None:
                self._field(out, key, value[key], kind, struct, (*stack, key), path)
        return out

    def _field(
        self, out: JsonObject, key: str, value: Any, kind: str, struct: str, stack: tuple[str, ...], path: str
    ) -> None:
        where = f"Go struct field {struct}.{'.'.join(stack)}"
        if kind == "any":
            out[key] = value
        elif kind in ("string", "string!"):
            if type(value) is not str:
                self._mismatch(_word(value), where, _TEXT_TYPES.get(key, "string"))
            elif value or kind == "string!":
                out[key] = value
        elif kind in ("time", "*time"):
            self._time(out, key, value, where, pointer=kind == "*time")
        elif kind in ("int64", "*int64"):
            if type(value) is float and value.is_integer():
                # It has been written as a whole number on its way here.
                value = int(value)
            if type(value) is not int or not -(2**63) <= value < 2**63:
                # What is too large has been a float on its way here, whatever it was before.
                shown = f"number {json_float(float(value))}" if type(value) in (int, float) else _word(value)
                self._mismatch(shown, where, "int64")
            elif value or kind == "*int64":
                out[key] = value
        elif kind == "*bool":
            if type(value) is not bool:
                self._mismatch(_word(value), where, "bool")
            else:
                out[key] = value
        elif kind == _MAP:
            self._map(out, key, value, where)
        else:
            self._list(out, key, value, kind, where, stack, path)

    def _mismatch(self, word: str, where: str, kind: str) -> None:
        self.mismatch = self.mismatch or f"json: cannot unmarshal {word} into {where} of type {kind}"

    def _time(self, out: JsonObject, key: str, value: Any, where: str, *, pointer: bool) -> None:
        if type(value) is not str:
            text = f"json: cannot unmarshal {_word(value)} into {where} of type string"
            if type(value) in (dict, list):
                self.mismatch = self.mismatch or text
            else:
                self.fatal = text
            return
        try:
            normal = normalize_time(value)
        except ValueError as error:
            self.fatal = str(error)
            return
        if normal is not None or pointer:
            out[key] = normal

    def _map(self, out: JsonObject, key: str, value: Any, where: str) -> None:
        if type(value) is not dict:
            self._mismatch(_word(value), where, _MAP)
            return
        texts = {}
        for name in sorted(value):
            text = value[name]
            if text is None or type(text) is str:
                texts[name] = text or ""
            else:
                self._mismatch(_word(text), where, "string")
        if texts:
            out[key] = texts

    def _list(
        self, out: JsonObject, key: str, value: Any, kind: str, where: str, stack: tuple[str, ...], path: str
    ) -> None:
        if type(value) is not list:
            self._mismatch(_word(value), where, kind)
            return
        items: list[Any] = []
        for at, item in enumerate(value):
            if kind == _TEXTS:
                if item is not None and type(item) is not str:
                    self._mismatch(_word(item), where, "string")
                items.append(item if type(item) is str else "")
            elif item is None or type(item) is dict:
                items.append(self.struct(item or {}, _STRUCT_OF[kind], stack, f"{path}{key}[{at}]."))
            else:
                self._mismatch(_word(item), where, f"v1.{_STRUCT_OF[kind]}")
        if items:
            out[key] = items


def _word(value: Any) -> str:
    """What Go's decoder calls a JSON value."""
    if type(value) is bool:
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "null"
