"""The strategy of Events of core/v1: rules for creates and updates."""

from __future__ import annotations

from polykind import names
from polykind.apis.core.event_validation import validate_event
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy
from polykind.schema import metadata_validation


class EventStrategy(BuiltinStrategy):
    """Validates Events of core/v1. Few rules apply to their metadata, because old clients still write such Events."""

    unconditional_update = True
    creates_on_update = True
    default_propagation_policy = None

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return validate_event(obj, "reportingComponent") or metadata_validation.validate_object_meta(
            obj["metadata"], namespaced=True, name_rule=names.path_segment
        )

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return validate_event(new, "reportingComponent")
