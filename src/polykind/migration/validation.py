"""What a StorageVersionMigration and its status must obey."""

from __future__ import annotations

import re

from polykind.contract import JsonObject
from polykind.errors import OMITTED, FieldError, invalid, required
from polykind.golang.json import encode_json
from polykind.migration.state import FAILED, SUCCEEDED, is_true
from polykind.names import dns1035_label, dns1123_subdomain
from polykind.schema import conditionrules

GROUP = "storagemigration.k8s.io"

_CONDITION = ("type", "status", "observedGeneration", "lastTransitionTime", "reason", "message")
_is_revision = re.compile("[1-9][0-9]*", re.ASCII).fullmatch


def problems(migration: JsonObject) -> list[FieldError]:
    """What is wrong with the spec."""
    resource = migration["spec"]["resource"]
    found: list[FieldError] = []
    name, group = resource["resource"], resource["group"]
    if not name:
        found.append(required("spec.resource.resource", "resource is required to be set"))
    elif wrong := dns1035_label(name):
        found.append(invalid("spec.resource.resource", name, ",".join(wrong)))
    if group and (wrong := dns1123_subdomain(group)):
        found.append(invalid("spec.resource.group", group, ",".join(wrong)))
    return found


def update_problems(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is wrong with a change of it: the spec stays."""
    if new["spec"] == old["spec"]:
        return []
    # As the reference tells it: the type it judges has a name of its own for the field.
    return [invalid("spec", {"Resource": new["spec"]["resource"]}, "field is immutable")]


def status_problems(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is wrong with a change of the status: it never goes back."""
    status, before = new.get("status") or {}, old.get("status") or {}
    at, revision = "status.resourceVersion", status.get("resourceVersion", "")
    found: list[FieldError] = []
    if revision and not _is_revision(revision):
        found.append(invalid(at, revision, f"resource version is not well formed: {revision}"))
    conditions = status.get("conditions") or []
    found += conditionrules.problems(conditions, "status.conditions")
    if before.get("resourceVersion") and before["resourceVersion"] != revision:
        found.append(invalid(at, revision, "field is immutable"))
    if is_true(status, SUCCEEDED) and is_true(status, FAILED):
        found.append(_contradiction(conditions, "Both success and failed conditions cannot be true at the same time"))
    for type_, name in ((SUCCEEDED, "Success"), (FAILED, "Failed")):
        if is_true(before, type_) and not is_true(status, type_):
            found.append(_contradiction(conditions, f"{name} condition cannot be set to false once it is true"))
    return found


def _contradiction(conditions: list[JsonObject], why: str) -> FieldError:
    # The reference shows them in the order of their type's fields, which no sorted encoding gives.
    shown = "null"
    if conditions:
        told = [{name: c[name] for name in _CONDITION if name in c} for c in conditions]
        shown = encode_json(told, sort_keys=False).decode()
    return FieldError("FieldValueInvalid", "status.conditions", OMITTED, f"{shown}: {why}")
