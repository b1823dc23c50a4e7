"""Kinds of the policy group: PodDisruptionBudget and Eviction."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

POLICY_V1 = GroupVersion("policy", "v1", type_table("policy", "v1"), group_priority=17100, version_priority=15)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.policy.columns import COLUMNS

    return COLUMNS[kind]


POD_DISRUPTION_BUDGET = Kind(
    POLICY_V1,
    "PodDisruptionBudget",
    strategy="polykind.strategies.policy.strategy:PodDisruptionBudgetStrategy",
    columns=_columns,
    namespaced=True,
    short_names=("pdb",),
    subresources=(Subresource("status"),),
)

EVICTION = Kind(
    POLICY_V1,
    "Eviction",
    verbs=(),
    namespaced=True,
)

KINDS = (POD_DISRUPTION_BUDGET,)
