"""The strategy of RuntimeClasses: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.core.node_labels import label_map_warnings
from polykind.apis.meta.field_validation import validate_immutable
from polykind.apis.node.validation import validate_runtime_class
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class RuntimeClassStrategy(BuiltinStrategy):
    """Validates RuntimeClasses."""

    creates_on_update = True
    checks_finalizer_names = False

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_runtime_class(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.create_errors(new) + self.meta_errors(new, old)
        return found + validate_immutable(new.get("handler", ""), old.get("handler", ""), "handler")

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        scheduling = new.get("scheduling") or {}
        return label_map_warnings(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
