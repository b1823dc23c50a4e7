"""Types of meta.k8s.io/v1: the metadata of objects and lists, label selectors, conditions, Status and DeleteOptions."""

from __future__ import annotations

from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

META_V1 = GroupVersion("meta.k8s.io", "v1", type_table("meta", "v1"))

LIST_META = META_V1.struct("ListMeta")
OBJECT_META = META_V1.struct("ObjectMeta")
LABEL_SELECTOR = META_V1.struct("LabelSelector")
CONDITION = META_V1.struct("Condition")
STATUS = META_V1.struct("Status")
DELETE_OPTIONS = META_V1.struct("DeleteOptions")
PARTIAL_OBJECT_METADATA = META_V1.struct("PartialObjectMetadata")
PATCH = META_V1.struct("Patch")
"""The body of PATCH requests in OpenAPI."""
WATCH_EVENT = META_V1.struct("WatchEvent")
