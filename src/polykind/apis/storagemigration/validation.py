"""Validation of StorageVersionMigrations."""

from __future__ import annotations

import re

from polykind.apis.meta.types import CONDITION
from polykind.apis.meta.validation import validate_conditions
from polykind.apis.storagemigration.state import FAILED, SUCCEEDED, is_true
from polykind.contract import JsonObject
from polykind.errors import OMITTED, FieldError, invalid, required
from polykind.golang.json import encode_json
from polykind.names import dns1035_label, dns1123_subdomain

_is_resource_version = re.compile("[1-9][0-9]*", re.ASCII).fullmatch


def validate_migration(migration: JsonObject) -> list[FieldError]:
    """Validate the spec of a StorageVersionMigration."""
    resource = migration["spec"]["resource"]
    found: list[FieldError] = []
    name, group = resource["resource"], resource["group"]
    if not name:
        found.append(required("spec.resource.resource", "resource is required to be set"))
    elif reasons := dns1035_label(name):
        found.append(invalid("spec.resource.resource", name, ",".join(reasons)))
    if group and (reasons := dns1123_subdomain(group)):
        found.append(invalid("spec.resource.group", group, ",".join(reasons)))
    return found


def validate_migration_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the spec of a StorageVersionMigration."""
    if new["spec"] == old["spec"]:
        return []
    # kube-apiserver's error shows its internal Go type, whose fields have other names than those of the API.
    return [invalid("spec", {"Resource": new["spec"]["resource"]}, "field is immutable")]


def validate_migration_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate an update of the status.

    It cannot change resourceVersion or reset the conditions Succeeded and Failed.
    """
    status, old_status = new.get("status") or {}, old.get("status") or {}
    at, revision = "status.resourceVersion", status.get("resourceVersion", "")
    found: list[FieldError] = []
    if revision and not _is_resource_version(revision):
        found.append(invalid(at, revision, f"resource version is not well formed: {revision}"))
    conditions = status.get("conditions") or []
    found += validate_conditions(conditions, "status.conditions")
    if old_status.get("resourceVersion") and old_status["resourceVersion"] != revision:
        found.append(invalid(at, revision, "field is immutable"))
    if is_true(status, SUCCEEDED) and is_true(status, FAILED):
        reason = "Both success and failed conditions cannot be true at the same time"
        found.append(_conditions_error(conditions, reason))
    for condition_type, name in ((SUCCEEDED, "Success"), (FAILED, "Failed")):
        if is_true(old_status, condition_type) and not is_true(status, condition_type):
            reason = f"{name} condition cannot be set to false once it is true"
            found.append(_conditions_error(conditions, reason))
    return found


def _conditions_error(conditions: list[JsonObject], reason: str) -> FieldError:
    # kube-apiserver's error shows the fields of a condition in the order of the Go struct, not sorted by name.
    printed = "null"
    if conditions:
        ordered = [{field.name: c[field.name] for field in CONDITION.fields if field.name in c} for c in conditions]
        printed = encode_json(ordered, sort_keys=False).decode()
    return FieldError("FieldValueInvalid", "status.conditions", OMITTED, f"{printed}: {reason}")
