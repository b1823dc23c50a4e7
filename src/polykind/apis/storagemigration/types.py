"""StorageVersionMigration: a request to rewrite all objects of a resource at its current storage version."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table
from polykind.codec.table import Column
from polykind.contract import JsonObject

GROUP = "storagemigration.k8s.io"
STORAGEMIGRATION_V1 = GroupVersion(
    GROUP, "v1", type_table("storagemigration", "v1", like="v1beta1"), group_priority=15800, version_priority=15
)
STORAGEMIGRATION_V1BETA1 = GroupVersion(
    GROUP, "v1beta1", type_table("storagemigration", "v1beta1"), group_priority=15800, version_priority=9
)


def _resource(obj: JsonObject) -> str:
    resource = obj["spec"]["resource"]
    return f"{resource['resource']}.{resource['group']}" if resource["group"] else str(resource["resource"])


def _state(obj: JsonObject) -> str:
    """Return a cell with the state of a migration: the type of the last condition whose status is True."""
    state = "Unknown"
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["status"] == "True" and condition["type"] in ("Running", "Succeeded", "Failed"):
            state = condition["type"]
    return state


def _migration(group_version: GroupVersion, deprecation: str = "") -> Kind:
    """Declare one version of the kind. The versions have the same fields, and objects are stored at v1beta1."""
    return Kind(
        group_version,
        "StorageVersionMigration",
        subresources=(Subresource("status"),),
        columns=(
            Column("Resource", "string", "The resource whose objects are migrated", _resource),
            Column("Status", "string", "The progress of the migration", _state),
        ),
        name_format="",
        strategy="polykind.strategies.storagemigration.strategy:MigrationStrategy",
        stored_version="v1beta1",
        deprecation=deprecation,
    )


STORAGE_VERSION_MIGRATION_V1 = _migration(STORAGEMIGRATION_V1)
STORAGE_VERSION_MIGRATION_V1BETA1 = _migration(
    STORAGEMIGRATION_V1BETA1,
    f"{GROUP}/v1beta1 StorageVersionMigration is deprecated in v1.38+, unavailable in v1.41+",
)

KINDS = (STORAGE_VERSION_MIGRATION_V1, STORAGE_VERSION_MIGRATION_V1BETA1)
