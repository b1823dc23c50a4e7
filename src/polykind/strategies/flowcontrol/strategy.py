"""The strategies of FlowSchemas and PriorityLevelConfigurations: rules for creates and updates."""

from __future__ import annotations

from typing import ClassVar

from polykind.apis.flowcontrol import validation
from polykind.apis.flowcontrol.defaults import default_flow_schema, default_priority_level
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class FlowControlStrategy(BuiltinStrategy):
    """Prepares FlowSchemas or PriorityLevelConfigurations for storage and validates them."""

    unconditional_update = True
    counts_generation = True
    reset_fields: ClassVar = {"": MAIN_RESET, "status": STATUS_RESET}

    def spec_errors(self, obj: JsonObject) -> list[FieldError]:
        """Return the errors in the spec. Some rules depend on the name of the object."""
        raise NotImplementedError

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + self.spec_errors(obj) + validation.validate_conditions(obj["status"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        managers = new["metadata"].get("managedFields")
        metadata = {name: value for name, value in old["metadata"].items() if name != "managedFields"}
        if managers:
            metadata["managedFields"] = managers
        return {**new, "metadata": metadata, "spec": old["spec"]}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return validation.validate_conditions(new["status"])


class FlowSchemaStrategy(FlowControlStrategy):
    """Prepares FlowSchemas for storage and validates them."""

    def default(self, obj: JsonObject) -> None:
        default_flow_schema(obj)

    def spec_errors(self, obj: JsonObject) -> list[FieldError]:
        return validation.validate_flow_schema(obj)


class PriorityLevelStrategy(FlowControlStrategy):
    """Prepares PriorityLevelConfigurations for storage and validates them."""

    def default(self, obj: JsonObject) -> None:
        default_priority_level(obj)

    def spec_errors(self, obj: JsonObject) -> list[FieldError]:
        return validation.validate_priority_level(obj)
