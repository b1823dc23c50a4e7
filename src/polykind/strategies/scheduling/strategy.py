"""The strategy of PriorityClasses: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.scheduling import validation
from polykind.apis.scheduling.defaults import default_priority_class
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy


class PriorityClassResource(BuiltinResource):
    """The resource `priorityclasses`."""

    protected_names = frozenset(validation.SYSTEM_PRIORITY_CLASSES)
    collection_ignores_protection = True
    protection_reason = "this is a system priority class and cannot be deleted"


class PriorityClassStrategy(BuiltinStrategy):
    """Prepares PriorityClasses for storage and validates them."""

    resource_class = PriorityClassResource
    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        default_priority_class(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_priority_class(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_priority_class_update(new, old)
