"""The rules of a whole definition, for a create, an update, and an update of its status."""

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


def _bounded(judge: Callable[P, list[FieldError]]) -> Callable[P, list[FieldError]]:
    """A schema nested beyond what the interpreter can follow is the author's fault, not the server's."""

    @wraps(judge)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> list[FieldError]:
        try:
            return judge(*args, **kwargs)
        except RecursionError:
            raise BadRequestError("the schema is nested too deeply") from None

    return guarded


@_bounded
def validate_create(
    crd: JsonObject, request_version: str = "v1", *, rules: RuleChecker | None = None, defaulting: bool = True
) -> list[FieldError]:
    """What is wrong with a new definition, as a request at an API version is told.

    Without `defaulting` schemas may hold no defaults, unless they held some before.
    """
    return validate_internal_create(crd, to_internal(crd["spec"]), request_version, rules, defaulting)


def validate_internal_create(
    crd: JsonObject, inner: JsonObject, request_version: str, rules: RuleChecker | None = None, defaulting: bool = True
) -> list[FieldError]:
    """The same for a definition whose inner spec is not that of its v1 shape."""
    beta = request_version == "v1beta1"
    errors = _create_meta_problems(crd)
    errors += validate_spec(inner, ValidationOptions(inner, beta=beta, defaulting=defaulting), rules)
    return errors + _status_problems(crd) + ([] if beta else _v1_problems(crd, None))


@_bounded
def validate_update(
    new: JsonObject,
    old: JsonObject,
    request_version: str = "v1",
    *,
    rules: RuleChecker | None = None,
    defaulting: bool = True,
) -> list[FieldError]:
    """What is wrong with a changed definition; what was wrong before may stay so."""
    beta, established = request_version == "v1beta1", is_true(old, ESTABLISHED)
    inner, before = to_internal(new["spec"]), to_internal(old["spec"])
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    options = ValidationOptions(inner, before, established=established, beta=beta, defaulting=defaulting)
    errors += validate_spec(inner, options, rules)
    errors += validate_immutable_fields(new["spec"], old["spec"], established=established)
    return errors + _status_problems(new) + ([] if beta else _v1_problems(new, old))


@_bounded
def validate_status_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What is wrong with a changed status: only metadata and the syntax of accepted names are looked at."""
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + validate_names(new["status"]["acceptedNames"], "status.acceptedNames")


def _create_meta_problems(crd: JsonObject) -> list[FieldError]:
    spec = crd["spec"]
    wanted = f"{spec['names']['plural']}.{spec['group']}"

    def name_rule(name: str, prefix: bool) -> list[str]:
        problems = subdomain_name(name, prefix)
        return problems if name == wanted else [*problems, 'must be spec.names.plural+"."+spec.group']

    return validate_object_meta(crd["metadata"], namespaced=False, name_rule=name_rule)


def _status_problems(crd: JsonObject) -> list[FieldError]:
    status = crd["status"]
    errors = validate_names(status["acceptedNames"], "status.acceptedNames")
    return errors + _stored_version_problems(status["storedVersions"], crd["spec"]["versions"] or [])


def _stored_version_problems(stored: list[str] | None, versions: list[JsonObject]) -> list[FieldError]:
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


def _v1_problems(crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What only requests at v1 must heed."""
    errors = validate_approval(crd, old)
    if old is not None and old["spec"].get("preserveUnknownFields"):
        return errors
    if crd["spec"].get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        errors.append(invalid("spec.preserveUnknownFields", True, detail))
    return errors
