"""Migrations of what is stored to the version that is stored today."""

from __future__ import annotations

from polykind.apis.machinery.fields import STRING, Field, ListOf, Struct
from polykind.apis.meta.types import CONDITION, OBJECT_META, TYPE_META

_GROUP_RESOURCE = Struct(
    "v1.GroupResource",
    (Field("group", STRING, 1, omitempty=False), Field("resource", STRING, 2, omitempty=False)),
)

STORAGE_VERSION_MIGRATION = Struct(
    "v1beta1.StorageVersionMigration",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field(
            "spec",
            Struct("v1beta1.StorageVersionMigrationSpec", (Field("resource", _GROUP_RESOURCE, 1, omitempty=False),)),
            2,
        ),
        Field(
            "status",
            Struct(
                "v1beta1.StorageVersionMigrationStatus",
                (Field("conditions", ListOf(CONDITION), 1), Field("resourceVersion", STRING, 2)),
            ),
            3,
        ),
    ),
    kind="StorageVersionMigration",
    version="v1beta1",
)
