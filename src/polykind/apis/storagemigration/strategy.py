"""The resource `storageversionmigrations`."""

from __future__ import annotations

from polykind.apis.storagemigration import validation
from polykind.apis.storagemigration.types import STORAGE_VERSION_MIGRATION
from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, finalizer_errors, only_status_changed


class MigrationResource(BuiltinResource):
    """The resource `storageversionmigrations`."""

    def __init__(self, cache: WatchCache) -> None:
        super().__init__(cache, STORAGE_VERSION_MIGRATION)
        self.serve(STORAGE_VERSION_MIGRATION, MigrationStrategy())


class MigrationStrategy(BuiltinStrategy):
    """Prepares and validates StorageVersionMigrations."""

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        finalizers = finalizer_errors(obj["metadata"].get("finalizers"))
        return self.meta_errors(obj, None) + finalizers + validation.validate_migration(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status") or {}

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return (
            self.create_errors(new)
            + self._changed_meta_errors(new, old)
            + validation.validate_migration_update(new, old)
        )

    def _changed_meta_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + finalizer_errors(new["metadata"].get("finalizers"))

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return only_status_changed(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._changed_meta_errors(new, old) + validation.validate_migration_status(new, old)
