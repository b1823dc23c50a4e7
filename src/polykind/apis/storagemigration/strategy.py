"""StorageVersionMigrations as a resource: who wants all objects of another rewritten at its storage version."""

from __future__ import annotations

from polykind.apis.storagemigration.types import STORAGE_VERSION_MIGRATION
from polykind.apply.typemodel import STORAGE_VERSION_MIGRATION_MODEL
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import MIGRATIONS
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.migration import validation
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, BuiltinType, unqualified

_FROM_OLD = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
"""What of the metadata a write of the status does not change."""


class MigrationResource(BuiltinResource):
    """The resource `storageversionmigrations`."""

    def __init__(self, cache: WatchCache) -> None:
        super().__init__(cache, validation.GROUP, _TYPE, MigrationStrategy())


_TYPE = BuiltinType(
    STORAGE_VERSION_MIGRATION,
    STORAGE_VERSION_MIGRATION_MODEL,
    MIGRATIONS,
    "storagemigration",
    ("v1beta1",),
    has_status=True,
    deprecation=(
        "storagemigration.k8s.io/v1beta1 StorageVersionMigration is deprecated in v1.38+, unavailable in v1.41+"
    ),
)


class MigrationStrategy(BuiltinStrategy):
    """Prepares and validates StorageVersionMigrations."""

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        finalizers = unqualified(obj["metadata"].get("finalizers"), "metadata.finalizers[{}]")
        return self._meta_errors(obj, None) + finalizers + validation.problems(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status") or {}

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new) + self._changed_meta_errors(new, old) + validation.update_problems(new, old)

    def _changed_meta_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old) + unqualified(new["metadata"].get("finalizers"), "metadata.finalizers[{}]")

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        kept = {name: old["metadata"][name] for name in _FROM_OLD if name in old["metadata"]}
        meta = {name: value for name, value in new["metadata"].items() if name not in _FROM_OLD}
        return {**new, "metadata": {**meta, **kept}, "spec": old["spec"]}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._changed_meta_errors(new, old) + validation.status_problems(new, old)
