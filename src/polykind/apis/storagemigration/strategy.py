"""StorageVersionMigrations as a resource: who wants all objects of another rewritten at its storage version."""

from __future__ import annotations

from polykind.apis.storagemigration.types import STORAGE_VERSION_MIGRATION
from polykind.apply.typemodel import STORAGE_VERSION_MIGRATION_MODEL
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import MIGRATIONS
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.migration import validation
from polykind.resources.builtin import LEGACY, BuiltinResource, BuiltinVersion, unqualified

_FROM_OLD = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
"""What of the metadata a write of the status does not change."""


class MigrationResource(BuiltinResource):
    """The resource `storageversionmigrations`."""

    def __init__(self, cache: WatchCache) -> None:
        super().__init__(cache, validation.GROUP, STORAGE_VERSION_MIGRATION, MigrationVersion)


class MigrationVersion(BuiltinVersion):
    """What v1beta1 asks of a migration."""

    package = "storagemigration"
    scheme = LEGACY
    known = ("v1beta1",)
    has_status = True
    model = STORAGE_VERSION_MIGRATION_MODEL
    table = MIGRATIONS
    deprecation = (
        "storagemigration.k8s.io/v1beta1 StorageVersionMigration is deprecated in v1.38+, unavailable in v1.41+"
    )

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {}

    def validate_create(self, obj: JsonObject) -> list[FieldError]:
        finalizers = unqualified(obj["metadata"].get("finalizers"), "metadata.finalizers[{}]")
        return self._meta_errors(obj, None) + finalizers + validation.problems(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status") or {}

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.validate_create(new) + self._changed_meta_errors(new, old) + validation.update_problems(new, old)

    def _changed_meta_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old) + unqualified(new["metadata"].get("finalizers"), "metadata.finalizers[{}]")

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        kept = {name: old["metadata"][name] for name in _FROM_OLD if name in old["metadata"]}
        meta = {name: value for name, value in new["metadata"].items() if name not in _FROM_OLD}
        return {**new, "metadata": {**meta, **kept}, "spec": old["spec"]}

    def validate_status(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._changed_meta_errors(new, old) + validation.status_problems(new, old)
