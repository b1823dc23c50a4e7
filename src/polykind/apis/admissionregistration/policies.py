"""ValidatingAdmissionPolicies and their bindings as resources."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from polykind.admission.matcher import GROUP, name_warnings
from polykind.apis.admissionregistration.types import VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING
from polykind.apis.machinery import Struct
from polykind.apply.typemodel import (
    VALIDATING_ADMISSION_POLICY_BINDING_MODEL,
    VALIDATING_ADMISSION_POLICY_MODEL,
    TypeModel,
)
from polykind.cache.watch_cache import WatchCache
from polykind.codec.jsonpath import JsonPath, JsonPathError
from polykind.codec.table import POLICIES, POLICY_BINDINGS, TableFormat
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, BuiltinType
from polykind.schema import metadata_validation

_FROM_OLD = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
"""What of the metadata a write of the status does not change."""


def validating_policies(cache: WatchCache) -> tuple[BuiltinResource, BuiltinResource]:
    """The resources `validatingadmissionpolicies` and `validatingadmissionpolicybindings`."""
    return (
        BuiltinResource(
            cache,
            GROUP,
            policy_type(VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_MODEL, POLICIES, has_status=True),
            PolicyStrategy(),
            defaults=set_policy_defaults,
            plural="validatingadmissionpolicies",
        ),
        BuiltinResource(
            cache,
            GROUP,
            policy_type(
                VALIDATING_ADMISSION_POLICY_BINDING, VALIDATING_ADMISSION_POLICY_BINDING_MODEL, POLICY_BINDINGS
            ),
            BindingStrategy(),
            defaults=set_binding_defaults,
        ),
    )


def policy_type(struct: Struct, model: TypeModel, table: TableFormat, *, has_status: bool = False) -> BuiltinType:
    versions = ("v1", "v1beta1", "v1alpha1")
    return BuiltinType(struct, model, table, "admissionregistration", versions, has_status=has_status)


def set_policy_defaults(obj: JsonObject) -> None:
    """Set the defaults of an admission policy, in place."""
    obj["spec"].setdefault("failurePolicy", "Fail")
    _default_match(obj["spec"].get("matchConstraints"))


def set_binding_defaults(obj: JsonObject) -> None:
    """Set the defaults of an admission policy binding, in place."""
    _default_match(obj["spec"].get("matchResources"))


class AdmissionStrategy(BuiltinStrategy):
    """Prepares and validates admission policies and their bindings."""

    reads_params = True
    match_field = "matchResources"
    """The field of the spec that holds the MatchResources."""

    def _match(self, obj: JsonObject) -> Any:
        return obj["spec"].get(self.match_field)

    def prepare_create(self, obj: JsonObject) -> None:
        _leave_out_empty(self._match(obj))
        obj["metadata"]["generation"] = 1

    @abstractmethod
    def problems(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """What is wrong with a spec. The rules bring expressions with them, and are imported when one is written."""

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self._meta_errors(obj, None) + self.problems(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return metadata_validation.validate_object_meta(new["metadata"], namespaced=False) + self.problems(new, old)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        _leave_out_empty(self._match(new))
        generation = old["metadata"].get("generation", 0)
        new["metadata"]["generation"] = generation + (new["spec"] != old["spec"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return name_warnings(new["metadata"].get("name", ""))


class PolicyStrategy(AdmissionStrategy):
    """Prepares and validates ValidatingAdmissionPolicies."""

    match_field = "matchConstraints"

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        obj["status"] = {}

    def problems(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        from polykind.admission.policy_rules import policy_problems

        return policy_problems(new, old)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        new["status"] = old.get("status") or {}

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        kept = {name: old["metadata"][name] for name in _FROM_OLD if name in old["metadata"]}
        meta = {name: value for name, value in new["metadata"].items() if name not in _FROM_OLD}
        return {**new, "metadata": {**meta, **kept}, "spec": old["spec"]}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        from polykind.admission.policy_status_rules import status_problems

        return status_problems(new.get("status") or {}, _unreadable)


class BindingStrategy(AdmissionStrategy):
    """Validates ValidatingAdmissionPolicyBindings."""

    def problems(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        from polykind.admission.policy_binding_rules import binding_problems

        return binding_problems(new)


def _default_match(match: Any) -> None:
    """Fill in what the MatchResources of a policy or of a binding leave open."""
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    for name in ("namespaceSelector", "objectSelector"):
        match.setdefault(name, {})
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(name) or ():
            rule.setdefault("scope", "*")


def _leave_out_empty(match: Any) -> None:
    """Who owns a match depends on the empty lists in its rules; afterwards nobody is told of those any more."""
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in (match or {}).get(name) or ():
            if rule.get("resourceNames") == []:
                del rule["resourceNames"]


def _unreadable(path: str) -> str:
    try:
        JsonPath(path)
    except JsonPathError as wrong:
        return str(wrong)
    return ""
