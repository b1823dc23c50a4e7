"""Validation of StorageClasses, VolumeAttributesClasses, VolumeAttachments and CSIStorageCapacities."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core.node_labels import deprecated_node_label
from polykind.apis.core.persistent_volume_validation import validate_volume_spec
from polykind.apis.machinery.internal_types import show_label_selector
from polykind.apis.meta.field_validation import IMMUTABLE, validate_immutable
from polykind.apis.meta.validation import label_name_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length
from polykind.quantity import parse_quantity
from polykind.selectors.selector_objects import validate_label_selector

_MAX_PARAMETERS = 512
_MAX_PARAMETER_BYTES = 256 * 1024
_MAX_ATTACHMENT_METADATA_BYTES = 256 * 1024
_MAX_ERROR_MESSAGE = 1024
_MAX_INT32 = 2**31 - 1
_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def validate_storage_class(storage_class: JsonObject) -> list[FieldError]:
    """Validate the fields of a StorageClass."""
    found = _validate_provisioner(storage_class.get("provisioner", ""), "provisioner")
    found += _validate_parameters(storage_class.get("parameters") or {})
    policy, mode = storage_class.get("reclaimPolicy"), storage_class.get("volumeBindingMode")
    if policy and policy not in _RECLAIM_POLICIES:
        found.append(errors.not_supported("reclaimPolicy", policy, _RECLAIM_POLICIES))
    if mode is None:
        found.append(errors.required("volumeBindingMode"))
    elif mode not in _BINDING_MODES:
        found.append(errors.not_supported("volumeBindingMode", mode, _BINDING_MODES))
    return found + _validate_allowed_topologies(storage_class.get("allowedTopologies") or [])


def validate_storage_class_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change parameters, provisioner, reclaimPolicy and volumeBindingMode."""
    found: list[FieldError] = []
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        found += validate_immutable(new.get(field), old.get(field), field)
    return found


def storage_class_warnings(storage_class: JsonObject) -> list[str]:
    """Return the warnings about deprecated node labels in the allowed topologies."""
    warnings = []
    for index, term in enumerate(storage_class.get("allowedTopologies") or ()):
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            message = deprecated_node_label(expression["key"])
            if message:
                warnings.append(f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {message}")
    return warnings


def _validate_provisioner(name: str, at: str) -> list[FieldError]:
    if not name:
        return [errors.required(at)]
    return errors.all_invalid(at, name.lower(), names.qualified_name(name.lower()))


def _validate_parameters(parameters: dict[str, str], *, required: bool = False) -> list[FieldError]:
    at = "parameters"
    if len(parameters) > _MAX_PARAMETERS:
        return [errors.too_long(at, _MAX_PARAMETERS)]
    found = [errors.invalid(at, "", "field can not be empty.")] if "" in parameters else []
    if _size(parameters) > _MAX_PARAMETER_BYTES:
        found.append(errors.too_long(at, _MAX_PARAMETER_BYTES))
    if required and not parameters:
        found.append(errors.required(at, "must contain at least one key/value pair"))
    return found


def _size(texts: dict[str, str]) -> int:
    return sum(byte_length(key) + byte_length(value) for key, value in texts.items())


def _validate_allowed_topologies(terms: list[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    known: list[dict[str, set[str]]] = []
    for index, term in enumerate(terms):
        at = f"allowedTopologies[{index}].matchLabelExpressions"
        values_by_key: dict[str, set[str]] = {}
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            here, key, values = f"{at}[{number}]", expression["key"], expression["values"] or []
            if not values:
                found.append(errors.required(f"{here}.values"))
            for position, value in enumerate(values):
                if value in values[:position]:
                    found.append(errors.duplicate(f"{here}.values[{position}]", value))
            found += label_name_errors(key, f"{here}.key")
            if key in values_by_key:
                found.append(errors.duplicate(f"{here}.key", key))
            values_by_key[key] = set(values)
        # kube-apiserver's list of known terms starts with as many empty maps as the class has terms. A term without
        # expressions is therefore reported as a duplicate of each of them.
        repeated = known.count(values_by_key) + (0 if values_by_key else len(terms))
        found += [errors.duplicate(at, "")] * repeated
        known.append(values_by_key)
    return found


def validate_volume_attributes_class(attributes_class: JsonObject) -> list[FieldError]:
    """Validate the fields of a VolumeAttributesClass."""
    found = _validate_provisioner(attributes_class.get("driverName", ""), "driverName")
    return found + _validate_parameters(attributes_class.get("parameters") or {}, required=True)


def validate_volume_attributes_class_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the driver and the parameters of a VolumeAttributesClass."""
    return [
        errors.forbidden(field, f"updates to {field} are forbidden.")
        for field in ("driverName", "parameters")
        if new.get(field) != old.get(field)
    ]


def validate_csi_driver_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a CSI driver in an object that refers to the driver, such as a VolumeAttachment."""
    if not name:
        return [errors.required(at)]
    found = [errors.too_long(at, 63)] if byte_length(name) > 63 else []
    return found + errors.all_invalid(at, name, names.dns1123_subdomain(name.lower()))


def validate_volume_attachment(attachment: JsonObject) -> list[FieldError]:
    """Validate the spec and the status of a VolumeAttachment."""
    spec, status = attachment["spec"], attachment.get("status") or {}
    found = validate_csi_driver_name(spec.get("attacher", ""), "spec.attacher")
    source = spec.get("source") or {}
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and volume is None:
        found.append(errors.required("spec.source", _ONE_SOURCE))
    elif inline is not None and volume is not None:
        found.append(errors.forbidden("spec.source", _ONE_SOURCE))
    elif inline is not None:
        found += validate_volume_spec(inline, "", "spec.source.inlineVolumeSpec", inline=True)
    elif not volume:
        text = "must specify non empty persistentVolumeName"
        found.append(errors.required("spec.source.persistentVolumeName", text))
    node = spec.get("nodeName", "")
    found += errors.all_invalid("spec.nodeName", node, names.dns1123_subdomain(node))
    if _size(status.get("attachmentMetadata") or {}) > _MAX_ATTACHMENT_METADATA_BYTES:
        found.append(errors.too_long("status.attachmentMetadata", _MAX_ATTACHMENT_METADATA_BYTES))
    for field in ("attachError", "detachError"):
        found += _validate_volume_error(status.get(field), f"status.{field}")
    if volume is not None:
        found += errors.all_invalid("spec.source.persistentVolumeName", volume, names.dns1123_subdomain(volume))
    return found


def _validate_volume_error(error: JsonObject | None, at: str) -> list[FieldError]:
    if error is None:
        return []
    found = []
    if byte_length(error.get("message", "")) > _MAX_ERROR_MESSAGE:
        # As in kube-apiserver, the error message names the limit of the attachment metadata instead of the one above.
        found.append(errors.too_long(f"{at}.message", _MAX_ATTACHMENT_METADATA_BYTES))
    code = error.get("errorCode")
    if code is not None and code < 0:
        found.append(errors.invalid(f"{at}.errorCode", code, f"must be between 0 and {_MAX_INT32}, inclusive"))
    return found


def validate_csi_storage_capacity(capacity: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the fields of a CSIStorageCapacity. `old` is the stored object of an update, None for a create."""
    lenient = old is not None and bool(validate_label_selector(old.get("nodeTopology"), ""))
    found = validate_label_selector(capacity.get("nodeTopology"), "nodeTopology", lenient=lenient)
    name, size = capacity.get("storageClassName", ""), capacity.get("capacity")
    found += errors.all_invalid("storageClassName", name, names.dns1123_subdomain(name))
    if size is not None and parse_quantity(size).sign < 0:
        found.append(errors.invalid("capacity", size, "must be greater than or equal to 0"))
    return found


def validate_csi_storage_capacity_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the topology and the storage class of a CSIStorageCapacity."""
    found = []
    topology = new.get("nodeTopology")
    if topology != old.get("nodeTopology"):
        found.append(errors.invalid("nodeTopology", show_label_selector(topology), IMMUTABLE))
    return found + validate_immutable(
        new.get("storageClassName", ""), old.get("storageClassName", ""), "storageClassName"
    )
