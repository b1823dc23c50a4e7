"""MutatingAdmissionPolicies and their bindings as resources."""

from __future__ import annotations

from polykind.admission.matcher import GROUP
from polykind.apis.admissionregistration.policies import (
    AdmissionStrategy,
    policy_type,
    set_binding_defaults,
    set_policy_defaults,
)
from polykind.apis.admissionregistration.types import MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING
from polykind.apply.typemodel import MUTATING_ADMISSION_POLICY_BINDING_MODEL, MUTATING_ADMISSION_POLICY_MODEL
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import MUTATING_POLICIES, POLICY_BINDINGS
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource


def mutating_policies(cache: WatchCache) -> tuple[BuiltinResource, BuiltinResource]:
    """The resources `mutatingadmissionpolicies` and `mutatingadmissionpolicybindings`."""
    return (
        BuiltinResource(
            cache,
            GROUP,
            policy_type(MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_MODEL, MUTATING_POLICIES),
            MutatingPolicyStrategy(),
            defaults=set_policy_defaults,
            plural="mutatingadmissionpolicies",
        ),
        BuiltinResource(
            cache,
            GROUP,
            policy_type(MUTATING_ADMISSION_POLICY_BINDING, MUTATING_ADMISSION_POLICY_BINDING_MODEL, POLICY_BINDINGS),
            MutatingBindingStrategy(),
            defaults=set_binding_defaults,
        ),
    )


class MutatingPolicyStrategy(AdmissionStrategy):
    """Validates MutatingAdmissionPolicies."""

    match_field = "matchConstraints"

    def problems(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        from polykind.admission.mutation_rules import mutating_policy_problems

        return mutating_policy_problems(new, old)


class MutatingBindingStrategy(AdmissionStrategy):
    """Validates MutatingAdmissionPolicyBindings."""

    def problems(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        from polykind.admission.mutation_rules import mutating_binding_problems

        return mutating_binding_problems(new)
