"""The fields of FlowSchemas."""

from __future__ import annotations

from polykind.apis.flowcontrol.types import FLOWCONTROL_V1
from polykind.apis.machinery.structs import Field, Union
from polykind.apis.machinery.value_types import BOOL, INT32, STRING, STRINGS, TIME, ListOf, String

_struct = FLOWCONTROL_V1.struct


_PRIORITY_LEVEL_CONFIGURATION_REFERENCE = _struct(
    "PriorityLevelConfigurationReference",
    "A reference to a priority level.",
    Field("name", 1, STRING, omitempty=False),
)

_FLOW_DISTINGUISHER_METHOD = _struct(
    "FlowDistinguisherMethod",
    "The way in which the requests of a schema are divided into flows.",
    Field("type", 1, String("v1.FlowDistinguisherMethodType"), omitempty=False),
)

_USER_SUBJECT = _struct(
    "UserSubject",
    "A user, or * for all.",
    Field("name", 1, STRING, omitempty=False),
)

_GROUP_SUBJECT = _struct(
    "GroupSubject",
    "A group of users, or * for all.",
    Field("name", 1, STRING, omitempty=False),
)

_SERVICE_ACCOUNT_SUBJECT = _struct(
    "ServiceAccountSubject",
    "A service account, or * for all of a namespace.",
    Field("namespace", 1, STRING, omitempty=False),
    Field("name", 2, STRING, omitempty=False),
)

_SUBJECT = _struct(
    "Subject",
    "A user, a group or a service account.",
    Field("kind", 1, String("v1.SubjectKind"), omitempty=False),
    Field("user", 2, _USER_SUBJECT, pointer=True),
    Field("group", 3, _GROUP_SUBJECT, pointer=True),
    Field("serviceAccount", 4, _SERVICE_ACCOUNT_SUBJECT, pointer=True),
    unions=(Union(("group", "serviceAccount", "user"), "kind"),),
)

_RESOURCE_POLICY_RULE = _struct(
    "ResourcePolicyRule",
    "Requests for resources.",
    Field("verbs", 1, STRINGS, omitempty=False, list_type="set"),
    Field("apiGroups", 2, STRINGS, omitempty=False, list_type="set"),
    Field("resources", 3, STRINGS, omitempty=False, list_type="set"),
    Field("clusterScope", 4, BOOL),
    Field("namespaces", 5, STRINGS, omitempty=False, required=False, list_type="set"),
)

_NON_RESOURCE_POLICY_RULE = _struct(
    "NonResourcePolicyRule",
    "Requests for other URL paths.",
    Field("verbs", 1, STRINGS, omitempty=False, list_type="set"),
    Field("nonResourceURLs", 6, STRINGS, omitempty=False, list_type="set"),
)

_POLICY_RULES_WITH_SUBJECTS = _struct(
    "PolicyRulesWithSubjects",
    "Subjects and their requests.",
    Field("subjects", 1, ListOf(_SUBJECT), omitempty=False),
    Field("resourceRules", 2, ListOf(_RESOURCE_POLICY_RULE)),
    Field("nonResourceRules", 3, ListOf(_NON_RESOURCE_POLICY_RULE)),
)

_FLOW_SCHEMA_SPEC = _struct(
    "FlowSchemaSpec",
    "The desired state of a FlowSchema.",
    Field("priorityLevelConfiguration", 1, _PRIORITY_LEVEL_CONFIGURATION_REFERENCE, omitempty=False),
    Field("matchingPrecedence", 2, INT32, omitempty=False, required=False),
    Field("distinguisherMethod", 3, _FLOW_DISTINGUISHER_METHOD, pointer=True),
    Field("rules", 4, ListOf(_POLICY_RULES_WITH_SUBJECTS)),
)

_FLOW_SCHEMA_CONDITION = _struct(
    "FlowSchemaCondition",
    "One aspect of the state of a FlowSchema.",
    Field("type", 1, String("v1.FlowSchemaConditionType"), "The aspect of the state, in CamelCase."),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown."),
    Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
    Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 5, STRING, "A readable explanation."),
)

_FLOW_SCHEMA_STATUS = _struct(
    "FlowSchemaStatus",
    "The observed state of a FlowSchema.",
    Field("conditions", 1, ListOf(_FLOW_SCHEMA_CONDITION), keys=("type",), merge_key="type"),
)

FLOW_SCHEMA_FIELDS = (
    Field("spec", 2, _FLOW_SCHEMA_SPEC, "The desired state."),
    Field("status", 3, _FLOW_SCHEMA_STATUS, "The observed state."),
)
