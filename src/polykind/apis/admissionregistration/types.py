"""Kinds of admission control: webhook configurations, and admission policies with their bindings."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE, count, value_at
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.codec.table import Column
from polykind.contract import JsonObject

GROUP = "admissionregistration.k8s.io"
_STRATEGIES = "polykind.strategies.admissionregistration.strategy"
ADMISSIONREGISTRATION_V1 = GroupVersion(
    GROUP, "v1", type_table("admissionregistration", "v1"), group_priority=16700, version_priority=15
)


def _configuration(name: str) -> Kind:
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        categories=("api-extensions",),
        columns=(Column("Webhooks", "integer", "The number of webhooks", count("webhooks")), AGE),
        known_versions=("v1", "v1beta1"),
        strategy=f"{_STRATEGIES}:WebhookConfigurationStrategy",
    )


VALIDATING_WEBHOOK_CONFIGURATION = _configuration("ValidatingWebhookConfiguration")
MUTATING_WEBHOOK_CONFIGURATION = _configuration("MutatingWebhookConfiguration")


def _param_kind(obj: JsonObject) -> str:
    kind = (obj.get("spec") or {}).get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _policy(
    name: str, plural: str, items: Column, strategy: str, subresources: tuple[Subresource, ...] = (), stored: str = ""
) -> Kind:
    """Declare a kind of admission policy."""
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        plural=plural,
        categories=("api-extensions",),
        subresources=subresources,
        columns=(items, Column("ParamKind", "string", "The kind of the policy's parameter objects", _param_kind), AGE),
        known_versions=("v1", "v1beta1", "v1alpha1"),
        stored_version=stored,
        strategy=f"{_STRATEGIES}:{strategy}",
    )


VALIDATING_ADMISSION_POLICY = _policy(
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    Column("Validations", "integer", "The number of validations", count("spec.validations")),
    "ValidatingPolicyStrategy",
    (Subresource("status"),),
)


def _param_ref(obj: JsonObject) -> str:
    ref = (obj.get("spec") or {}).get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    selector = ref.get("selector")
    return "<unset>" if selector is None else _selector_text(selector)


def _selector_text(selector: JsonObject) -> str:
    """Return a label selector as Go prints the struct, because kube-apiserver shows this text in tables."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    terms = "".join(
        "LabelSelectorRequirement{"
        f"Key:{term['key']},Operator:{term['operator']},Values:[{' '.join(term.get('values') or ())}],}},"
        for term in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )


def _binding(name: str, stored_version: str = "") -> Kind:
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        categories=("api-extensions",),
        columns=(
            Column("PolicyName", "string", "The policy of the binding", value_at("spec", "policyName", default="")),
            Column("ParamRef", "string", "The parameter objects of the binding", _param_ref),
            AGE,
        ),
        known_versions=("v1", "v1beta1", "v1alpha1"),
        stored_version=stored_version,
        strategy=f"{_STRATEGIES}:PolicyBindingStrategy",
    )


VALIDATING_ADMISSION_POLICY_BINDING = _binding("ValidatingAdmissionPolicyBinding")

# kube-apiserver stores both mutating kinds at v1beta1. The hash in discovery depends on the stored version.
MUTATING_ADMISSION_POLICY = _policy(
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    Column("Mutations", "integer", "The number of mutations", count("spec.mutations")),
    "PolicyStrategy",
    stored="v1beta1",
)
MUTATING_ADMISSION_POLICY_BINDING = _binding("MutatingAdmissionPolicyBinding", stored_version="v1beta1")

KINDS = (
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
