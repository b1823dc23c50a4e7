"""MutatingAdmissionPolicies and their bindings as resources."""

from __future__ import annotations

from polykind.admission.rules import GROUP
from polykind.apply.typemodel import MUTATING_ADMISSION_POLICY_BINDING_MODEL, MUTATING_ADMISSION_POLICY_MODEL
from polykind.cache.root import WatchCache
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.registry.builtin import BuiltinKind
from polykind.registry.policies import AdmissionVersion
from polykind.typed.admissionregistration import MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING
from polykind.wire.table import MUTATING_POLICIES, POLICY_BINDINGS


def mutating_policies(cache: WatchCache) -> tuple[BuiltinKind, BuiltinKind]:
    """The resources `mutatingadmissionpolicies` and `mutatingadmissionpolicybindings`."""
    return (
        BuiltinKind(cache, GROUP, MUTATING_ADMISSION_POLICY, MutatingPolicyVersion, plural="mutatingadmissionpolicies"),
        BuiltinKind(cache, GROUP, MUTATING_ADMISSION_POLICY_BINDING, MutatingBindingVersion),
    )


class MutatingPolicyVersion(AdmissionVersion):
    """What v1 asks of a policy."""

    of_policies = True
    model = MUTATING_ADMISSION_POLICY_MODEL
    table = MUTATING_POLICIES

    def problems(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        from polykind.admission.mutation_rules import mutating_policy_problems

        return mutating_policy_problems(new, old)


class MutatingBindingVersion(AdmissionVersion):
    """What v1 asks of a binding."""

    model = MUTATING_ADMISSION_POLICY_BINDING_MODEL
    table = POLICY_BINDINGS

    def problems(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        from polykind.admission.mutation_rules import mutating_binding_problems

        return mutating_binding_problems(new)
