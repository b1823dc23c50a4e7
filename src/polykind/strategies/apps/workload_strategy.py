"""The base class of the strategies of kinds that have a pod template."""

from __future__ import annotations

from polykind import names
from polykind.apis.core.pod_preparation import drop_disabled_template_fields
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_print
from polykind.resources.builtin import BuiltinStrategy

_LABEL_RECOMMENDED = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: "
)


def pod_name_warnings(name: str) -> list[str]:
    """Return a warning if a name cannot be part of the host names of pods."""
    reasons = names.dns1123_label(name)
    return [_LABEL_RECOMMENDED + go_print(reasons)] if reasons else []


class WorkloadStrategy(BuiltinStrategy):
    """The base class of the strategies of kinds that have a pod template. It validates the metadata before the spec."""

    unconditional_update = True
    counts_generation = True

    def pod_template(self, obj: JsonObject) -> JsonObject:
        """Return the pod template of an object."""
        template: JsonObject = obj["spec"]["template"]
        return template

    def prepare_create(self, obj: JsonObject) -> None:
        drop_disabled_template_fields(self.pod_template(obj))
        super().prepare_create(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        drop_disabled_template_fields(self.pod_template(new), self.pod_template(old))
        super().prepare_update(new, old)

    def complete_bookmark(self, obj: JsonObject) -> None:
        if any(subresource.name == "scale" for subresource in self.kind.subresources):
            # kube-apiserver's internal type has an integer for `replicas` instead of a pointer, so an empty object has
            # 0 replicas.
            obj["spec"]["replicas"] = 0

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + self.spec_errors(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + self.spec_errors(new, old)

    def spec_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Validate the spec of a new object or, if `old` is not None, of an updated object."""
        raise NotImplementedError


def is_spec_changed(new: JsonObject, old: JsonObject) -> bool:
    """True if an update has incremented the generation. kube-apiserver sends warnings about the spec only then."""
    return bool(new["metadata"].get("generation") != old["metadata"].get("generation"))
