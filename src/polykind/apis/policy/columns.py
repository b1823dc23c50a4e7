"""Columns of `kubectl get` for the kinds of the policy group."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from polykind.apis.machinery.columns import AGE, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.policy import types
from polykind.codec.table import Column
from polykind.contract import JsonObject


def _limit(name: str) -> Callable[[JsonObject], str]:
    return lambda obj: str(obj["spec"].get(name, "N/A"))


POD_DISRUPTION_BUDGET = (
    Column("Min Available", "string", "The least number of available pods", _limit("minAvailable")),
    Column("Max Unavailable", "string", "The greatest number of unavailable pods", _limit("maxUnavailable")),
    Column(
        "Allowed Disruptions",
        "integer",
        "The number of pods that may be disrupted now",
        value_at("status", "disruptionsAllowed", default=0),
    ),
    AGE,
)

COLUMNS: Mapping[Kind, Columns] = {
    types.POD_DISRUPTION_BUDGET: POD_DISRUPTION_BUDGET,
}
