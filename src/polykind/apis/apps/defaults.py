"""Defaults of the kinds of the group apps, and annotations that hold values of fields of older API versions."""

from __future__ import annotations

from polykind import errors
from polykind.apis.core.defaults import default_volume_claim
from polykind.apis.core.pod_defaults import default_pod_template
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.strconv import parse_error, parse_int64

ROLLBACK_ANNOTATION = "deprecated.deployment.rollback.to"
"""The annotation with the revision to which a controller must roll a Deployment back.

Older API versions have a field for this revision.
"""
TEMPLATE_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
"""The annotation that counts the changes of a DaemonSet's pod template. kube-apiserver sets it on every DaemonSet."""


def default_deployment(deployment: JsonObject) -> None:
    """Set the defaults of a Deployment. Raise BadRequestError if its rollback annotation is not an integer."""
    _normalize_rollback(deployment["metadata"])
    spec = deployment["spec"]
    default_pod_template(spec["template"])
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling_update = strategy.setdefault("rollingUpdate", {})
        rolling_update.setdefault("maxUnavailable", "25%")
        rolling_update.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def _normalize_rollback(metadata: JsonObject) -> None:
    annotations = metadata.get("annotations") or {}
    revision = annotations.get(ROLLBACK_ANNOTATION)
    if revision is None:
        return
    if revision == "":
        metadata["annotations"] = {name: text for name, text in annotations.items() if name != ROLLBACK_ANNOTATION}
        if not metadata["annotations"]:
            del metadata["annotations"]
        return
    number = parse_int64(revision)
    if number is None:
        reason = _parse_int_error(revision)
        raise errors.BadRequestError(
            'Deployment in version "v1" cannot be handled as a Deployment: '
            f"failed to parse annotation[{ROLLBACK_ANNOTATION}]={revision} as int64: {reason}"
        )
    annotations[ROLLBACK_ANNOTATION] = str(number)


def default_replica_set(replica_set: JsonObject) -> None:
    """Set the defaults of a ReplicaSet."""
    default_pod_template(replica_set["spec"].setdefault("template", {}))
    replica_set["spec"].setdefault("replicas", 1)


def default_daemon_set(daemon_set: JsonObject) -> None:
    """Set the defaults of a DaemonSet. Raise BadRequestError if its template generation is not an integer."""
    _normalize_template_generation(daemon_set["metadata"])
    spec = daemon_set["spec"]
    default_pod_template(spec["template"])
    strategy = spec.setdefault("updateStrategy", {})
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling_update = strategy.setdefault("rollingUpdate", {})
        rolling_update.setdefault("maxUnavailable", 1)
    for name in ("maxUnavailable", "maxSurge") if "rollingUpdate" in strategy else ():
        strategy["rollingUpdate"].setdefault(name, 0)
    spec.setdefault("revisionHistoryLimit", 10)


def _normalize_template_generation(metadata: JsonObject) -> None:
    annotations = metadata.setdefault("annotations", {})
    value = annotations.get(TEMPLATE_GENERATION_ANNOTATION, "0")
    number = parse_int64(value)
    if number is None:
        text = f'DaemonSet in version "v1" cannot be handled as a DaemonSet: {_parse_int_error(value)}'
        raise errors.BadRequestError(text)
    annotations[TEMPLATE_GENERATION_ANNOTATION] = str(number)


def _parse_int_error(text: str) -> str:
    return f"strconv.ParseInt: parsing {go_quote(text)}: {parse_error(text)}"


def default_stateful_set(stateful_set: JsonObject) -> None:
    """Set the defaults of a StatefulSet and of its claim templates."""
    spec = stateful_set["spec"]
    default_pod_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates") or ():
        _default_claim_template(claim)
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for name in ("whenDeleted", "whenScaled"):
        policy[name] = policy.get(name) or "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)


def _default_claim_template(claim: JsonObject) -> None:
    claim.update(apiVersion="v1", kind="PersistentVolumeClaim")
    default_volume_claim(claim)
