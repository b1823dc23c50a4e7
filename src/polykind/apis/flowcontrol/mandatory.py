"""The specs of the FlowSchemas and PriorityLevelConfigurations that every cluster has and no client can change."""

from __future__ import annotations

from polykind.contract import JsonObject

EXEMPT = "exempt"
CATCH_ALL = "catch-all"


def _group(name: str) -> JsonObject:
    return {"kind": "Group", "group": {"name": name}}


def _everything(*groups: str) -> list[JsonObject]:
    """Return the rules that match every request of the groups."""
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    return [
        {
            "subjects": [_group(name) for name in groups],
            "resourceRules": [resources],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }
    ]


MANDATORY_FLOW_SCHEMAS: dict[str, JsonObject] = {
    EXEMPT: {
        "priorityLevelConfiguration": {"name": EXEMPT},
        "matchingPrecedence": 1,
        "rules": _everything("system:masters"),
    },
    CATCH_ALL: {
        "priorityLevelConfiguration": {"name": CATCH_ALL},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": _everything("system:unauthenticated", "system:authenticated"),
    },
}

MANDATORY_PRIORITY_LEVELS: dict[str, JsonObject] = {
    EXEMPT: {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    CATCH_ALL: {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
    },
}
