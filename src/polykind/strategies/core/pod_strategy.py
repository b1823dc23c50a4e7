"""The resource `pods`, and the rules for writes to pods and to their subresources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from polykind.addresses import ip_warnings
from polykind.apis.core import pod_preparation
from polykind.apis.core.pod_defaults import default_pod
from polykind.apis.core.pod_options import pod_options
from polykind.apis.core.pod_resize_validation import validate_pod_resize
from polykind.apis.core.pod_resources import equal_specs
from polykind.apis.core.pod_status_validation import validate_pod_status_update
from polykind.apis.core.pod_update_validation import validate_ephemeral_containers_update, validate_pod_update
from polykind.apis.core.pod_validation import validate_new_pod
from polykind.apis.core.pod_warnings import pod_warnings
from polykind.apply.fieldset import LEAF, Fields
from polykind.apply.ownership import MAIN_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.names import dns1123_label
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, only_status_changed
from polykind.resources.resource import Finish

if TYPE_CHECKING:
    from polykind.operations.operation import Operation

_HOSTNAME_WARNING = (
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; "
    "a DNS label is recommended: [{}]"
)
_FINISHED_PHASES = ("Failed", "Succeeded")


class PodResource(BuiltinResource):
    """The resource `pods`."""

    has_effects = True

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        for text in pod_preparation.copy_app_armor_annotations(obj):
            op.notes.warn(text)
        return None


class PodStrategy(BuiltinStrategy):
    """Sets the defaults of pods, prepares them for storage and validates them."""

    resource_class = PodResource
    unconditional_update = True
    returns_deleted_object = True
    deletes_gracefully = True
    reset_fields: ClassVar[Mapping[str, Fields]] = {
        "": MAIN_RESET,
        "status": {"f:metadata": {"f:deletionTimestamp": LEAF, "f:ownerReferences": LEAF}, "f:spec": LEAF},
    }

    def default(self, obj: JsonObject) -> None:
        default_pod(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = pod_preparation.initial_status(obj)
        pod_preparation.drop_disabled_fields(obj["spec"], None)
        pod_preparation.select_by_own_labels(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_new_pod(obj, pod_options(None))

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status", {})
        pod_preparation.drop_disabled_fields(new["spec"], old["spec"])
        _count_generation(new, old)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._all_meta_errors(new, old) + validate_pod_update(new, old, pod_options(old["spec"]))

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        prepared = {**new, "spec": old["spec"], "metadata": dict(new["metadata"])}
        status = prepared["status"] = dict(new.get("status") or {})
        old_status = old.get("status") or {}
        for field in ("deletionTimestamp", "ownerReferences"):
            prepared["metadata"].pop(field, None)
            if field in old["metadata"]:
                prepared["metadata"][field] = old["metadata"][field]
        if not status.get("qosClass") and old_status.get("qosClass"):
            status["qosClass"] = old_status["qosClass"]
        pod_preparation.keep_observed_generations(status, old_status)
        pod_preparation.drop_disabled_status_fields(status, old_status)
        return prepared

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_pod_status_update(new, old)

    def prepare_subresource(self, subresource: str, new: JsonObject, old: JsonObject) -> JsonObject:
        if subresource == "status":
            return self.prepare_status(new, old)
        if subresource == "resize":
            spec = pod_preparation.only_resources_changed(new["spec"], old["spec"])
            if spec is new["spec"]:
                return new
        else:
            spec = {name: value for name, value in old["spec"].items() if name != "ephemeralContainers"}
            if "ephemeralContainers" in new["spec"]:
                spec["ephemeralContainers"] = new["spec"]["ephemeralContainers"]
        prepared = {**only_status_changed(new, old), "spec": spec, "status": old.get("status", {})}
        pod_preparation.drop_disabled_fields(spec, old["spec"])
        _count_generation(prepared, old)
        return prepared

    def subresource_errors(self, subresource: str, new: JsonObject, old: JsonObject) -> list[FieldError]:
        if subresource == "status":
            return self.status_errors(new, old)
        validate = validate_pod_resize if subresource == "resize" else validate_ephemeral_containers_update
        return self._all_meta_errors(new, old) + validate(new, old, pod_options(old["spec"]))

    def grace_period(self, obj: JsonObject, requested: int | None) -> int | None:
        spec = obj.get("spec") or {}
        period = spec.get("terminationGracePeriodSeconds", 0) if requested is None else requested
        if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in _FINISHED_PHASES:
            period = 0
        return 1 if period < 0 else period

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if old is not None:
            return []
        reasons = dns1123_label(new["metadata"].get("name") or "")
        found = [_HOSTNAME_WARNING.format(" ".join(reasons))] if reasons else []
        return found + pod_warnings(new)

    def subresource_warnings(self, subresource: str, new: JsonObject, old: JsonObject) -> list[str]:
        status = new.get("status") or {} if subresource == "status" else {}
        return [
            text
            for field in ("podIPs", "hostIPs")
            for index, item in enumerate(status.get(field) or ())
            for text in ip_warnings(item.get("ip") or "", f"status.{field}[{index}].ip")
        ]

    def _all_meta_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Validate the metadata as on an update and then as on a create, because kube-apiserver does both for pods."""
        return self.meta_errors(new, old) + self.meta_errors(new, None)


def _count_generation(new: JsonObject, old: JsonObject) -> None:
    if not equal_specs(new["spec"], old["spec"]):
        new["metadata"]["generation"] = (new["metadata"].get("generation") or 0) + 1
