"""The resources `podtemplates` and `replicationcontrollers`."""

from __future__ import annotations

from polykind import names
from polykind.apis.core.pod_defaults import default_pod_template
from polykind.apis.core.pod_options import template_options
from polykind.apis.core.pod_preparation import drop_disabled_template_fields
from polykind.apis.core.pod_resources import equal_specs
from polykind.apis.core.pod_validation import validate_pod_template_spec
from polykind.apis.core.pod_warnings import pod_template_warnings
from polykind.apis.core.replication_validation import (
    validate_non_convertible_fields,
    validate_replication_controller_spec,
    validate_replication_controller_status,
)
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.names import dns1123_label
from polykind.resources.builtin import BuiltinStrategy

_POD_NAMES_WARNING = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: [{}]"
)


class PodTemplateStrategy(BuiltinStrategy):
    """Sets the defaults of PodTemplates, prepares them for storage and validates them."""

    unconditional_update = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1
        drop_disabled_template_fields(obj["template"])

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_pod_template_spec(obj["template"], "template")

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        drop_disabled_template_fields(new["template"], old["template"])
        if not equal_specs(new["template"], old["template"]):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        options = template_options(old["template"])
        return self.meta_errors(new, old) + validate_pod_template_spec(new["template"], "template", options)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if old is not None and new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return pod_template_warnings(new["template"], None, "template")


class ReplicationControllerStrategy(BuiltinStrategy):
    """Sets the defaults of ReplicationControllers, prepares them for storage and validates them."""

    name_rule = staticmethod(names.long_name)
    unconditional_update = True
    counts_generation = True
    default_propagation_policy = "Orphan"

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        template = spec.get("template")
        if labels := ((template or {}).get("metadata") or {}).get("labels"):
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        if template is not None:
            default_pod_template(template)

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        drop_disabled_template_fields(obj["spec"].get("template"))

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_replication_controller_spec(obj["spec"])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        drop_disabled_template_fields(new["spec"].get("template"), old["spec"].get("template"))
        super().prepare_update(new, old)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + validate_replication_controller_spec(new["spec"], old["spec"])
        return found + validate_non_convertible_fields(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_replication_controller_status(new.get("status") or {})

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if old is None:
            reasons = dns1123_label(new["metadata"].get("name") or "")
            found = [_POD_NAMES_WARNING.format(" ".join(reasons))] if reasons else []
            return found + pod_template_warnings(new["spec"].get("template"), None, "spec.template")
        if new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        # kube-apiserver warns about the stored template, not about the new one.
        return pod_template_warnings(old["spec"].get("template"), None, "spec.template")
