"""The resource `storageversionmigrations`."""

from __future__ import annotations

from typing import ClassVar

from polykind.apis.storagemigration import validation
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy, only_status_changed


class MigrationStrategy(BuiltinStrategy):
    """Prepares StorageVersionMigrations for storage and validates them."""

    reset_fields: ClassVar = {"": MAIN_RESET, "status": STATUS_RESET}

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_migration(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status") or {}

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new) + self.meta_errors(new, old) + validation.validate_migration_update(new, old)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return only_status_changed(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_migration_status(new, old)
