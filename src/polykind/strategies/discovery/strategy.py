"""The strategy of EndpointSlices: rules for creates and updates."""

from __future__ import annotations

from typing import Any

from polykind.apis.discovery.defaults import default_endpoint_slice
from polykind.apis.discovery.validation import endpoint_slice_warnings, validate_endpoint_slice
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class EndpointSliceStrategy(BuiltinStrategy):
    """Prepares EndpointSlices for storage and validates them."""

    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        default_endpoint_slice(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1
        _drop_topology(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_endpoint_slice(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        if _counted_fields(new) != _counted_fields(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if new.get("endpoints") != old.get("endpoints"):
            _drop_topology(new)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, None) + validate_endpoint_slice(new, old)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return endpoint_slice_warnings(new, created=old is None)


def _counted_fields(endpoint_slice: JsonObject) -> dict[str, Any]:
    """Return the fields whose changes increment the generation: all fields except the metadata, and the labels."""
    fields = {name: value or None for name, value in endpoint_slice.items() if name != "metadata"}
    return {**fields, "labels": endpoint_slice["metadata"].get("labels") or None}


def _drop_topology(endpoint_slice: JsonObject) -> None:
    """Remove the field deprecatedTopology of endpoints, which only clients of v1beta1 could set."""
    for endpoint in endpoint_slice.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)
