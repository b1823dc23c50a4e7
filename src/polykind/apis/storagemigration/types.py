"""StorageVersionMigration: a request to rewrite all objects of a resource at its current storage version."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import STRING, ListOf
from polykind.apis.meta.types import CONDITION, META_V1
from polykind.codec.table import Column
from polykind.contract import JsonObject

GROUP = "storagemigration.k8s.io"
STORAGEMIGRATION_V1BETA1 = GroupVersion(
    GROUP,
    "v1beta1",
    "io.k8s.api.storagemigration.v1beta1",
    group_priority=15800,
    version_priority=9,
)

_GROUP_RESOURCE = META_V1.struct(
    "GroupResource",
    (
        Field("group", 1, STRING, omitempty=False, doc="The API group; empty for the core group."),
        Field("resource", 2, STRING, omitempty=False, doc="The plural name of the resource."),
    ),
    doc="A resource, without a version.",
)


def _resource(obj: JsonObject) -> str:
    resource = obj["spec"]["resource"]
    return f"{resource['resource']}.{resource['group']}" if resource["group"] else str(resource["resource"])


def _state(obj: JsonObject) -> str:
    """Return the type of the last condition that is true."""
    state = "Unknown"
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition["status"] == "True" and condition["type"] in ("Running", "Succeeded", "Failed"):
            state = condition["type"]
    return state


STORAGE_VERSION_MIGRATION = Kind(
    STORAGEMIGRATION_V1BETA1,
    "StorageVersionMigration",
    fields=(
        Field(
            "spec",
            2,
            STORAGEMIGRATION_V1BETA1.struct(
                "StorageVersionMigrationSpec",
                (Field("resource", 1, _GROUP_RESOURCE, omitempty=False, doc="The resource. Cannot be changed."),),
                doc="The resource whose objects are migrated.",
            ),
            doc="The resource whose objects are migrated.",
        ),
        Field(
            "status",
            3,
            STORAGEMIGRATION_V1BETA1.struct(
                "StorageVersionMigrationStatus",
                (
                    Field(
                        "conditions",
                        1,
                        ListOf(CONDITION),
                        list_type="map",
                        keys=("type",),
                        merge_key="type",
                        doc="Running, Succeeded or Failed.",
                    ),
                    Field(
                        "resourceVersion", 2, STRING, doc="The version of the collection when the migration started."
                    ),
                ),
                doc="The progress of a migration.",
            ),
            doc="The progress of the migration.",
        ),
    ),
    doc="A migration of all objects of a resource to its current storage version.",
    subresources=(Subresource("status"),),
    columns=(
        Column("Resource", "string", "The resource whose objects are migrated", _resource),
        Column("Status", "string", "The progress of the migration", _state),
    ),
    name_format="",
    deprecation=(
        "storagemigration.k8s.io/v1beta1 StorageVersionMigration is deprecated in v1.38+, unavailable in v1.41+"
    ),
)

KINDS = (STORAGE_VERSION_MIGRATION,)
