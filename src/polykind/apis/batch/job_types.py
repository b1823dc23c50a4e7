"""The fields of Jobs and CronJobs."""

from __future__ import annotations

from polykind.apis.batch.types import BATCH_V1
from polykind.apis.core.pod_types import POD_TEMPLATE_SPEC
from polykind.apis.core.reference_types import OBJECT_REFERENCE
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, INT32, INT64, STRING, TIME, ListOf, String
from polykind.apis.meta.types import LABEL_SELECTOR, OBJECT_META, UID

_struct = BATCH_V1.struct

_COMPLETION_MODE = String("v1.CompletionMode", ("Indexed", "NonIndexed"))
_CONCURRENCY_POLICY = String("v1.ConcurrencyPolicy", ("Allow", "Forbid", "Replace"))
_CONDITION_STATUS = String("v1.ConditionStatus")
_POD_FAILURE_POLICY_ACTION = String("v1.PodFailurePolicyAction", ("Count", "FailIndex", "FailJob", "Ignore"))
_POD_FAILURE_POLICY_ON_EXIT_CODES_OPERATOR = String("v1.PodFailurePolicyOnExitCodesOperator", ("In", "NotIn"))
_POD_REPLACEMENT_POLICY = String("v1.PodReplacementPolicy", ("Failed", "TerminatingOrFailed"))

_POD_FAILURE_POLICY_ON_EXIT_CODES_REQUIREMENT = _struct(
    "PodFailurePolicyOnExitCodesRequirement",
    "",
    Field("containerName", 1, STRING, pointer=True),
    Field("operator", 2, _POD_FAILURE_POLICY_ON_EXIT_CODES_OPERATOR, omitempty=False),
    Field("values", 3, ListOf(INT32), omitempty=False, list_type="set"),
)

_POD_FAILURE_POLICY_ON_POD_CONDITIONS_PATTERN = _struct(
    "PodFailurePolicyOnPodConditionsPattern",
    "",
    Field("type", 1, String("v1.PodConditionType"), omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "The observed state.", omitempty=False, required=False),
)

_POD_FAILURE_POLICY_RULE = _struct(
    "PodFailurePolicyRule",
    "",
    Field("action", 1, _POD_FAILURE_POLICY_ACTION, omitempty=False),
    Field("onExitCodes", 2, _POD_FAILURE_POLICY_ON_EXIT_CODES_REQUIREMENT, pointer=True),
    Field("onPodConditions", 3, ListOf(_POD_FAILURE_POLICY_ON_POD_CONDITIONS_PATTERN)),
)

_POD_FAILURE_POLICY = _struct(
    "PodFailurePolicy",
    "",
    Field("rules", 1, ListOf(_POD_FAILURE_POLICY_RULE), omitempty=False),
)

_SUCCESS_POLICY_RULE = _struct(
    "SuccessPolicyRule",
    "",
    Field("succeededIndexes", 1, STRING, pointer=True),
    Field("succeededCount", 2, INT32, pointer=True),
)

_SUCCESS_POLICY = _struct(
    "SuccessPolicy",
    "",
    Field("rules", 1, ListOf(_SUCCESS_POLICY_RULE), omitempty=False),
)

_JOB_SPEC = _struct(
    "JobSpec",
    "",
    Field("parallelism", 1, INT32, pointer=True),
    Field("completions", 2, INT32, pointer=True),
    Field("activeDeadlineSeconds", 3, INT64, pointer=True),
    Field("podFailurePolicy", 11, _POD_FAILURE_POLICY, pointer=True),
    Field("successPolicy", 16, _SUCCESS_POLICY, pointer=True),
    Field("backoffLimit", 7, INT32, pointer=True),
    Field("backoffLimitPerIndex", 12, INT32, pointer=True),
    Field("maxFailedIndexes", 13, INT32, pointer=True),
    Field("selector", 4, LABEL_SELECTOR, pointer=True),
    Field("manualSelector", 5, BOOL, pointer=True),
    Field("template", 6, POD_TEMPLATE_SPEC, omitempty=False),
    Field("ttlSecondsAfterFinished", 8, INT32, pointer=True),
    Field("completionMode", 9, _COMPLETION_MODE, pointer=True),
    Field("suspend", 10, BOOL, pointer=True),
    Field("podReplacementPolicy", 14, _POD_REPLACEMENT_POLICY, pointer=True),
    Field("managedBy", 15, STRING, pointer=True),
)

_JOB_CONDITION = _struct(
    "JobCondition",
    "",
    Field("type", 1, String("v1.JobConditionType"), omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "The observed state.", omitempty=False),
    Field("lastProbeTime", 3, TIME),
    Field("lastTransitionTime", 4, TIME),
    Field("reason", 5, STRING),
    Field("message", 6, STRING),
)

_UNCOUNTED_TERMINATED_PODS = _struct(
    "UncountedTerminatedPods",
    "",
    Field("succeeded", 1, ListOf(UID), list_type="set"),
    Field("failed", 2, ListOf(UID), list_type="set"),
)

_JOB_STATUS = _struct(
    "JobStatus",
    "",
    Field("conditions", 1, ListOf(_JOB_CONDITION), merge_key="type"),
    Field("startTime", 2, TIME, pointer=True),
    Field("completionTime", 3, TIME, pointer=True),
    Field("active", 4, INT32),
    Field("succeeded", 5, INT32),
    Field("failed", 6, INT32),
    Field("terminating", 11, INT32, pointer=True),
    Field("completedIndexes", 7, STRING),
    Field("failedIndexes", 10, STRING, pointer=True),
    Field("uncountedTerminatedPods", 8, _UNCOUNTED_TERMINATED_PODS, pointer=True),
    Field("ready", 9, INT32, pointer=True),
)

JOB_FIELDS = (
    Field("spec", 2, _JOB_SPEC, "The desired state."),
    Field("status", 3, _JOB_STATUS, "The observed state."),
)

_JOB_TEMPLATE_SPEC = _struct(
    "JobTemplateSpec",
    "",
    Field("metadata", 1, OBJECT_META),
    Field("spec", 2, _JOB_SPEC, "The desired state."),
)

_CRON_JOB_SPEC = _struct(
    "CronJobSpec",
    "",
    Field("schedule", 1, STRING, omitempty=False),
    Field("timeZone", 8, STRING, pointer=True),
    Field("startingDeadlineSeconds", 2, INT64, pointer=True),
    Field("concurrencyPolicy", 3, _CONCURRENCY_POLICY),
    Field("suspend", 4, BOOL, pointer=True),
    Field("jobTemplate", 5, _JOB_TEMPLATE_SPEC, omitempty=False),
    Field("successfulJobsHistoryLimit", 6, INT32, pointer=True),
    Field("failedJobsHistoryLimit", 7, INT32, pointer=True),
)

_CRON_JOB_STATUS = _struct(
    "CronJobStatus",
    "",
    Field("active", 1, ListOf(OBJECT_REFERENCE)),
    Field("lastScheduleTime", 4, TIME, pointer=True),
    Field("lastSuccessfulTime", 5, TIME, pointer=True),
)

CRON_JOB_FIELDS = (
    Field("spec", 2, _CRON_JOB_SPEC, "The desired state.", required=True),
    Field("status", 3, _CRON_JOB_STATUS, "The observed state."),
)
