"""The strategy of Events of events.k8s.io/v1, which the server converts to core/v1 before validation."""

from __future__ import annotations

from polykind.apis.core.event_validation import (
    validate_event,
    validate_strict_event,
    validate_strict_event_update,
)
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy

_COMPONENT = "reportingController"


class EventStrategy(BuiltinStrategy):
    """Validates Events of events.k8s.io/v1. These have more rules than Events of core/v1."""

    unconditional_update = True
    creates_on_update = True
    default_propagation_policy = None
    error_group = ""

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return validate_event(obj, _COMPONENT) + self.meta_errors(obj, None) + validate_strict_event(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = validate_event(new, _COMPONENT) + self.meta_errors(new, old)
        return found + validate_strict_event_update(new, old)
