"""Validation of CRDs on create, update and status update."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from polykind.contract import JsonObject
from polykind.crd.api_conversion import to_internal
from polykind.crd.approval import validate_approval
from polykind.crd.cel_rules import RuleChecker
from polykind.crd.conditions import ESTABLISHED, is_true
from polykind.crd.internal_json import as_json
from polykind.crd.naming import validate_names
from polykind.crd.ratcheting import ValidationOptions
from polykind.crd.validation_spec import validate_immutable_fields, validate_spec
from polykind.errors import BadRequestError, FieldError, invalid
from polykind.names import subdomain_name
from polykind.schema.metadata_validation import validate_object_meta, validate_object_meta_update

P = ParamSpec("P")


def _limit_nesting(validate: Callable[P, list[FieldError]]) -> Callable[P, list[FieldError]]:
    """Turn a RecursionError into a 400 response, because only a deeply nested schema can cause it."""

    @wraps(validate)
    def limited(*args: P.args, **kwargs: P.kwargs) -> list[FieldError]:
        try:
            return validate(*args, **kwargs)
        except RecursionError:
            raise BadRequestError("the schema is nested too deeply") from None

    return limited


@_limit_nesting
def validate_create(
    crd: JsonObject, request_version: str = "v1", *, rules: RuleChecker | None = None, defaulting: bool = True
) -> list[FieldError]:
    """Validate a new CRD, sent by a client at `request_version`. If `defaulting` is false, defaults are errors."""
    return validate_internal_create(crd, to_internal(crd["spec"]), request_version, rules, defaulting)


def validate_internal_create(
    crd: JsonObject,
    internal: JsonObject,
    request_version: str,
    rules: RuleChecker | None = None,
    defaulting: bool = True,
) -> list[FieldError]:
    """Validate a CRD like `validate_create`, but validate `internal` instead of the spec of `crd`."""
    beta = request_version == "v1beta1"
    errors = _validate_metadata(crd)
    errors += validate_spec(internal, ValidationOptions(internal, beta=beta, defaulting=defaulting), rules)
    return errors + _validate_status(crd) + ([] if beta else _validate_v1(crd, None))


@_limit_nesting
def validate_update(
    new: JsonObject,
    old: JsonObject,
    request_version: str = "v1",
    *,
    rules: RuleChecker | None = None,
    defaulting: bool = True,
) -> list[FieldError]:
    """Validate an updated CRD, with ratcheting: errors that the old CRD already has are allowed."""
    beta, established = request_version == "v1beta1", is_true(old, ESTABLISHED)
    internal, old_internal = to_internal(new["spec"]), to_internal(old["spec"])
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    options = ValidationOptions(internal, old_internal, established=established, beta=beta, defaulting=defaulting)
    errors += validate_spec(internal, options, rules)
    errors += validate_immutable_fields(new["spec"], old["spec"], established=established)
    return errors + _validate_status(new) + ([] if beta else _validate_v1(new, old))


@_limit_nesting
def validate_status_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate a status update. kube-apiserver checks only metadata and the syntax of accepted names."""
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + validate_names(new["status"]["acceptedNames"], "status.acceptedNames")


def _validate_metadata(crd: JsonObject) -> list[FieldError]:
    spec = crd["spec"]
    expected_name = f"{spec['names']['plural']}.{spec['group']}"

    def name_rule(name: str, prefix: bool) -> list[str]:
        messages = subdomain_name(name, prefix)
        return messages if name == expected_name else [*messages, 'must be spec.names.plural+"."+spec.group']

    return validate_object_meta(crd["metadata"], namespaced=False, name_rule=name_rule)


def _validate_status(crd: JsonObject) -> list[FieldError]:
    status = crd["status"]
    errors = validate_names(status["acceptedNames"], "status.acceptedNames")
    return errors + _validate_stored_versions(status["storedVersions"], crd["spec"]["versions"] or [])


def _validate_stored_versions(stored: list[str] | None, versions: list[JsonObject]) -> list[FieldError]:
    at = "status.storedVersions"
    if not stored:
        return [invalid(at, as_json(stored), "must have at least one stored version")]
    errors = []
    unknown = {name: index for index, name in enumerate(stored)}
    for version in versions:
        name = version["name"]
        if version["storage"] and name not in unknown:
            errors.append(invalid(at, stored, f"must have the storage version {name}"))
        unknown.pop(name, None)
    for name, index in unknown.items():
        detail = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} "
            "from status.storedVersions"
        )
        errors.append(invalid(f"{at}[{index}]", name, detail))
    return errors


def _validate_v1(crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Return the errors that kube-apiserver reports only for requests at v1, not at v1beta1."""
    errors = validate_approval(crd, old)
    if old is not None and old["spec"].get("preserveUnknownFields"):
        return errors
    if crd["spec"].get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        errors.append(invalid("spec.preserveUnknownFields", True, detail))
    return errors
