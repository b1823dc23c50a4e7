"""Validation of RuntimeClasses."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core.resource_requirements_validation import validate_resource_requirements
from polykind.apis.core.scheduling_validation import validate_tolerations
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.schema.metadata_validation import validate_labels

_TOLERATION_KEYS = ("key", "operator", "value", "effect")


def validate_runtime_class(runtime_class: JsonObject) -> list[FieldError]:
    """Validate the handler, the overhead and the scheduling of a RuntimeClass."""
    handler = runtime_class.get("handler", "")
    if handler:
        found = errors.all_invalid("handler", handler, names.dns1123_label(handler))
    else:
        found = [errors.required("handler")]
    overhead, scheduling = runtime_class.get("overhead"), runtime_class.get("scheduling")
    if overhead is not None:
        # As in kube-apiserver, errors have paths such as overhead.limits[cpu] instead of overhead.podFixed[cpu].
        found += validate_resource_requirements({"limits": overhead.get("podFixed")}, "overhead")
    if scheduling is not None:
        found += validate_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
        found += _validate_tolerations(scheduling.get("tolerations") or [], "scheduling.tolerations")
    return found


def _validate_tolerations(tolerations: list[JsonObject], at: str) -> list[FieldError]:
    found = validate_tolerations(tolerations, at)
    known: set[tuple[str, ...]] = set()
    for index, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in _TOLERATION_KEYS)
        if key in known:
            found.append(errors.duplicate(f"{at}[{index}]", show_internal(CORE_V1.struct("Toleration"), toleration)))
        known.add(key)
    return found
