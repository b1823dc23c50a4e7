"""Columns of `kubectl get` for PriorityClasses."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.machinery.columns import AGE, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.scheduling import types
from polykind.codec.table import Column

PRIORITY_CLASS = (
    Column("Value", "integer", "The priority", value_at("value", default=0)),
    Column("Global-Default", "boolean", "True for the default class", value_at("globalDefault", default=False)),
    AGE,
    Column("PreemptionPolicy", "string", "The policy for preemption", value_at("preemptionPolicy", default="")),
)

COLUMNS: Mapping[Kind, Columns] = {
    types.PRIORITY_CLASS: PRIORITY_CLASS,
}
