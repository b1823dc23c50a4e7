"""The strategies of the storage group: rules for creates and updates."""

from __future__ import annotations

from typing import ClassVar

from polykind import errors
from polykind.apis.core.node_labels import label_selector_warnings
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.field_validation import IMMUTABLE
from polykind.apis.storage import csi_validation, validation
from polykind.apis.storage.defaults import default_csi_driver, default_storage_class
from polykind.apis.storage.types import STORAGE_V1
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy, only_status_changed


class StorageClassStrategy(BuiltinStrategy):
    """Validates StorageClasses."""

    unconditional_update = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        default_storage_class(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_storage_class(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.create_errors(new) + self.meta_errors(new, old)
        return found + validation.validate_storage_class_update(new, old)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return validation.storage_class_warnings(new)


class VolumeAttributesClassStrategy(BuiltinStrategy):
    """Validates VolumeAttributesClasses."""

    unconditional_update = True
    returns_deleted_object = True

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_volume_attributes_class(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + validation.validate_volume_attributes_class_update(new, old)
        return found + self.create_errors(new)


class VolumeAttachmentStrategy(BuiltinStrategy):
    """Prepares and validates VolumeAttachments, whose spec is immutable."""

    returns_deleted_object = True
    reset_fields: ClassVar = {"": MAIN_RESET, "status": STATUS_RESET}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_volume_attachment(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.create_errors(new)
        if new["spec"] != old["spec"]:
            found.append(
                errors.invalid("spec", show_internal(STORAGE_V1.struct("VolumeAttachmentSpec"), new["spec"]), IMMUTABLE)
            )
        return found

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return only_status_changed(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.update_errors(new, old)


class CSIDriverStrategy(BuiltinStrategy):
    """Prepares CSIDrivers for storage and validates them."""

    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        default_csi_driver(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        # The field preventPodSchedulingIfMissing belongs to a feature that is disabled by default.
        obj["spec"].pop("preventPodSchedulingIfMissing", None)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + csi_validation.validate_csi_driver_spec(obj["spec"])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        self.prepare_create(new)
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + csi_validation.validate_csi_driver_spec(new["spec"])
        return found + csi_validation.validate_csi_driver_update(new["spec"], old["spec"])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        spec = new["spec"]
        requests = spec.get("tokenRequests") or []
        if not requests or spec.get("serviceAccountTokenInSecrets") is not None:
            return []
        if old is not None and requests == old["spec"].get("tokenRequests"):
            return []
        return [csi_validation.TOKENS_IN_SECRETS_WARNING]


class CSINodeStrategy(BuiltinStrategy):
    """Validates CSINodes."""

    returns_deleted_object = True

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + csi_validation.validate_csi_node_spec(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new) + csi_validation.validate_csi_node_update(new["spec"], old["spec"])


class CSIStorageCapacityStrategy(BuiltinStrategy):
    """Validates CSIStorageCapacities."""

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_csi_storage_capacity(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, None) + validation.validate_csi_storage_capacity(new, old)
        return found + self.meta_errors(new, old) + validation.validate_csi_storage_capacity_update(new, old)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return label_selector_warnings(new.get("nodeTopology"), "nodeTopology")
