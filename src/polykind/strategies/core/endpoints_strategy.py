"""The strategy of Endpoints: rules for creates and updates."""

from __future__ import annotations

from polykind.addresses import ip_warnings
from polykind.apis.core.defaults import default_endpoints
from polykind.apis.core.endpoints_validation import validate_subsets
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy

_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_ENDPOINTS_CONTROLLER = "endpoint-controller"


class EndpointsStrategy(BuiltinStrategy):
    """Validates Endpoints."""

    unconditional_update = True
    creates_on_update = True

    def default(self, obj: JsonObject) -> None:
        default_endpoints(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_subsets(obj.get("subsets") or [])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + self.meta_errors(new, None)
        # Unchanged subsets need no validation, because an older version of Kubernetes may have accepted them.
        unchanged = new.get("subsets") == old.get("subsets")
        return found if unchanged else found + validate_subsets(new.get("subsets") or [])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if (new["metadata"].get("labels") or {}).get(_MANAGED_BY) == _ENDPOINTS_CONTROLLER:
            return []
        return [
            text
            for index, subset in enumerate(new.get("subsets") or ())
            for field in ("addresses", "notReadyAddresses")
            for position, address in enumerate(subset.get(field) or ())
            for text in ip_warnings(address.get("ip") or "", f"subsets[{index}].{field}[{position}].ip")
        ]
