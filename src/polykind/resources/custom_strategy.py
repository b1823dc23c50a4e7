"""The strategy of custom resources: generation, status, schema validation and CEL rules."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from polykind import errors
from polykind.contract import InterruptCheck, JsonObject
from polykind.errors import FieldError
from polykind.resources.resource import Strategy, Validation
from polykind.schema import metadata_validation
from polykind.schema.equality import deep_equal
from polykind.schema.scale_validation import validate_scale

if TYPE_CHECKING:
    from polykind.cel import Rules
    from polykind.resources.custom import CustomResource

_BLOCKING = frozenset(
    ("FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid", "FieldValueNotSupported")
)
_RULES_NOT_CHECKED = errors.invalid(
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


class CustomStrategy(Strategy):
    """Prepares and validates custom objects of one version."""

    def __init__(self, resource: CustomResource, version: str, *, has_status: bool, scale: JsonObject | None) -> None:
        self._resource = resource
        self._version = version
        self._api_version = resource.api_version(version)
        self._has_status = has_status
        self._scale = scale

    @cached_property
    def _rules(self) -> Rules | None:
        """The CEL rules of the version, compiled at first use. A change of the CRD makes a new strategy."""
        return self._resource.rules(self._version)

    @property
    def evaluates_rules(self) -> bool:
        return self._rules is not None

    def prepare_create(self, obj: JsonObject) -> None:
        if self._has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def validate_create(
        self, obj: JsonObject, *, values_validated: bool = False, check: InterruptCheck | None = None
    ) -> Validation:
        if field_errors := self._type_errors(obj):
            return self._validate_other_type(field_errors, obj, None, check)
        field_errors = metadata_validation.validate_object_meta(obj["metadata"], namespaced=self._resource.namespaced)
        field_errors += self._value_errors(obj, None, values_validated)
        return self._with_rules(field_errors, obj, None, check)

    def _value_errors(self, new: JsonObject, old: JsonObject | None, values_validated: bool) -> list[FieldError]:
        if not values_validated:
            return self._resource.schema(self._version).validate(new, old, scale=self._scale)
        return validate_scale(new, self._scale) if self._scale is not None else []

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        if self._has_status:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
        changed = new.keys() != old.keys() or not all(
            deep_equal(value, old[name]) for name, value in new.items() if name != "metadata"
        )
        new["metadata"]["generation"] = old["metadata"].get("generation", 1) + (1 if changed else 0)

    def validate_update(
        self,
        new: JsonObject,
        old: JsonObject,
        *,
        values_validated: bool = False,
        check: InterruptCheck | None = None,
    ) -> Validation:
        if field_errors := self._type_errors(new):
            return self._validate_other_type(field_errors, new, old, check)
        field_errors = metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        field_errors += self._value_errors(new, old, values_validated)
        return self._with_rules(field_errors, new, old, check)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """Return `old` with the status, managedFields and resourceVersion of `new`."""
        merged = {k: v for k, v in old.items() if k != "status"}
        merged["metadata"] = dict(old["metadata"])
        if "managedFields" in new["metadata"]:
            merged["metadata"]["managedFields"] = new["metadata"]["managedFields"]
        else:
            merged["metadata"].pop("managedFields", None)
        merged["metadata"]["resourceVersion"] = new["metadata"].get("resourceVersion", "")
        if "status" in new:
            merged["status"] = new["status"]
        return merged

    def validate_status(self, new: JsonObject, old: JsonObject, *, check: InterruptCheck | None = None) -> Validation:
        if field_errors := self._type_errors(new):
            return Validation(field_errors)
        field_errors = metadata_validation.validate_object_meta_update(new["metadata"], old["metadata"])
        field_errors += self._resource.schema(self._version).validate_status(new, old, scale=self._scale)
        return self._with_rules(field_errors, new, old, check)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if "finalizers" not in new["metadata"]:
            return []
        return metadata_validation.finalizer_warnings(new["metadata"], (old or {}).get("metadata"))

    def _type_errors(self, obj: JsonObject) -> list[FieldError]:
        field_errors, kind = [], self._resource.kind
        if obj.get("kind") != kind:
            field_errors.append(errors.invalid("kind", obj.get("kind"), f"must be {kind}"))
        if obj.get("apiVersion") != self._api_version:
            field_errors.append(errors.invalid("apiVersion", obj.get("apiVersion"), f"must be {self._api_version}"))
        return field_errors

    def _validate_other_type(
        self,
        field_errors: list[FieldError],
        new: JsonObject,
        old: JsonObject | None,
        check: InterruptCheck | None,
    ) -> Validation:
        """Validate an object with a wrong kind or apiVersion, without checking its values against the schema."""
        schema = self._resource.schema(self._version)
        field_errors = field_errors + schema.validate_beyond_values(new, old)
        # kube-apiserver's CEL rules fail on values of unexpected types. Skip the rules for such values.
        if not _blocks_rules(field_errors) and _blocks_rules(schema.validate(new, old)):
            return Validation(field_errors)
        return self._with_rules(field_errors, new, old, check)

    def _with_rules(
        self,
        field_errors: list[FieldError],
        new: JsonObject,
        old: JsonObject | None,
        check: InterruptCheck | None,
    ) -> Validation:
        """Return the errors together with those of the CEL rules. The rules do not run if an error makes their input
        unusable.
        """
        rules = self._rules
        if rules is None:
            return Validation(field_errors)
        if _blocks_rules(field_errors):
            return Validation([*field_errors, _RULES_NOT_CHECKED])
        broken, ratcheted = rules.validate(new, old, check=check)
        return Validation(field_errors + broken, ratcheted)


def _blocks_rules(field_errors: list[FieldError]) -> bool:
    """True if CEL rules cannot run on an object with these errors."""
    return any(error.reason in _BLOCKING for error in field_errors)
