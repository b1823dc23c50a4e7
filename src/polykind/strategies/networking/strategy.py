"""The strategies of the networking group: rules for creates and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from polykind.apis.meta.field_validation import validate_immutable
from polykind.apis.networking import ingress_validation, validation
from polykind.apis.networking.defaults import default_ingress_class, default_network_policy
from polykind.apis.networking.network_policy_validation import network_policy_warnings, validate_network_policy_spec
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET
from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, only_status_changed
from polykind.resources.resource import Finish

if TYPE_CHECKING:
    from polykind.operations.operation import Operation

_EMPTY_LISTS = "(empty lists)"
"""The key that marks a spec which a client sent with empty lists. The validation of the update removes the key."""


class IngressStrategy(BuiltinStrategy):
    """Prepares Ingresses for storage and validates them."""

    unconditional_update = True
    counts_generation = True

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self.meta_errors(obj, None) + ingress_validation.validate_ingress_spec(obj["spec"])
        return found + ingress_validation.validate_class_annotation(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + self.meta_errors(new, None)
        return found + ingress_validation.validate_ingress_spec(new["spec"], old["spec"])

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old)
        return found + ingress_validation.validate_load_balancer(new["status"], old["status"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if old is not None:
            # An update changes the status only at the status endpoint, and only then kube-apiserver warns about
            # addresses.
            return ingress_validation.load_balancer_warnings(new["status"]) if new["status"] != old["status"] else []
        annotation = ingress_validation.CLASS_ANNOTATION
        annotations = new["metadata"].get("annotations") or {}
        if annotation not in annotations or new["spec"].get("ingressClassName") is not None:
            return []
        return [f"annotation \"{annotation}\" is deprecated, please use 'spec.ingressClassName' instead"]


class IngressClassStrategy(BuiltinStrategy):
    """Prepares IngressClasses for storage and validates them."""

    unconditional_update = True
    counts_generation = True

    def default(self, obj: JsonObject) -> None:
        default_ingress_class(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_ingress_class_spec(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        controller, before = (obj["spec"].get("controller", "") for obj in (new, old))
        found = self.meta_errors(new, old) + validate_immutable(controller, before, "spec.controller")
        return found + self.create_errors(new)


class NetworkPolicyResource(BuiltinResource):
    """The resource `networkpolicies`."""

    has_effects = True

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        """Mark the spec if the client has sent empty lists in it. Decoding has already removed these lists.

        In kube-apiserver's comparison of the new spec with the stored spec, an empty list differs from a missing list.
        So `ingress: []` increments the generation with every update.
        """
        if new["spec"] == old["spec"] and _sends_empty_list(op.body):
            new["spec"] = {**new["spec"], _EMPTY_LISTS: True}
        return None


def _sends_empty_list(body: bytes) -> bool:
    """True if the spec in the body of a PUT or PATCH contains an empty list. A protobuf message cannot contain one."""
    if b"[" not in body or body.startswith(b"k8s\0"):
        return False
    value = yaml_codec.decode(body)
    if isinstance(value, list):
        values = [step.get("value") for step in value if str(step.get("path", "")).startswith("/spec")]
        return any(map(_has_empty_list, values))
    return _has_empty_list(value.get("spec"))


def _has_empty_list(value: Any) -> bool:
    if isinstance(value, dict):
        # Ignore an empty list of policyTypes, because defaulting fills it.
        return any(_has_empty_list(item) for key, item in value.items() if key != "policyTypes")
    return isinstance(value, list) and (not value or any(map(_has_empty_list, value)))


class NetworkPolicyStrategy(BuiltinStrategy):
    """Prepares NetworkPolicies for storage and validates them."""

    resource_class = NetworkPolicyResource
    unconditional_update = True
    counts_generation = True

    def default(self, obj: JsonObject) -> None:
        default_network_policy(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_network_policy_spec(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_network_policy_spec(new["spec"], old["spec"])

    def canonicalize(self, obj: JsonObject) -> None:
        obj["spec"].pop(_EMPTY_LISTS, None)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return network_policy_warnings(new["spec"])


class IPAddressStrategy(BuiltinStrategy):
    """Validates IPAddresses."""

    unconditional_update = True
    name_rule = staticmethod(validation.ip_address_name)
    appends_suffix = False

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_ip_address(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.create_errors(new) + self.meta_errors(new, old)
        return found + validation.validate_ip_address_update(new, old)


class ServiceCIDRStrategy(BuiltinStrategy):
    """Prepares ServiceCIDRs for storage and validates them."""

    unconditional_update = True
    reset_fields: ClassVar = {"": MAIN_RESET, "status": STATUS_RESET}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_service_cidr(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_service_cidr_update(new["spec"], old["spec"])

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return only_status_changed(new, old)
