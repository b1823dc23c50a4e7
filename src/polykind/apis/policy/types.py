"""Kinds of the policy group: PodDisruptionBudget and Eviction."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion

POLICY_V1 = GroupVersion("policy", "v1", "io.k8s.api.policy.v1", group_priority=17100, version_priority=15)

POD_DISRUPTION_BUDGET = Kind(
    POLICY_V1,
    "PodDisruptionBudget",
    "Limits the number of pods that voluntary disruptions take down at once.",
    fields_in="polykind.apis.policy.disruption_types:POD_DISRUPTION_BUDGET_FIELDS",
    strategy="polykind.strategies.policy.strategy:PodDisruptionBudgetStrategy",
    columns="polykind.apis.policy.columns:POD_DISRUPTION_BUDGET",
    namespaced=True,
    short_names=("pdb",),
    subresources=(Subresource("status"),),
)

EVICTION = Kind(
    POLICY_V1,
    "Eviction",
    "A request to delete a pod, subject to disruption budgets.",
    fields_in="polykind.apis.policy.disruption_types:EVICTION_FIELDS",
    verbs=(),
    namespaced=True,
)

KINDS = (POD_DISRUPTION_BUDGET,)
