"""Models of storage version migrations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from polykind.discovery.openapi.models import Model, listed, many, record, ref, stored, text
from polykind.discovery.openapi.schemas import META

_GROUP: Final = "storagemigration.k8s.io"
_MIGRATION: Final = "io.k8s.api.storagemigration.v1beta1.StorageVersionMigration"

MIGRATION_MODELS: Final[Mapping[str, Model]] = {
    _MIGRATION: stored(
        "A migration of all objects of a resource to the version that they are stored at today.",
        _GROUP,
        "v1beta1",
        "StorageVersionMigration",
        spec=ref(f"{_MIGRATION}Spec", "What is to be migrated.", default={}),
        status=ref(f"{_MIGRATION}Status", "How it fares.", default={}),
    ),
    f"{_MIGRATION}List": listed(_MIGRATION, _GROUP, "v1beta1", "StorageVersionMigration"),
    f"{_MIGRATION}Spec": record(
        "What is to be migrated.",
        ("resource",),
        resource=ref(f"{META}GroupResource", "The resource; never changes.", default={}),
    ),
    f"{_MIGRATION}Status": record(
        "How a migration fares.",
        conditions={
            **many(ref(f"{META}Condition", default={}), "Running, Succeeded or Failed.", "map", ("type",)),
            "x-kubernetes-patch-merge-key": "type",
            "x-kubernetes-patch-strategy": "merge",
        },
        resourceVersion=text("The version of the collection when the migration began."),
    ),
    f"{META}GroupResource": record(
        "A resource, whichever its version.",
        ("group", "resource"),
        group=text("Its group; the empty one is the core.", default=""),
        resource=text("Its name, the plural.", default=""),
    ),
}
