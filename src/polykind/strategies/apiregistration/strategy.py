"""The strategy of APIServices: rules for creates and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from polykind.apis.apiregistration.defaults import default_api_service
from polykind.apis.apiregistration.validation import (
    api_service_name,
    validate_api_service_spec,
    validate_api_service_status,
)
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, only_status_changed
from polykind.resources.resource import Finish
from polykind.schema.metadata_validation import validate_object_meta

if TYPE_CHECKING:
    from polykind.operations.operation import Operation


def local_status(now: str) -> JsonObject:
    """Return the status of a local APIService. The API server itself serves the API version of a local APIService."""
    condition = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {"conditions": [condition]}


class APIServiceResource(BuiltinResource):
    """The resource `apiservices`."""

    has_effects = True
    registered = False
    """True if this server has written the APIServices of the built-in API versions since it started."""

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        """Set the status of a new APIService: available if it is local (has no `service`), and otherwise empty."""
        obj["status"] = {}
        if obj["spec"].get("service") is None:
            obj["status"] = local_status(op.now())
        return None


class APIServiceStrategy(BuiltinStrategy):
    """Prepares APIServices for storage and validates them."""

    resource_class = APIServiceResource
    checks_finalizer_names = False
    reset_fields: ClassVar = {"": MAIN_RESET, "status": STATUS_RESET}

    def default(self, obj: JsonObject) -> None:
        default_api_service(obj)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        service = new["spec"].get("service")
        if service is None:
            return []
        api_version = f"{new['spec'].get('group', '')}/{new['spec'].get('version', '')}"
        return [
            f"aggregation is not supported: requests for {api_version} are not forwarded to the Service "
            f"{service.get('namespace', '')}/{service.get('name', '')}"
        ]

    def prepare_create(self, obj: JsonObject) -> None:
        return

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = validate_object_meta(
            obj["metadata"], namespaced=False, name_rule=lambda name, prefix: api_service_name(name, obj["spec"])
        )
        return found + validate_api_service_spec(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + self.create_errors(new)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return only_status_changed(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_api_service_status(new["status"])
