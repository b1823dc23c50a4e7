"""The FlowSchemas and PriorityLevelConfigurations that a server creates when it starts."""

from __future__ import annotations

from collections.abc import Iterable

from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

EXEMPT = "exempt"
MANDATORY = (EXEMPT, "catch-all")
"""The names of the FlowSchemas and PriorityLevelConfigurations whose specs no client can change."""
_API_VERSION = "flowcontrol.apiserver.k8s.io/v1"
_EVERYTHING = "* * *"
_ALL_USERS = ("group=system:unauthenticated", "group=system:authenticated")

_LEVELS: tuple[tuple[str, int, tuple[int, int] | None, int], ...] = (
    ("catch-all", 5, None, 0),
    ("global-default", 20, (128, 6), 50),
    ("leader-election", 10, (16, 4), 0),
    ("node-high", 40, (64, 6), 25),
    ("system", 30, (64, 6), 33),
    ("workload-high", 40, (128, 6), 50),
    ("workload-low", 100, (128, 6), 90),
)
"""The priority levels: name, concurrency shares, queues with hand size, lendable percent.

A level without queues rejects excess requests.
"""

_SCHEMAS: tuple[tuple[str, str, int, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("exempt", "exempt", 1, "", ("group=system:masters",), (_EVERYTHING,)),
    ("probes", "exempt", 2, "", _ALL_USERS, ("get /healthz,/readyz,/livez",)),
    (
        "system-leader-election",
        "leader-election",
        100,
        "ByUser",
        ("user=system:kube-controller-manager", "user=system:kube-scheduler", "kube-system/*"),
        ("get,create,update coordination.k8s.io leases",),
    ),
    (
        "system-node-high",
        "node-high",
        400,
        "ByUser",
        ("group=system:nodes",),
        ("* core nodes,nodes/status cluster", "* coordination.k8s.io leases"),
    ),
    ("system-nodes", "system", 500, "ByUser", ("group=system:nodes",), (_EVERYTHING,)),
    (
        "kube-controller-manager",
        "workload-high",
        800,
        "ByNamespace",
        ("user=system:kube-controller-manager",),
        (_EVERYTHING,),
    ),
    ("kube-scheduler", "workload-high", 800, "ByNamespace", ("user=system:kube-scheduler",), (_EVERYTHING,)),
    ("kube-system-service-accounts", "workload-high", 900, "ByNamespace", ("kube-system/*",), (_EVERYTHING,)),
    ("service-accounts", "workload-low", 9000, "ByUser", ("group=system:serviceaccounts",), (_EVERYTHING,)),
    ("global-default", "global-default", 9900, "ByUser", _ALL_USERS, (_EVERYTHING,)),
    ("catch-all", "catch-all", 10000, "ByUser", _ALL_USERS, (_EVERYTHING,)),
)
"""The FlowSchemas: name, priority level, precedence, distinguisher method, subjects, rules.

A rule has verbs, API groups and resources, or verbs and paths.
"""


def priority_levels() -> list[JsonObject]:
    levels = [_level("exempt", {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}})]
    for name, shares, queues, lendable in _LEVELS:
        response: JsonObject = {"type": "Reject"}
        if queues is not None:
            queuing = {"queues": queues[0], "handSize": queues[1], "queueLengthLimit": 50}
            response = {"type": "Queue", "queuing": queuing}
        limited = {"nominalConcurrencyShares": shares, "limitResponse": response, "lendablePercent": lendable}
        levels.append(_level(name, {"type": "Limited", "limited": limited}))
    return levels


def _level(name: str, spec: JsonObject) -> JsonObject:
    return {**_object("PriorityLevelConfiguration", name), "spec": spec, "status": {}}


def flow_schemas(now: str) -> list[JsonObject]:
    """Return the FlowSchemas that a server creates when it starts.

    Their status says that their priority levels exist.
    """
    schemas = []
    for name, level, precedence, method, subjects, rules in _SCHEMAS:
        spec: JsonObject = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": precedence}
        if method:
            spec["distinguisherMethod"] = {"type": method}
        spec["rules"] = [{"subjects": [_subject(subject) for subject in subjects], **_policy_rules(rules)}]
        status = {"conditions": [dangling_condition(level, now, exists=True)]}
        schemas.append({**_object("FlowSchema", name), "spec": spec, "status": status})
    return schemas


def mandatory_specs(objects: Iterable[JsonObject]) -> dict[str, JsonObject]:
    """Return the specs of the mandatory objects among `objects`, by name."""
    return {obj["metadata"]["name"]: obj["spec"] for obj in objects if obj["metadata"]["name"] in MANDATORY}


def dangling_condition(level: str, now: str, *, exists: bool) -> JsonObject:
    """Return the condition Dangling of a FlowSchema, which says whether the priority level of the FlowSchema exists."""
    reference = f"This FlowSchema references the PriorityLevelConfiguration object named {go_quote(level)}"
    return {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "lastTransitionTime": now,
        "reason": "Found" if exists else "NotFound",
        "message": f"{reference} {'and it exists' if exists else 'but there is no such object'}",
    }


def _object(kind: str, name: str) -> JsonObject:
    annotations = {"apf.kubernetes.io/autoupdate-spec": "true"}
    meta = {"name": name, "generation": 1, "annotations": annotations}
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": meta}


def _subject(text: str) -> JsonObject:
    kind, _, name = text.partition("=")
    if name:
        return {"kind": kind.capitalize(), kind: {"name": name}}
    namespace, _, name = text.partition("/")
    return {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}}


def _policy_rules(texts: tuple[str, ...]) -> JsonObject:
    """Return the resource rules and the non-resource rules of a FlowSchema.

    `* * *` matches all resources and all paths.
    """
    resources: list[JsonObject] = []
    paths: list[JsonObject] = []
    for text in texts:
        verbs, scope, *names = text.split()
        if not names:
            paths.append({"verbs": verbs.split(","), "nonResourceURLs": scope.split(",")})
            continue
        groups = ["" if group == "core" else group for group in scope.split(",")]
        rule: JsonObject = {"verbs": verbs.split(","), "apiGroups": groups, "resources": names[0].split(",")}
        if text == _EVERYTHING:
            paths.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
        if text == _EVERYTHING or names[1:] == ["cluster"]:
            rule["clusterScope"] = True
        resources.append({**rule, "namespaces": ["*"]})
    fields = {"resourceRules": resources, "nonResourceRules": paths}
    return {name: rules for name, rules in fields.items() if rules}
