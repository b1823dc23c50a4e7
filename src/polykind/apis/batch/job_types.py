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
    "The exit codes to which a rule applies.",
    Field("containerName", 1, STRING, pointer=True),
    Field("operator", 2, _POD_FAILURE_POLICY_ON_EXIT_CODES_OPERATOR, omitempty=False),
    Field("values", 3, ListOf(INT32), omitempty=False, list_type="set"),
)

_POD_FAILURE_POLICY_ON_POD_CONDITIONS_PATTERN = _struct(
    "PodFailurePolicyOnPodConditionsPattern",
    "A pod condition to which a rule applies.",
    Field("type", 1, String("v1.PodConditionType"), omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "The observed state.", omitempty=False, required=False),
)

_POD_FAILURE_POLICY_RULE = _struct(
    "PodFailurePolicyRule",
    "The treatment of certain pod failures.",
    Field("action", 1, _POD_FAILURE_POLICY_ACTION, omitempty=False),
    Field("onExitCodes", 2, _POD_FAILURE_POLICY_ON_EXIT_CODES_REQUIREMENT, pointer=True),
    Field("onPodConditions", 3, ListOf(_POD_FAILURE_POLICY_ON_POD_CONDITIONS_PATTERN)),
)

_POD_FAILURE_POLICY = _struct(
    "PodFailurePolicy",
    "The treatment of pod failures.",
    Field("rules", 1, ListOf(_POD_FAILURE_POLICY_RULE), omitempty=False),
)

_SUCCESS_POLICY_RULE = _struct(
    "SuccessPolicyRule",
    "A condition under which a job succeeds.",
    Field("succeededIndexes", 1, STRING, pointer=True),
    Field("succeededCount", 2, INT32, pointer=True),
)

_SUCCESS_POLICY = _struct(
    "SuccessPolicy",
    "The conditions under which a job succeeds before all its pods succeed.",
    Field("rules", 1, ListOf(_SUCCESS_POLICY_RULE), omitempty=False),
)

_JOB_SPEC = _struct(
    "JobSpec",
    "The desired state of a job.",
    Field("parallelism", 1, INT32, "The number of pods that run at the same time.", pointer=True),
    Field("completions", 2, INT32, "The number of pods that must succeed.", pointer=True),
    Field("activeDeadlineSeconds", 3, INT64, "The time after which a job that still runs fails.", pointer=True),
    Field("podFailurePolicy", 11, _POD_FAILURE_POLICY, "The treatment of certain failures.", pointer=True),
    Field("successPolicy", 16, _SUCCESS_POLICY, "Conditions under which the job succeeds early.", pointer=True),
    Field("backoffLimit", 7, INT32, "The number of retries before the job fails.", pointer=True),
    Field("backoffLimitPerIndex", 12, INT32, pointer=True),
    Field("maxFailedIndexes", 13, INT32, pointer=True),
    Field("selector", 4, LABEL_SELECTOR, "The labels of the pods. Set by the server.", pointer=True),
    Field("manualSelector", 5, BOOL, "True if the client chooses the labels of the pods.", pointer=True),
    Field("template", 6, POD_TEMPLATE_SPEC, "The template of the pods.", omitempty=False),
    Field("ttlSecondsAfterFinished", 8, INT32, "The time after which a finished job is deleted.", pointer=True),
    Field("completionMode", 9, _COMPLETION_MODE, "NonIndexed, or Indexed if each pod has a number.", pointer=True),
    Field("suspend", 10, BOOL, "True to run no pods.", pointer=True),
    Field("podReplacementPolicy", 14, _POD_REPLACEMENT_POLICY, pointer=True),
    Field("managedBy", 15, STRING, pointer=True),
)

_JOB_CONDITION = _struct(
    "JobCondition",
    "One aspect of the state of a job.",
    Field("type", 1, String("v1.JobConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, _CONDITION_STATUS, "True, False or Unknown.", omitempty=False),
    Field("lastProbeTime", 3, TIME, "The time of the last check."),
    Field("lastTransitionTime", 4, TIME, "The time of the last change of the status."),
    Field("reason", 5, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 6, STRING, "A readable explanation."),
)

_UNCOUNTED_TERMINATED_PODS = _struct(
    "UncountedTerminatedPods",
    "The ended pods that the status does not count yet.",
    Field("succeeded", 1, ListOf(UID), list_type="set"),
    Field("failed", 2, ListOf(UID), list_type="set"),
)

_JOB_STATUS = _struct(
    "JobStatus",
    "The observed state of a job.",
    Field("conditions", 1, ListOf(_JOB_CONDITION), "The state of the job, by aspect.", merge_key="type"),
    Field("startTime", 2, TIME, "The time at which the controller started the job.", pointer=True),
    Field("completionTime", 3, TIME, "The time at which the job succeeded.", pointer=True),
    Field("active", 4, INT32, "The number of running pods."),
    Field("succeeded", 5, INT32, "The number of succeeded pods."),
    Field("failed", 6, INT32, "The number of failed pods."),
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
    "The metadata and the spec of the jobs that a CronJob creates.",
    Field("metadata", 1, OBJECT_META),
    Field("spec", 2, _JOB_SPEC, "The desired state."),
)

_CRON_JOB_SPEC = _struct(
    "CronJobSpec",
    "The desired state of a CronJob.",
    Field("schedule", 1, STRING, "The schedule in cron's syntax.", omitempty=False),
    Field("timeZone", 8, STRING, "The time zone of the schedule.", pointer=True),
    Field(
        "startingDeadlineSeconds", 2, INT64, "The time after which a missed job is not started any more.", pointer=True
    ),
    Field(
        "concurrencyPolicy", 3, _CONCURRENCY_POLICY, "Allow, Forbid or Replace: the treatment of jobs that still run."
    ),
    Field("suspend", 4, BOOL, "True to start no jobs.", pointer=True),
    Field("jobTemplate", 5, _JOB_TEMPLATE_SPEC, "The template of the jobs.", omitempty=False),
    Field("successfulJobsHistoryLimit", 6, INT32, "The number of succeeded jobs to keep.", pointer=True),
    Field("failedJobsHistoryLimit", 7, INT32, "The number of failed jobs to keep.", pointer=True),
)

_CRON_JOB_STATUS = _struct(
    "CronJobStatus",
    "The observed state of a CronJob.",
    Field("active", 1, ListOf(OBJECT_REFERENCE)),
    Field("lastScheduleTime", 4, TIME, pointer=True),
    Field("lastSuccessfulTime", 5, TIME, pointer=True),
)

CRON_JOB_FIELDS = (
    Field("spec", 2, _CRON_JOB_SPEC, "The desired state.", required=True),
    Field("status", 3, _CRON_JOB_STATUS, "The observed state."),
)
