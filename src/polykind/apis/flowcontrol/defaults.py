"""Defaults of FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_flow_schema(flow_schema: JsonObject) -> None:
    """Set the default matching precedence of a FlowSchema, in place."""
    _set_if_zero(flow_schema["spec"], matchingPrecedence=1000)


def default_priority_level(priority_level: JsonObject) -> None:
    """Set the concurrency shares, percentages and queues of a PriorityLevelConfiguration."""
    spec = priority_level["spec"]
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if limited is not None:
        _set_if_unset(limited, nominalConcurrencyShares=30, lendablePercent=0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            _set_if_zero(queuing, queues=64, handSize=8, queueLengthLimit=50)
    if exempt is not None:
        _set_if_unset(exempt, nominalConcurrencyShares=0, lendablePercent=0)


def _set_if_unset(struct: JsonObject, **values: int) -> None:
    for field, value in values.items():
        if struct.get(field) is None:
            struct[field] = value


def _set_if_zero(struct: JsonObject, **values: int) -> None:
    for field, value in values.items():
        if not struct.get(field):
            struct[field] = value
