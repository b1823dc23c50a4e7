"""Validation of PersistentVolumeClaims and of the claim templates of StatefulSets and ephemeral volumes."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core import resource_names
from polykind.apis.core.resource_validation import (
    validate_basic_quantity,
    validate_positive_quantity,
    validate_quantity,
)
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.contract import JsonObject, copy_json
from polykind.errors import FieldError
from polykind.golang.diff import json_diff
from polykind.quantity import parse_quantity
from polykind.schema.metadata_validation import validate_annotations, validate_labels
from polykind.selectors.selector_objects import validate_label_selector

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_RESIZE_STATUSES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_IMMUTABLE_SPEC = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_TEMPLATE_METADATA = ("annotations", "labels")


def validate_volume_claim_template(template: JsonObject, at: str) -> list[FieldError]:
    """Validate the claim template of an ephemeral volume."""
    found = validate_template_metadata(template.get("metadata") or {}, f"{at}.metadata")
    return found + validate_volume_claim_spec(template.get("spec") or {}, f"{at}.spec")


def validate_template_metadata(meta: JsonObject, at: str) -> list[FieldError]:
    """Validate the metadata of a claim template, which has only labels and annotations."""
    found = validate_annotations(meta.get("annotations"), f"{at}.annotations")
    found += validate_labels(meta.get("labels"), f"{at}.labels")
    others = [name for name, value in meta.items() if name not in _TEMPLATE_METADATA and value not in (None, [], {})]
    # kube-apiserver's path has the Go name of the field with a small first letter, which differs only for UID.
    paths = ("uID" if name == "uid" else name for name in others)
    return found + [errors.forbidden(f"{at}.{path}", "cannot be set") for path in paths]


def validate_volume_claim_spec(spec: JsonObject, at: str, old_spec: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a claim. Fields that are already invalid in `old_spec` may keep their values."""
    found = []
    if not spec.get("accessModes"):
        found.append(errors.required(f"{at}.accessModes", "at least 1 access mode is required"))
    lenient = old_spec is not None and bool(validate_label_selector(old_spec.get("selector"), ""))
    found += validate_label_selector(spec.get("selector"), f"{at}.selector", lenient=lenient)
    found += validate_access_modes(spec, at)
    found += _validate_storage_request(spec, f"{at}.resources[storage]")
    found += _validate_class_name(spec.get("storageClassName"), f"{at}.storageClassName")
    if (mode := spec.get("volumeMode")) is not None and mode not in VOLUME_MODES:
        found.append(errors.not_supported(f"{at}.volumeMode", mode, VOLUME_MODES))
    found += _validate_data_sources(spec, at, any_group=_has_group(old_spec))
    return found + _validate_class_name(spec.get("volumeAttributesClassName"), f"{at}.volumeAttributesClassName")


def validate_access_modes(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate the access modes of a claim or a volume."""
    modes, at = spec.get("accessModes") or [], f"{at}.accessModes"
    found = [errors.not_supported(at, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(m in ACCESS_MODES and m != "ReadWriteOncePod" for m in modes):
        found.append(errors.forbidden(at, "may not use ReadWriteOncePod with other access modes"))
    return found


def _validate_storage_request(spec: JsonObject, at: str) -> list[FieldError]:
    storage = _requests(spec).get("storage")
    if storage is None:
        return [errors.required(at)]
    return validate_positive_quantity(storage, at) or validate_quantity("storage", storage, at)


def _validate_class_name(name: str | None, at: str) -> list[FieldError]:
    return [errors.invalid(at, name, text) for text in names.subdomain_name(name)] if name else []


def _validate_data_sources(spec: JsonObject, at: str, *, any_group: bool) -> list[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    found = _validate_data_source(source, f"{at}.dataSource", any_group) if source is not None else []
    if reference is None:
        return found
    found += _validate_data_source(reference, f"{at}.dataSourceRef", any_group)
    namespace = reference.get("namespace")
    if namespace:
        found += [
            errors.invalid(f"{at}.dataSourceRef.namespace", namespace, text) for text in names.label_name(namespace)
        ]
    # kube-apiserver's error shows the field's path by mistake, instead of the value, and encodes it as {}.
    if source is not None and namespace:
        reason = "may not be specified when dataSourceRef.namespace is specified"
        found.append(errors.invalid(at, {}, reason))
    elif source is not None and any(source.get(key) != reference.get(key) for key in ("apiGroup", "kind", "name")):
        found.append(errors.invalid(at, {}, "must match dataSourceRef"))
    return found


def _validate_data_source(source: JsonObject, at: str, any_group: bool) -> list[FieldError]:
    found = [errors.required(f"{at}.{key}") for key in ("name", "kind") if not source.get(key)]
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        reason = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(errors.invalid(at, kind, reason))
    if group and not any_group:
        found += [errors.invalid(f"{at}.apiGroup", group, text) for text in names.dns1123_subdomain(group)]
    return found


def _has_group(spec: JsonObject | None) -> bool:
    """True if the dataSource or dataSourceRef of a claim has an API group.

    Older servers did not validate the group, so an update of a claim with a group does not validate it either.
    """
    sources = ((spec or {}).get(name) for name in ("dataSource", "dataSourceRef"))
    return any(source is not None and source.get("apiGroup") is not None for source in sources)


def _requests(spec: JsonObject) -> JsonObject:
    requests: JsonObject = (spec.get("resources") or {}).get("requests") or {}
    return requests


def validate_volume_claim_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the spec of an updated claim."""
    found = validate_volume_claim_spec(new["spec"], "spec", old["spec"])
    expected, comparable = _comparable_spec(new, old, found)
    if _amounts(expected) != _amounts(comparable):
        struct = CORE_V1.struct("PersistentVolumeClaimSpec")
        shown = (show_internal(struct, spec) for spec in (expected, comparable))
        found.append(errors.forbidden("spec", f"{_IMMUTABLE_SPEC}\n{json_diff(*shown)}"))
    found += _validate_shrinking(new, old)
    if new["spec"].get("volumeMode") != old["spec"].get("volumeMode"):
        found.append(errors.invalid("volumeMode", new["spec"].get("volumeMode"), "field is immutable"))
    return found + _validate_attributes_class_update(new, old)


def _comparable_spec(new: JsonObject, old: JsonObject, found: list[FieldError]) -> tuple[JsonObject, JsonObject]:
    """Return the old and the new spec after making their permitted differences equal.

    Append further errors to `found`.
    """
    spec, old_spec = copy_json(new["spec"]), copy_json(old["spec"])
    if not old_spec.get("volumeName"):
        _copy_field("volumeName", spec, old_spec)
    found += _align_storage_class(spec, old_spec, _class_annotation(new), _class_annotation(old))
    if (new.get("status") or {}).get("phase") == "Bound":
        if _requests(spec) and "storage" in _requests(old_spec):
            _requests(spec)["storage"] = _requests(old_spec)["storage"]
        _copy_field("volumeAttributesClassName", old_spec, spec)
    return old_spec, spec


def _amounts(spec: JsonObject) -> JsonObject:
    """Return a claim's spec with the amounts of its quantities, because 1Gi and 1024Mi are equal."""
    resources = {
        kind: {name: parse_quantity(text).amount for name, text in quantities.items()}
        for kind, quantities in (spec.get("resources") or {}).items()
        if isinstance(quantities, dict)
    }
    return {**spec, "resources": resources}


def _align_storage_class(
    spec: JsonObject, old_spec: JsonObject, annotation: str | None, old_annotation: str | None
) -> list[FieldError]:
    """Remove the storage class from `spec` if an update may set it. Return an error if the annotation changes.

    The class may move from the annotation to the field, and the annotation may then be removed.
    """
    name, is_first = spec.get("storageClassName"), old_spec.get("storageClassName") is None
    moves = is_first and old_annotation is not None and name == old_annotation and annotation in (None, name)
    if is_first and (old_annotation is None or name == old_annotation):
        spec.pop("storageClassName", None)
    if moves or (annotation or "") == (old_annotation or ""):
        return []
    at = f"metadata.annotations.{STORAGE_CLASS_ANNOTATION}"
    return [errors.invalid(at, annotation or "", "field is immutable")]


def _class_annotation(claim: JsonObject) -> str | None:
    """Return the storage class in the annotation of a claim, which older versions of Kubernetes used."""
    annotation: str | None = (claim["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION)
    return annotation


def _copy_field(name: str, source: JsonObject, target: JsonObject) -> None:
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)


def _validate_shrinking(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the storage request. A smaller request must exceed the capacity in the status."""
    size, old_size = (parse_quantity(_requests(claim["spec"]).get("storage", "0")) for claim in (new, old))
    capacity = parse_quantity(((old.get("status") or {}).get("capacity") or {}).get("storage", "0"))
    if size < old_size and size <= capacity:
        return [errors.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")]
    return []


def _validate_attributes_class_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    name, at = new["spec"].get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    current = (old.get("status") or {}).get("currentVolumeAttributesClassName")
    if name == old["spec"].get("volumeAttributesClassName") or current is None or name:
        return []
    value = "nil" if name is None else "empty string"
    reason = f"update to {value} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [errors.forbidden(at, reason)]


def validate_volume_claim_status(new: JsonObject) -> list[FieldError]:
    """Validate the status of a claim."""
    found, status = [], new.get("status") or {}
    if not new["spec"].get("accessModes"):
        found.append(errors.required("Spec.accessModes"))
    for name, text in (status.get("capacity") or {}).items():
        found += validate_basic_quantity(text, f"status.capacity[{name}]")
    at = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        found += _validate_resource_key(name, at)
        if state not in _RESIZE_STATUSES:
            found.append(errors.not_supported(at, name, sorted(_RESIZE_STATUSES)))
    at = "status.allocatedResources"
    for name, text in (status.get("allocatedResources") or {}).items():
        found += (
            _validate_resource_key(name, at)
            or validate_basic_quantity(text, f"{at}[{name}]")
            or validate_quantity("storage", text, f"{at}[{name}]")
        )
    return found


def _validate_resource_key(name: str, at: str) -> list[FieldError]:
    found = [errors.invalid(at, name, text) for text in names.qualified_name(name)]
    if not found and resource_names.is_native(name) and name != "storage":
        found.append(errors.not_supported(at, name, ["storage"]))
    return found
