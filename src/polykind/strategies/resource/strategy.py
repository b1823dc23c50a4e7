"""The strategies of the resource group: rules for creates and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from polykind import errors, names
from polykind.apis.core.volume_claim_validation import validate_template_metadata
from polykind.apis.resource import defaults
from polykind.apis.resource.claim_validation import (
    device_id,
    validate_claim_spec,
    validate_claim_spec_update,
    validate_claim_status,
)
from polykind.apis.resource.slice_validation import validate_slice_spec
from polykind.apis.resource.types import RESOURCE_V1
from polykind.apis.resource.validation import validate_device_class_spec
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET
from polykind.auth.authorizer import Access
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, only_status_changed
from polykind.resources.resource import Finish
from polykind.selectors.selector_objects import labels_of
from polykind.strategies.resource.claim_authorization import status_permission_errors

if TYPE_CHECKING:
    from polykind.operations.operation import Operation

_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_LIST_ATTRIBUTES = ("ints", "bools", "strings", "versions")


class DeviceClassStrategy(BuiltinStrategy):
    """Prepares DeviceClasses for storage and validates them."""

    name_rule = staticmethod(names.long_name)
    unconditional_update = True
    counts_generation = True
    returns_deleted_object = True

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_device_class_spec(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, None) + self.meta_errors(new, old)
        return found + validate_device_class_spec(new["spec"])


class ClaimResource(BuiltinResource):
    """The resource `resourceclaims` or `resourceclaimtemplates`."""

    has_effects = True

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        """Raise InvalidError if the claim requests admin access to devices and its namespace has no label for it."""
        spec = obj["spec"] if self.kind == "ResourceClaim" else obj["spec"]["spec"]
        requests = [request.get("exactly") or {} for request in (spec.get("devices") or {}).get("requests") or ()]
        error = self._admin_access_error(op, requests, "spec.devices.requests")
        if error is not None:
            found = [error, *op.version.strategy.validate_create(obj).errors]
            raise errors.InvalidError(self.kind, self.group, obj["metadata"].get("name", ""), found)
        return None

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        """Raise InvalidError if the status has changes that the client or the namespace does not permit.

        A new allocation with admin access to devices needs a label of the namespace. The client needs permissions for
        changes of the allocation and of the devices.
        """
        if op.subresource != "status":
            return None
        strategy = op.version.strategy
        prepared = strategy.prepare_subresource("status", new, old)
        found = await self._permission_errors(op, prepared, old)
        if not any(map(_has_admin_access, _results(old))):
            error = self._admin_access_error(op, _results(prepared), "status.allocation.devices.results")
            found = [error, *found] if error is not None else found
        if found:
            found += strategy.validate_subresource("status", prepared, old).errors
            raise errors.InvalidError(self.kind, self.group, op.name, found)
        return None

    async def _permission_errors(self, op: Operation, new: JsonObject, old: JsonObject) -> list[FieldError]:
        if op.user is None or op.backend.authorizer.allows_everything:
            return []
        where = op.namespace or ""
        access = Access(op.client, op.verb, self.group, op.version.version, self.plural, "status", where, op.name)
        return await status_permission_errors(
            op.backend.authorizer, access, new.get("status") or {}, old.get("status") or {}
        )

    def _admin_access_error(self, op: Operation, items: list[JsonObject], at: str) -> FieldError | None:
        index = next((index for index, item in enumerate(items) if _has_admin_access(item)), None)
        if index is None:
            return None
        namespaces = op.backend.registry.resource("", "namespaces")
        cached = namespaces.cache.get(op.namespace or "") if namespaces is not None else None
        if cached is not None and labels_of(cached.decode()).get(_ADMIN_LABEL) == "true":
            return None
        reason = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
        return errors.forbidden(f"{at}[{index}].adminAccess", reason)


def _has_admin_access(item: JsonObject) -> bool:
    return item.get("adminAccess") is True


def _results(claim: JsonObject) -> list[JsonObject]:
    """Return the allocation results in the status of a claim. Each result is one device."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


class ResourceClaimStrategy(BuiltinStrategy):
    """Prepares ResourceClaims for storage and validates them."""

    resource_class = ClaimResource
    unconditional_update = True
    returns_deleted_object = True
    reset_fields: ClassVar = {"": MAIN_RESET, "status": STATUS_RESET}

    def default(self, obj: JsonObject) -> None:
        defaults.default_resource_claim(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_claim_spec(obj["spec"], "spec")

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, None) + self.meta_errors(new, old)
        return found + validate_claim_spec_update(new["spec"], old["spec"], RESOURCE_V1.struct("ResourceClaimSpec"))

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        new = only_status_changed(new, old)
        removed = _allocated(old) - _allocated(new)
        devices = new["status"].get("devices") or []
        kept = [device for device in devices if device_id(device) not in removed]
        if len(kept) < len(devices):
            status = {name: value for name, value in new["status"].items() if name != "devices"}
            new["status"] = {**status, "devices": kept} if kept else status
        return new

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_claim_status(new, old)


def _allocated(claim: JsonObject) -> set[tuple[str, ...]]:
    return {device_id(result) for result in _results(claim)}


class ResourceClaimTemplateStrategy(BuiltinStrategy):
    """Prepares ResourceClaimTemplates for storage and validates them."""

    resource_class = ClaimResource
    unconditional_update = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        defaults.default_resource_claim_template(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self.meta_errors(obj, None)
        found += validate_template_metadata(obj["spec"].get("metadata") or {}, "spec.metadata")
        return found + validate_claim_spec(obj["spec"]["spec"], "spec.spec")

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.create_errors(new) + self.meta_errors(new, old)
        return found + validate_claim_spec_update(
            new["spec"], old["spec"], RESOURCE_V1.struct("ResourceClaimTemplateSpec")
        )


class ResourceSliceResource(BuiltinResource):
    """The resource `resourceslices`."""

    has_effects = True

    async def begin_create(self, op: Operation, obj: JsonObject, *, dry_run: bool) -> Finish | None:
        _set_taint_times(obj, op.now())
        return None

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        _set_taint_times(new, op.now())
        return None


def _set_taint_times(resource_slice: JsonObject, now: str) -> None:
    """Set missing times of taints, in place. Defaulting cannot set them, because it does not know the time."""
    for device in resource_slice["spec"].get("devices") or ():
        for taint in device.get("taints") or ():
            taint.setdefault("timeAdded", now)


class ResourceSliceStrategy(BuiltinStrategy):
    """Prepares ResourceSlices for storage and validates them."""

    resource_class = ResourceSliceResource
    unconditional_update = True
    counts_generation = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        defaults.default_resource_slice(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        _drop_disabled_fields(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_slice_spec(obj["spec"])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        _drop_disabled_fields(new)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_slice_spec(new["spec"], old["spec"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        driver = new["spec"].get("driver", "")
        if driver == driver.lower():
            return []
        return [f"spec.driver: driver names should be lowercase; {go_quote(driver)} contains uppercase characters"]


def _drop_disabled_fields(resource_slice: JsonObject) -> None:
    """Remove the fields of devices that belong to disabled features."""
    for device in resource_slice["spec"].get("devices") or ():
        device.pop("nodeAllocatableResourceMappings", None)
        for attribute in (device.get("attributes") or {}).values():
            for field in _LIST_ATTRIBUTES:
                attribute.pop(field, None)
