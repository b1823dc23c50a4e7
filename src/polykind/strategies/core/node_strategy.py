"""The strategy of Nodes: rules for creates and updates."""

from __future__ import annotations

from polykind.addresses import cidr_warnings
from polykind.apis.core.defaults import default_node
from polykind.apis.core.node_validation import validate_node, validate_node_update
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class NodeStrategy(BuiltinStrategy):
    """Prepares and validates Nodes. Unlike other kinds, a node can be created with its status."""

    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        default_node(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        _drop(obj["spec"], "configSource")
        _drop(obj["status"], "config")

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_node(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        if old["spec"].get("configSource") is None:
            _drop(new["spec"], "configSource")

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new) + self.status_errors(new, old)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        new = super().prepare_status(new, old)
        if old["status"].get("config") is None:
            _drop(new["status"], "config")
        return new

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_node_update(new, old)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        spec = new["spec"]
        found = []
        if spec.get("configSource") is not None:
            found.append("spec.configSource: the feature is removed")
        if spec.get("externalID"):
            found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for index, cidr in enumerate(spec.get("podCIDRs") or ()):
            found += cidr_warnings(cidr, f"spec.podCIDRs[{index}]")
        return found


def _drop(part: JsonObject, field: str) -> None:
    part.pop(field, None)
