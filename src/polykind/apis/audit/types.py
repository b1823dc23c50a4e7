"""The kind Policy: which requests the server audits, and at which level."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import BOOL, STRING, STRINGS, ListOf
from polykind.apis.meta.types import OBJECT_META, TYPE_META

LEVELS = ("None", "Metadata", "Request", "RequestResponse")
"""The audit levels, from the lowest to the highest."""
STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")

_V1 = GroupVersion("audit.k8s.io", "v1")

_GROUP_RESOURCES = _V1.struct(
    "GroupResources",
    "Resources of one API group.",
    Field("group", 0, STRING, "The API group. Empty for the core group, * for all groups."),
    Field("resources", 0, STRINGS, "Resources such as pods, pods/log, pods/*, */scale or *. Empty for all resources."),
    Field("resourceNames", 0, STRINGS, "The names of objects. Empty for all objects."),
)

_RULE = _V1.struct(
    "PolicyRule",
    "The audit level of the requests that match all fields of the rule.",
    Field("level", 0, STRING, "The audit level: None, Metadata, Request or RequestResponse.", omitempty=False),
    Field("users", 0, STRINGS, "The names of users. Empty for all users."),
    Field("userGroups", 0, STRINGS, "Groups of users. Empty for all groups."),
    Field("verbs", 0, STRINGS, "The verbs. Empty for all verbs."),
    Field("resources", 0, ListOf(_GROUP_RESOURCES), "The resources. Empty for all resources."),
    Field("namespaces", 0, STRINGS, "The namespaces. An empty name matches cluster-scoped resources."),
    Field("nonResourceURLs", 0, STRINGS, "URL paths that are not resources, such as /metrics or /healthz*."),
    Field("omitStages", 0, STRINGS, "Stages without events, in addition to those of the policy."),
    Field("omitManagedFields", 0, BOOL, "True to record objects without managedFields.", pointer=True),
)

POLICY = {
    "audit.k8s.io/v1": _V1.struct(
        "Policy",
        "Which requests the server audits, and at which level. The first rule that matches a request applies.",
        *TYPE_META,
        Field("metadata", 0, OBJECT_META, "The metadata of the policy. It has no effect."),
        Field("rules", 0, ListOf(_RULE), "The rules, in order.", omitempty=False),
        Field("omitStages", 0, STRINGS, "Stages without events."),
        Field("omitManagedFields", 0, BOOL, "True to record objects without managedFields, unless a rule differs."),
        kind=True,
    )
}
"""The kind Policy by apiVersion."""
