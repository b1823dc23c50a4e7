"""Validation of object metadata: names, labels, owner references, finalizers, managed fields, immutable fields."""

from __future__ import annotations

from typing import Any

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.golang.json import go_json
from polykind.golang.sorting import sorted_strings
from polykind.golang.utf8 import byte_length
from polykind.names import NameCheck
from polykind.schema.equality import deep_equal, hashable_key

_MAX_ANNOTATION_BYTES = 256 * 1024
_MAX_MANAGER_BYTES = 128
_MAX_SUBRESOURCE_BYTES = 256
_MAX_CONTROLLER_TEXT = 1024 * 1024
"""The maximum total length of errors about several controllers. Each quotes all owner references, so drop the rest."""
_COMMON_SUBRESOURCES = ("", "status", "scale")
_STANDARD_FINALIZERS = frozenset(("orphan", "foregroundDeletion", "kubernetes"))
_OWNER_ORDER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_IMMUTABLE = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)
"""The immutable fields of metadata, each with its value in Go if the field is absent."""
_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def validate_object_meta(
    meta: JsonObject,
    *,
    namespaced: bool,
    name_rule: NameCheck = names.subdomain_name,
    path: str = "metadata",
    only_identity: bool = False,
) -> list[FieldError]:
    """Validate the metadata of a new object.

    If `only_identity` is true, `validate_object_meta_update` validates labels, annotations, owners and managed fields.
    """
    field_errors: list[FieldError] = []
    generate_name, name = _string(meta, "generateName"), _string(meta, "name")
    if generate_name:
        _add_messages(field_errors, f"{path}.generateName", generate_name, name_rule(generate_name, True))
    if not name:
        field_errors.append(errors.required(f"{path}.name", "name or generateName is required"))
    elif messages := name_rule(name, False):
        _add_messages(field_errors, f"{path}.name", name, messages)
    namespace = _string(meta, "namespace")
    if namespaced and not namespace:
        field_errors.append(errors.required(f"{path}.namespace"))
    elif namespaced:
        if messages := names.dns1123_label(namespace):
            _add_messages(field_errors, f"{path}.namespace", namespace, messages)
    elif namespace:
        field_errors.append(errors.forbidden(f"{path}.namespace", "not allowed on this type"))
    generation = _int(meta, "generation")
    if generation < 0:
        field_errors.append(errors.invalid(f"{path}.generation", generation, "must be greater than or equal to 0"))
    for key, check in _IDENTITY_CHECKS if only_identity else _CREATE_CHECKS:
        if key in meta:
            check(meta, path, field_errors)
    return field_errors


def validate_object_meta_update(new: JsonObject, old: JsonObject, path: str = "metadata") -> list[FieldError]:
    """Validate the metadata of an updated object."""
    field_errors: list[FieldError] = []
    if old.get("deletionTimestamp") is not None:
        added = sorted_strings(set(_strings(new, "finalizers")) - set(_strings(old, "finalizers")))
        if added:
            quoted = ", ".join(map(go_quote, added))
            text = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{quoted}}}"
            )
            field_errors.append(errors.forbidden(f"{path}.finalizers", text))
    if not _string(new, "resourceVersion"):
        field_errors.append(errors.invalid(f"{path}.resourceVersion", "", "must be specified for an update"))
    generation = _int(new, "generation")
    if generation < _int(old, "generation"):
        field_errors.append(errors.invalid(f"{path}.generation", generation, "must not be decremented"))
    for key, unset in _IMMUTABLE:
        value, before = new.get(key, unset), old.get(key, unset)
        if value is before or (type(value) is str and value == before):
            continue
        if deep_equal(value, before):
            continue
        if key == "uid":
            # In Go a uid has its own string type, and error messages show values of such types as JSON.
            field_errors.append(errors.invalid_struct(f"{path}.uid", go_json(value), "field is immutable"))
        else:
            field_errors.append(errors.invalid(f"{path}.{key}", value, "field is immutable"))
    for key, check in _UPDATE_CHECKS:
        if key in new:
            check(new, path, field_errors)
    return field_errors


def finalizer_warnings(meta: JsonObject, old: JsonObject | None = None) -> list[str]:
    """Return kube-apiserver's warnings about finalizers that `old` does not have."""
    added = set(_strings(meta, "finalizers"))
    if not added:
        return []
    if old:
        added.difference_update(_strings(old, "finalizers"))
    field_errors: list[str] = []
    for name in sorted_strings(added):
        start = f"metadata.finalizers: {go_quote(name)}: "
        field_errors.extend(start + message for message in names.qualified_name(name))
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            shape = " including a path (/)" if "." in name else ""
            field_errors.append(
                f"{start}prefer a domain-qualified finalizer name{shape} "
                "to avoid accidental conflicts with other finalizer writers"
            )
    return field_errors


def dedupe_owner_references(meta: JsonObject, *, after_admission: bool = False) -> list[str]:
    """Remove owner references that repeat an earlier one, in place. Return a list with a warning if any were removed.

    If `after_admission` is true, the warning says that mutating admission added the duplicates.
    """
    owners = meta.get("ownerReferences")
    if not isinstance(owners, list) or len(owners) < 2:
        return []
    known: set[Any] = set()
    repeated, unique = [], []
    for owner in owners:
        key = hashable_key(owner)
        if key in known:
            repeated.append(_string(owner, "uid") if isinstance(owner, dict) else "")
        else:
            known.add(key)
            unique.append(owner)
    if not repeated:
        return []
    meta["ownerReferences"] = unique
    when = " after mutating admission happens" if after_admission else ""
    return [f"{_DUPLICATE_OWNERS.format(when)}{', '.join(repeated)}"]


def _add_messages(field_errors: list[FieldError], path: str, value: str, messages: list[str]) -> None:
    if messages:
        field_errors.extend(errors.invalid(path, value, message) for message in messages)


def _validate_labels(meta: JsonObject, path: str, field_errors: list[FieldError]) -> None:
    field_errors += validate_labels(_map(meta, "labels"), f"{path}.labels")


def validate_labels(labels: JsonObject | None, path: str) -> list[FieldError]:
    """Validate the keys and values of labels."""
    field_errors: list[FieldError] = []
    if not labels or names.are_simple_labels(labels):
        return field_errors
    for key in sorted_strings(labels):
        value = labels[key]
        if len(field_errors) >= errors.MAX_FIELD_ERRORS:
            break
        _add_messages(field_errors, path, key, names.qualified_name(key))
        if isinstance(value, str):
            _add_messages(field_errors, path, value, names.label_value(value))
    return field_errors


def _validate_annotations(meta: JsonObject, path: str, field_errors: list[FieldError]) -> None:
    field_errors += validate_annotations(_map(meta, "annotations"), f"{path}.annotations")


def validate_annotations(annotations: JsonObject | None, path: str) -> list[FieldError]:
    """Validate the keys and the total size of annotations."""
    field_errors: list[FieldError] = []
    total = 0
    annotations = annotations or {}
    for key in sorted_strings(annotations):
        value = annotations[key]
        if len(field_errors) >= errors.MAX_FIELD_ERRORS:
            break
        _add_messages(field_errors, path, key, names.qualified_name(key.lower()))
        total += byte_length(key) + (byte_length(value) if isinstance(value, str) else 0)
    if total > _MAX_ANNOTATION_BYTES:
        field_errors.append(errors.too_long(path, _MAX_ANNOTATION_BYTES))
    return field_errors


def _validate_owner_references(meta: JsonObject, path: str, field_errors: list[FieldError]) -> None:
    if not meta.get("ownerReferences"):
        return
    path = f"{path}.ownerReferences"
    owners = [owner for owner in _list(meta, "ownerReferences") if isinstance(owner, dict)]
    controller = all_owners = ""
    room = _MAX_CONTROLLER_TEXT
    for owner in owners:
        if len(field_errors) >= errors.MAX_FIELD_ERRORS:
            break
        api_version, kind, name = _string(owner, "apiVersion"), _string(owner, "kind"), _string(owner, "name")
        group, version = _group_version(api_version)
        if not version:
            field_errors.append(errors.invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
        if not kind:
            field_errors.append(errors.invalid(f"{path}.kind", kind, "must not be empty"))
        if not name:
            field_errors.append(errors.invalid(f"{path}.name", name, "must not be empty"))
        if not _string(owner, "uid"):
            field_errors.append(errors.invalid(f"{path}.uid", "", "must not be empty"))
        if (group, version, kind) == ("", "v1", "Event"):
            text = "/v1, Kind=Event is disallowed from being an owner"
            field_errors.append(errors.invalid_struct(path, _owner_json(owner), text))
        if owner.get("controller") is True:
            current = f"{kind}/{name}"
            if not controller:
                controller = current
            elif room > 0:
                all_owners = all_owners or f"[{','.join(map(_owner_json, owners))}]"
                room -= len(all_owners)
                text = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {current}'
                )
                field_errors.append(errors.invalid_struct(path, all_owners, text))


def _owner_json(owner: JsonObject) -> str:
    quoted = {key: owner.get(key, "") for key in _OWNER_ORDER if key in owner or key not in _OWNER_ORDER[4:]}
    return "{" + ",".join(f"{go_json(key)}:{go_json(value)}" for key, value in quoted.items()) + "}"


def _validate_finalizers(meta: JsonObject, path: str, field_errors: list[FieldError]) -> None:
    finalizers = _strings(meta, "finalizers")
    if not finalizers:
        return
    path = f"{path}.finalizers"
    for name in finalizers:
        if len(field_errors) >= errors.MAX_FIELD_ERRORS:
            break
        _add_messages(field_errors, path, name, names.qualified_name(name))
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        field_errors.append(errors.invalid(path, finalizers, text))


def _validate_managed_fields(meta: JsonObject, path: str, field_errors: list[FieldError]) -> None:
    for at, entry in enumerate(_list(meta, "managedFields")):
        if _is_common_entry(entry):
            continue
        entry = entry if isinstance(entry, dict) else {}
        here = f"{path}.managedFields[{at}]"
        operation, fields_type = _string(entry, "operation"), _string(entry, "fieldsType")
        if operation not in ("Apply", "Update"):
            field_errors.append(errors.invalid(f"{here}.operation", operation, "must be `Apply` or `Update`"))
        if fields_type and fields_type != "FieldsV1":
            field_errors.append(errors.invalid(f"{here}.fieldsType", fields_type, "must be `FieldsV1`"))
        field_errors.extend(validate_field_manager(_string(entry, "manager"), f"{here}.manager"))
        if byte_length(_string(entry, "subresource")) > _MAX_SUBRESOURCE_BYTES:
            field_errors.append(errors.too_long(f"{here}.subresource", _MAX_SUBRESOURCE_BYTES))


_CREATE_CHECKS = (
    ("labels", _validate_labels),
    ("annotations", _validate_annotations),
    ("ownerReferences", _validate_owner_references),
    ("finalizers", _validate_finalizers),
    ("managedFields", _validate_managed_fields),
)
_IDENTITY_CHECKS = (("finalizers", _validate_finalizers),)
_UPDATE_CHECKS = tuple(check for check in _CREATE_CHECKS if check not in _IDENTITY_CHECKS)


def _is_common_entry(entry: Any) -> bool:
    """True if a managedFields entry passes a quick check of validity. Nearly all entries pass."""
    if (
        type(entry) is not dict
        or entry.get("fieldsType") != "FieldsV1"
        or entry.get("subresource", "") not in _COMMON_SUBRESOURCES
    ):
        return False
    manager = entry.get("manager")
    return (
        entry.get("operation") in ("Apply", "Update")
        and type(manager) is str
        and len(manager) <= _MAX_MANAGER_BYTES
        and manager.isascii()
        and manager.isprintable()
    )


def validate_field_manager(name: str, path: str) -> list[FieldError]:
    """Validate the name of a field manager."""
    field_errors = [errors.too_long(path, _MAX_MANAGER_BYTES)] if byte_length(name) > _MAX_MANAGER_BYTES else []
    if name.isprintable():
        return field_errors
    position = 0
    for char in name:
        if not char.isprintable():
            text = f"invalid character U+{ord(char):04X} (at position {position})"
            field_errors.append(errors.invalid(path, name, text))
        position += byte_length(char)
    return field_errors


def _group_version(api_version: str) -> tuple[str, str]:
    """Return the group and the version of an apiVersion. Both are empty if it has more than one slash."""
    group, slash, version = api_version.partition("/")
    if not slash:
        return "", group
    return ("", "") if "/" in version else (group, version)


def _string(meta: JsonObject, key: str) -> str:
    value = meta.get(key)
    return value if isinstance(value, str) else ""


def _int(meta: JsonObject, key: str) -> int:
    value = meta.get(key)
    return value if isinstance(value, int) else 0


def _list(meta: JsonObject, key: str) -> list[Any]:
    value = meta.get(key)
    return value if isinstance(value, list) else []


def _strings(meta: JsonObject, key: str) -> list[str]:
    return [item for item in _list(meta, key) if isinstance(item, str)] if key in meta else []


def _map(meta: JsonObject, key: str) -> dict[str, Any]:
    value = meta.get(key)
    return value if isinstance(value, dict) else {}
