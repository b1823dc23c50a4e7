"""The strategies of the kinds of the apps group: rules for creates and updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from polykind import names
from polykind.apis.apps import defaults, stateful_set_validation, status_validation, validation
from polykind.apis.apps.defaults import ROLLBACK_ANNOTATION, TEMPLATE_GENERATION_ANNOTATION
from polykind.apis.core.pod_warnings import pod_template_warnings
from polykind.apis.core.volume_warnings import claim_spec_warnings
from polykind.apply.fieldset import LEAF, Fields
from polykind.apply.ownership import MAIN_RESET, SPEC_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError, invalid
from polykind.resources.builtin import BuiltinStrategy
from polykind.strategies.apps.workload_strategy import WorkloadStrategy, is_spec_changed, pod_name_warnings

_NEGATIVE_HISTORY_LIMIT = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


def _template_warnings(new: JsonObject, old: JsonObject | None) -> list[str]:
    """Return the warnings about the pod template of a new object, or of an object whose spec an update changes."""
    if old is None:
        return pod_template_warnings(new["spec"]["template"], None, "spec.template")
    if not is_spec_changed(new, old):
        return []
    return pod_template_warnings(new["spec"]["template"], old["spec"]["template"], "spec.template")


def _with_annotation(metadata: JsonObject, old: JsonObject, name: str) -> JsonObject:
    """Return the metadata with the value that the annotation `name` has in `old`.

    In kube-apiserver, this annotation is a field of the spec, so that an update of the status cannot change it.
    """
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != name}
    stored = (old["metadata"].get("annotations") or {}).get(name)
    if stored is not None:
        annotations[name] = stored
    others = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**others, "annotations": annotations} if annotations else others


class DeploymentStrategy(WorkloadStrategy):
    """Prepares Deployments for storage and validates them."""

    reset_fields: ClassVar[Mapping[str, Fields]] = {
        "": MAIN_RESET,
        "status": {**SPEC_RESET, "f:metadata": {"f:labels": LEAF}},
    }

    def default(self, obj: JsonObject) -> None:
        defaults.default_deployment(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        annotations = [obj["metadata"].get("annotations") or {} for obj in (new, old)]
        if annotations[0] != annotations[1]:
            # A change of the annotations increments the generation, because the Deployment controller copies them to
            # its ReplicaSets.
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def spec_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = validation.validate_deployment_spec(new, old)
        return found + validation.validate_immutable_selector(new["spec"], old["spec"]) if old else found

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        metadata = {name: value for name, value in new["metadata"].items() if name != "labels"}
        if "labels" in old["metadata"]:
            metadata["labels"] = old["metadata"]["labels"]
        return {**super().prepare_status(new, old), "metadata": _with_annotation(metadata, old, ROLLBACK_ANNOTATION)}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old)
        return found + status_validation.validate_deployment_status(new["status"], old["status"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        found = pod_name_warnings(new["metadata"]["name"]) if old is None else []
        return found + _template_warnings(new, old)


class ReplicaSetStrategy(WorkloadStrategy):
    """Prepares ReplicaSets for storage and validates them."""

    def default(self, obj: JsonObject) -> None:
        defaults.default_replica_set(obj)

    def spec_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = validation.validate_replica_set_spec(new["spec"], old and old["spec"])
        return found + validation.validate_immutable_selector(new["spec"], old["spec"]) if old else found

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + status_validation.validate_replica_set_status(new["status"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        found = pod_name_warnings(new["metadata"]["name"]) if old is None else []
        return found + _template_warnings(new, old)


class StatefulSetStrategy(WorkloadStrategy):
    """Prepares StatefulSets for storage and validates them."""

    name_rule = staticmethod(names.label_name)

    def default(self, obj: JsonObject) -> None:
        defaults.default_stateful_set(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        _drop_max_unavailable(obj["spec"])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        if "maxUnavailable" not in (old["spec"]["updateStrategy"].get("rollingUpdate") or {}):
            _drop_max_unavailable(new["spec"])
        super().prepare_update(new, old)

    def spec_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        if old is None:
            return stateful_set_validation.validate_new_stateful_set(new["spec"])
        return stateful_set_validation.validate_stateful_set_update(new["spec"], old["spec"])

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = status_validation.validate_stateful_set_status(new["status"])
        found += self.meta_errors(new, old)
        return found + status_validation.validate_stateful_set_collisions(new["status"], old["status"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        found = _template_warnings(new, old)
        # In an update, kube-apiserver's warning has the path `spec.volumeClaimTemplates[0].Spec`.
        suffix = "" if old is None else ".Spec"
        for index, claim in enumerate(new["spec"].get("volumeClaimTemplates") or ()):
            found += claim_spec_warnings(claim["spec"], f"spec.volumeClaimTemplates[{index}]{suffix}")
        if new["spec"]["revisionHistoryLimit"] < 0:
            found.append(_NEGATIVE_HISTORY_LIMIT)
        return found


def _drop_max_unavailable(spec: JsonObject) -> None:
    """Remove maxUnavailable, because kube-apiserver's feature gate MaxUnavailableStatefulSet is off by default."""
    (spec["updateStrategy"].get("rollingUpdate") or {}).pop("maxUnavailable", None)


class DaemonSetStrategy(WorkloadStrategy):
    """Prepares DaemonSets for storage and validates them."""

    def default(self, obj: JsonObject) -> None:
        defaults.default_daemon_set(obj)

    def complete_bookmark(self, obj: JsonObject) -> None:
        _set_template_generation(obj, 0)

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        _set_template_generation(obj, max(1, _template_generation(obj)))

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        changed = new["spec"]["template"] != old["spec"]["template"]
        _set_template_generation(new, _template_generation(old) + (1 if changed else 0))

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        metadata = _with_annotation(new["metadata"], old, TEMPLATE_GENERATION_ANNOTATION)
        return {**super().prepare_status(new, old), "metadata": metadata}

    def spec_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        found = validation.validate_immutable_selector(new["spec"], old["spec"]) if old else []
        return found + validation.validate_daemon_set_spec(new["spec"], old and old["spec"])

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old)
        return found + status_validation.validate_daemon_set_status(new["status"], old["status"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if old is not None and _template_generation(new) == _template_generation(old):
            return []
        return _template_warnings(new, old)


def _template_generation(daemon_set: JsonObject) -> int:
    return int((daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION_ANNOTATION) or 0)


def _set_template_generation(daemon_set: JsonObject, generation: int) -> None:
    daemon_set["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION_ANNOTATION] = str(generation)


class ControllerRevisionStrategy(BuiltinStrategy):
    """Validates ControllerRevisions, whose data cannot change."""

    unconditional_update = True

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self.meta_errors(obj, None) + validation.validate_controller_revision(obj)
        return found + validation.validate_revision_data(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old)
        found += self.meta_errors(new, None)
        found += validation.validate_controller_revision(new)
        if new.get("data") != old.get("data"):
            found.append(invalid("data", new.get("data"), "field is immutable"))
        return found
