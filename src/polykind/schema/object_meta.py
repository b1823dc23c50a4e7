"""ObjectMeta coercion: changes metadata as decoding it into Go's metav1.ObjectMeta and encoding it again would."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.contract import JsonObject
from polykind.golang.json import json_float, json_type_name
from polykind.golang.sorting import sorted_strings
from polykind.golang.time import is_normalized_time, normalize_time

_STRINGS = frozenset(("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"))
_STRING_TYPES = {"uid": "types.UID", "operation": "v1.ManagedFieldsOperationType"}
_STRING_MAP, _STRING_LIST, _OWNERS, _MANAGED = (
    "map[string]string",
    "[]string",
    "[]v1.OwnerReference",
    "[]v1.ManagedFieldsEntry",
)
_MAX_UNKNOWN_FIELDS = 100


class ObjectMetaDecodeError(ValueError):
    """The metadata cannot be decoded into its Go type. The message is that of Go's JSON decoder."""


class BadObjectMetaError(errors.BadRequestError):
    """The 400 response to an object with malformed metadata. `detail` is the decoder's message without a prefix."""

    def __init__(self, text: str, detail: str) -> None:
        super().__init__(text)
        self.detail = detail


def coerce(
    meta: object, *, strict: bool, kind: str = "", version: str = "", served: str = ""
) -> tuple[JsonObject, list[str]]:
    """Return the coerced metadata, and the paths of unknown fields in it, such as metadata.x.

    If coercion changes nothing, the first value is `meta` itself. If `strict` is true, raise BadObjectMetaError if the
    metadata is malformed. Otherwise drop malformed fields. `kind` and `version` are those of the object. `served` is
    the kind of the resource if it differs from `kind`.
    """
    try:
        coerced, unknown = round_trip(meta, strict=strict)
    except ObjectMetaDecodeError as error:
        text = f'{kind} in version "{version}" cannot be handled as a {served or kind}: {error}' if kind else str(error)
        raise BadObjectMetaError(text, str(error)) from None
    return coerced, [f"metadata.{name}" for name in unknown]


def round_trip(meta: object, *, strict: bool) -> tuple[JsonObject, list[str]]:
    """Coerce metadata like `coerce`, but return paths relative to the metadata.

    If `strict` is true, raise ObjectMetaDecodeError if the metadata is malformed.
    """
    if type(meta) is dict and _is_unchanged(meta):
        return meta, []
    if meta is None:
        return {}, []
    if type(meta) is not dict:
        if strict:
            raise ObjectMetaDecodeError(
                f"json: cannot unmarshal {json_type_name(meta)} into Go value of type v1.ObjectMeta"
            )
        return {}, []
    if strict:
        decoder = _Decoder()
        coerced = decoder.struct(meta, "ObjectMeta", (), "")
        decoder.finish()
        return coerced, decoder.unknown
    coerced, unknown = {}, []
    for key in sorted_strings(meta):
        decoder = _Decoder()
        part = decoder.struct({key: meta[key]}, "ObjectMeta", (), "")
        if not decoder.failed:
            coerced.update(part)
            unknown.extend(decoder.unknown)
    return coerced, unknown


def _is_unchanged(meta: JsonObject) -> bool:
    """True if coercion would certainly not change the metadata. This check is much faster than the coercion."""
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
            if kind is not list or not value or not all(map(_is_unchanged_entry, value)):
                return False
        elif key == "finalizers":
            if kind is not list or not value or not all(type(text) is str for text in value):
                return False
        elif key == "ownerReferences":
            if kind is not list or not value or not all(map(_is_unchanged_owner, value)):
                return False
        else:
            return False
    return True


def _is_unchanged_entry(entry: Any) -> bool:
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


def _is_unchanged_owner(owner: Any) -> bool:
    if type(owner) is not dict or not owner.keys() >= _OWNER_STRINGS:
        return False
    for key, value in owner.items():
        if key in _OWNER_STRINGS:
            if type(value) is not str:
                return False
        elif key not in ("controller", "blockOwnerDeletion") or type(value) is not bool:
            return False
    return True


_OWNER_STRINGS = frozenset(("apiVersion", "kind", "name", "uid"))
_FIELDS: dict[str, dict[str, str]] = {
    "ObjectMeta": {
        **dict.fromkeys(_STRINGS, "string"),
        "generation": "int64",
        "creationTimestamp": "time",
        "deletionTimestamp": "*time",
        "deletionGracePeriodSeconds": "*int64",
        "labels": _STRING_MAP,
        "annotations": _STRING_MAP,
        "ownerReferences": _OWNERS,
        "finalizers": _STRING_LIST,
        "managedFields": _MANAGED,
    },
    "OwnerReference": {
        **dict.fromkeys(sorted(_OWNER_STRINGS), "string!"),
        "controller": "*bool",
        "blockOwnerDeletion": "*bool",
    },
    "ManagedFieldsEntry": {
        **dict.fromkeys(("manager", "operation", "apiVersion", "fieldsType", "subresource"), "string"),
        "time": "*time",
        "fieldsV1": "any",
    },
}
_STRUCT_OF = {_OWNERS: "OwnerReference", _MANAGED: "ManagedFieldsEntry"}


class _Decoder:
    """Decodes JSON values into Go structs.

    As in Go, the first type mismatch is reported at the end, but an invalid time ends decoding at once.
    """

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
        for key in sorted_strings(value):
            if self.fatal:
                break
            kind = fields.get(key)
            if kind is None:
                if len(self.unknown) < _MAX_UNKNOWN_FIELDS:
                    self.unknown.append(path + key)
            elif value[key] is not None:
                self._field(out, key, value[key], kind, struct, (*stack, key), path)
        return out

    def _field(
        self, out: JsonObject, key: str, value: Any, kind: str, struct: str, stack: tuple[str, ...], path: str
    ) -> None:
        target = f"Go struct field {struct}.{'.'.join(stack)}"
        if kind == "any":
            out[key] = value
        elif kind in ("string", "string!"):
            if type(value) is not str:
                self._mismatch(json_type_name(value), target, _STRING_TYPES.get(key, "string"))
            elif value or kind == "string!":
                out[key] = value
        elif kind in ("time", "*time"):
            self._time(out, key, value, target, pointer=kind == "*time")
        elif kind in ("int64", "*int64"):
            if type(value) is float and value.is_integer():
                # kube-apiserver re-encodes the object before it decodes metadata, and writes 1.0 as 1.
                value = int(value)
            if type(value) is not int or not -(2**63) <= value < 2**63:
                # kube-apiserver's re-encoding also turns a number that is too large for int64 into a float.
                actual = f"number {json_float(float(value))}" if type(value) in (int, float) else json_type_name(value)
                self._mismatch(actual, target, "int64")
            elif value or kind == "*int64":
                out[key] = value
        elif kind == "*bool":
            if type(value) is not bool:
                self._mismatch(json_type_name(value), target, "bool")
            else:
                out[key] = value
        elif kind == _STRING_MAP:
            self._map(out, key, value, target)
        else:
            self._list(out, key, value, kind, target, stack, path)

    def _mismatch(self, word: str, target: str, kind: str) -> None:
        self.mismatch = self.mismatch or f"json: cannot unmarshal {word} into {target} of type {kind}"

    def _time(self, out: JsonObject, key: str, value: Any, target: str, *, pointer: bool) -> None:
        if type(value) is not str:
            text = f"json: cannot unmarshal {json_type_name(value)} into {target} of type string"
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

    def _map(self, out: JsonObject, key: str, value: Any, target: str) -> None:
        if type(value) is not dict:
            self._mismatch(json_type_name(value), target, _STRING_MAP)
            return
        strings = {}
        for name in sorted_strings(value):
            text = value[name]
            if text is None or type(text) is str:
                strings[name] = text or ""
            else:
                self._mismatch(json_type_name(text), target, "string")
        if strings:
            out[key] = strings

    def _list(
        self, out: JsonObject, key: str, value: Any, kind: str, target: str, stack: tuple[str, ...], path: str
    ) -> None:
        if type(value) is not list:
            self._mismatch(json_type_name(value), target, kind)
            return
        items: list[Any] = []
        for at, item in enumerate(value):
            if kind == _STRING_LIST:
                if item is not None and type(item) is not str:
                    self._mismatch(json_type_name(item), target, "string")
                items.append(item if type(item) is str else "")
            elif item is None or type(item) is dict:
                items.append(self.struct(item or {}, _STRUCT_OF[kind], stack, f"{path}{key}[{at}]."))
            else:
                self._mismatch(json_type_name(item), target, f"v1.{_STRUCT_OF[kind]}")
        if items:
            out[key] = items
