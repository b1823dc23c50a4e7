"""Validation of the spec of Jobs and of the Job templates of CronJobs."""

from __future__ import annotations

import re
from typing import Any

from polykind import errors, names
from polykind.apis.batch.job_policies import (
    validate_pod_failure_policy,
    validate_pod_replacement_policy,
    validate_success_policy,
)
from polykind.apis.batch.types import BATCH_V1
from polykind.apis.core.internal_pod_types import show_pod_spec, show_pod_template
from polykind.apis.core.pod_options import template_options
from polykind.apis.core.pod_validation import validate_pod_template_spec
from polykind.apis.machinery.internal_types import show_internal, show_label_selector
from polykind.apis.meta.field_validation import IMMUTABLE, validate_immutable, validate_nonnegative_fields
from polykind.contract import JsonObject, copy_json
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length
from polykind.selectors.selector_objects import matches_labels, validate_label_selector

JOB_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
CONTROLLER_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_COMPLETION_MODES = ("NonIndexed", "Indexed")
_MAX_PARALLELISM = _MAX_FAILED_INDEXES = 100_000
_HIGH_COMPLETIONS = 100_000
_LIMIT_FOR_HIGH_COMPLETIONS = 10_000
_MAX_MANAGED_BY = 63
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_path = re.compile(_PATH).fullmatch
_NO_LABELS_MATCH = "`selector` does not match template `labels`"


def is_indexed(spec: JsonObject) -> bool:
    """True if the pods of a Job have completion indexes."""
    return spec.get("completionMode") == "Indexed"


def validate_job(job: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate a Job without its metadata. `old` is the stored Job of an update, None for a create."""
    spec = job["spec"]
    found = _validate_generated_selector(job, old) + validate_selected_job_spec(spec, old and old["spec"])
    completions = spec.get("completions")
    if is_indexed(spec) and completions is not None and completions > 0:
        # The host name of each pod ends with the pod's index, so the name with the highest index must be a valid label.
        name = job["metadata"].get("name", "")
        if names.dns1123_label(f"{name}-{completions - 1}"):
            text = f"will not able to create pod with invalid DNS label: {name}-{completions - 1}"
            found.append(errors.invalid("metadata.name", name, text))
    return found


def _validate_generated_selector(job: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the pod labels and the selector that the server generates. Skip them if manualSelector is true."""
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return []
    found = [] if metadata.get("uid") else [errors.required("metadata.uid")]
    labels = spec["template"]["metadata"].get("labels") or {}
    expected = {}
    for index in range(1 if old is not None and not _has_prefixed_labels(old) else 2):
        generated = {
            CONTROLLER_UID_LABELS[index]: metadata.get("uid", ""),
            JOB_NAME_LABELS[index]: metadata.get("name", ""),
        }
        expected.update(generated)
        for key, value in generated.items():
            at = f"spec.template.metadata.labels[{key}]"
            if key not in labels:
                found.append(errors.required(at, f"must be '{value}'"))
            elif labels[key] != value:
                found.append(errors.invalid(at, labels, f"must be '{value}'"))
    if matches_labels(spec["selector"], expected) is False:
        text = "`selector` not auto-generated"
        found.append(errors.invalid("spec.selector", show_label_selector(spec["selector"]), text))
    return found


def _has_prefixed_labels(job: JsonObject) -> bool:
    labels = job["spec"]["template"]["metadata"].get("labels") or {}
    return JOB_NAME_LABELS[1] in labels and CONTROLLER_UID_LABELS[1] in labels


def validate_selected_job_spec(spec: JsonObject, old_spec: JsonObject | None) -> list[FieldError]:
    """Validate the spec of a Job and that its selector selects the pods of its template."""
    found = validate_job_spec(spec, old_spec, "spec")
    selector, labels = spec.get("selector"), spec["template"]["metadata"].get("labels")
    if selector is None:
        found.append(errors.required("spec.selector"))
    else:
        lenient = old_spec is not None and bool(validate_label_selector(old_spec.get("selector"), ""))
        found += validate_label_selector(selector, "spec.selector", lenient=lenient)
    if matches_labels(selector, labels) is False:
        found.append(errors.invalid("spec.template.metadata.labels", labels, _NO_LABELS_MATCH))
    return found


def validate_job_spec(spec: JsonObject, old_spec: JsonObject | None, at: str) -> list[FieldError]:
    """Validate the fields of a Job's spec, apart from the selector."""
    found = validate_nonnegative_fields(spec, _COUNTS, at)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        found.append(errors.required(f"{at}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if "managedBy" in spec:
        found += _validate_managed_by(spec["managedBy"], f"{at}.managedBy")
    found += _validate_completion_mode(spec, at)
    if "podFailurePolicy" in spec:
        found += validate_pod_failure_policy(spec, at)
    if "successPolicy" in spec:
        if is_indexed(spec):
            found += validate_success_policy(spec, at)
        else:
            shown = show_internal(BATCH_V1.struct("SuccessPolicy"), spec["successPolicy"])
            found.append(errors.invalid(f"{at}.successPolicy", shown, "requires indexed completion mode"))
    found += validate_pod_replacement_policy(spec, at)
    found += validate_pod_template_spec(
        spec["template"], f"{at}.template", template_options(old_spec and old_spec["template"])
    )
    return found + _validate_restart_policy(spec, f"{at}.template.spec.restartPolicy")


def _validate_managed_by(name: str, at: str) -> list[FieldError]:
    found = _domain_prefixed_path_errors(name, at)
    return [*found, errors.too_long(at, _MAX_MANAGED_BY)] if byte_length(name) > _MAX_MANAGED_BY else found


def _domain_prefixed_path_errors(text: str, at: str) -> list[FieldError]:
    if not text:
        return [errors.required(at)]
    host, _, path = text.partition("/")
    if not host or not path:
        return [errors.invalid(at, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [errors.invalid(at, host, reason) for reason in names.dns1123_subdomain(host)]
    return found if _is_path(path) else [*found, errors.invalid(at, path, names.regex_error("Invalid path", _PATH))]


def _validate_completion_mode(spec: JsonObject, at: str) -> list[FieldError]:
    mode = spec.get("completionMode")
    found = []
    if mode is not None and mode not in _COMPLETION_MODES:
        found.append(errors.not_supported(f"{at}.completionMode", mode, _COMPLETION_MODES))
    if is_indexed(spec):
        return found + _validate_indexed(spec, at)
    if mode is None or mode == "NonIndexed":
        found += [
            errors.invalid(f"{at}.{name}", spec[name], "requires indexed completion mode")
            for name in ("backoffLimitPerIndex", "maxFailedIndexes")
            if name in spec
        ]
    return found


def _validate_indexed(spec: JsonObject, at: str) -> list[FieldError]:
    """Validate that an Indexed Job is small enough for the lists of indexes in its status."""
    completions, parallelism = spec.get("completions"), spec.get("parallelism", 0)
    max_failed = spec.get("maxFailedIndexes")
    found = []
    if completions is None:
        found.append(errors.required(f"{at}.completions", "when completion mode is Indexed"))
    if parallelism > _MAX_PARALLELISM:
        text = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
        found.append(errors.invalid(f"{at}.parallelism", parallelism, text))
    if max_failed is not None:
        if completions is not None and max_failed > completions:
            text = "must be less than or equal to completions"
            found.append(errors.invalid(f"{at}.maxFailedIndexes", max_failed, text))
        if max_failed > _MAX_FAILED_INDEXES:
            text = f"must be less than or equal to {_MAX_FAILED_INDEXES}"
            found.append(errors.invalid(f"{at}.maxFailedIndexes", max_failed, text))
    if completions is None or completions <= _HIGH_COMPLETIONS or "backoffLimitPerIndex" not in spec:
        return found
    if max_failed is None:
        text = f"must be specified when completions is above {_HIGH_COMPLETIONS}"
        found.append(errors.required(f"{at}.maxFailedIndexes", text))
    text = (
        f"must be less than or equal to {_LIMIT_FOR_HIGH_COMPLETIONS} when completions are above "
        f"{_HIGH_COMPLETIONS} and used with backoff limit per index"
    )
    return found + [
        errors.invalid(f"{at}.{name}", spec[name], text)
        for name in ("parallelism", "maxFailedIndexes")
        if spec.get(name, 0) > _LIMIT_FOR_HIGH_COMPLETIONS
    ]


def _validate_restart_policy(spec: JsonObject, at: str) -> list[FieldError]:
    policy = spec["template"]["spec"].get("restartPolicy") or ""
    if policy in ("", "Always"):
        return [errors.required(at, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [errors.not_supported(at, policy, ("OnFailure", "Never"))]
    if "podFailurePolicy" in spec and policy != "Never":
        return [errors.invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def validate_job_update(job: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate an update of a Job's spec. Most of its fields are immutable."""
    spec, old_spec = job["spec"], old["spec"]
    found = validate_selected_job_spec(spec, old_spec) + _validate_completions(spec, old_spec)
    if spec.get("selector") != old_spec.get("selector"):
        found.append(errors.invalid("spec.selector", show_label_selector(spec.get("selector")), IMMUTABLE))
    found += _validate_template_update(spec, old)
    shown: tuple[tuple[str, Any], ...] = (
        ("completionMode", spec.get("completionMode")),
        ("podFailurePolicy", show_internal(BATCH_V1.struct("PodFailurePolicy"), spec.get("podFailurePolicy"))),
        ("backoffLimitPerIndex", spec.get("backoffLimitPerIndex")),
        ("managedBy", spec.get("managedBy")),
        ("successPolicy", show_internal(BATCH_V1.struct("SuccessPolicy"), spec.get("successPolicy"))),
    )
    changed = [(name, value) for name, value in shown if spec.get(name) != old_spec.get(name)]
    return found + [errors.invalid(f"spec.{name}", value, IMMUTABLE) for name, value in changed]


def _validate_completions(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    completions, before = spec.get("completions"), old_spec.get("completions")
    if not is_indexed(spec):
        return validate_immutable(completions, before, "spec.completions")
    if completions in (None, before) or completions == spec.get("parallelism"):
        return []
    text = "can only be modified in tandem with spec.parallelism"
    return [errors.invalid("spec.completions", completions, text)]


def _validate_template_update(spec: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate an update of the pod template. Only a suspended Job without active pods can change parts of it."""
    template, old_template = spec["template"], old["spec"]["template"]
    if _is_template_mutable(old):
        old_template = _with_scheduling_of(template, old_template)
        return _validate_resource_updates(template["spec"], old_template["spec"])
    return [errors.invalid("spec.template", show_pod_template(template), IMMUTABLE)] if template != old_template else []


def _is_template_mutable(job: JsonObject) -> bool:
    """True if the Job is suspended, has no active pods, and either never started or has the condition Suspended."""
    status = job.get("status") or {}
    conditions = status.get("conditions") or ()
    is_marked = any(c.get("type") == "Suspended" and c.get("status") == "True" for c in conditions)
    may_change = "startTime" not in status or is_marked
    return bool(job["spec"].get("suspend")) and may_change and not status.get("active")


def _with_scheduling_of(template: JsonObject, old_template: JsonObject) -> JsonObject:
    """Return the old template with the labels, annotations and scheduling fields of the new one."""
    changed: JsonObject = copy_json(old_template)
    for owner, source, names_ in (
        (changed["metadata"], template["metadata"], ("labels", "annotations")),
        (changed["spec"], template["spec"], ("nodeSelector", "tolerations", "schedulingGates")),
    ):
        for name in names_:
            owner.pop(name, None)
            if name in source:
                owner[name] = source[name]
    _take_node_affinity(changed["spec"], template["spec"])
    return changed


def _take_node_affinity(pod_spec: JsonObject, source: JsonObject) -> None:
    affinity, wanted = pod_spec.get("affinity"), source.get("affinity")
    if affinity is None and wanted is None:
        return
    affinity = {name: value for name, value in (affinity or {}).items() if name != "nodeAffinity"}
    if wanted is not None and "nodeAffinity" in wanted:
        affinity["nodeAffinity"] = wanted["nodeAffinity"]
    if affinity or wanted is not None:
        pod_spec["affinity"] = affinity
    else:
        del pod_spec["affinity"]


def _validate_resource_updates(pod_spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate that two pod specs differ only in the resources of their containers."""
    allowed = copy_json(old_spec)
    for field in ("containers", "initContainers"):
        new, old = pod_spec.get(field) or (), allowed.get(field) or ()
        if len(new) != len(old):
            continue
        for container, before in zip(new, old, strict=True):
            if container.get("name") == before.get("name"):
                before["resources"] = container.get("resources", {})
                if "resources" not in container:
                    del before["resources"]
    return [] if pod_spec == allowed else [errors.invalid("spec.template.spec", show_pod_spec(pod_spec), IMMUTABLE)]


def validate_job_template(template: JsonObject, old: JsonObject | None, at: str) -> list[FieldError]:
    """Validate the template for the Jobs of a CronJob. The server always generates the selector of these Jobs."""
    spec, at = template["spec"], f"{at}.spec"
    found = validate_job_spec(spec, old and old["spec"], at)
    if "selector" in spec:
        text = "`selector` will be auto-generated"
        found.append(errors.invalid(f"{at}.selector", show_label_selector(spec["selector"]), text))
    if spec.get("manualSelector"):
        found.append(errors.not_supported(f"{at}.manualSelector", True, ("nil", "false")))
    return found
