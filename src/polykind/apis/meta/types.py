"""The types of meta/v1: what every object carries, and what requests and answers are made of."""

from __future__ import annotations

from polykind.apis.machinery.fields import (
    BOOL,
    INT32,
    INT64,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    Field,
    ListOf,
    String,
    Struct,
    Verbatim,
)

UID = String("types.UID")

TYPE_META = (Field("kind", STRING, 0), Field("apiVersion", STRING, 0))
"""Without a number: in protobuf the envelope carries them."""

LIST_META = Struct(
    "v1.ListMeta",
    (
        Field("selfLink", STRING, 1),
        Field("resourceVersion", STRING, 2),
        Field("continue", STRING, 3),
        Field("remainingItemCount", INT64, 4, pointer=True),
    ),
)

OWNER_REFERENCE = Struct(
    "v1.OwnerReference",
    (
        Field("apiVersion", STRING, 5, omitempty=False),
        Field("kind", STRING, 1, omitempty=False),
        Field("name", STRING, 3, omitempty=False),
        Field("uid", UID, 4, omitempty=False),
        Field("controller", BOOL, 6, pointer=True),
        Field("blockOwnerDeletion", BOOL, 7, pointer=True),
    ),
)

MANAGED_FIELDS_ENTRY = Struct(
    "v1.ManagedFieldsEntry",
    (
        Field("manager", STRING, 1),
        Field("operation", String("v1.ManagedFieldsOperationType"), 2),
        Field("apiVersion", STRING, 3),
        Field("time", TIME, 4, pointer=True),
        Field("fieldsType", STRING, 6),
        Field("fieldsV1", Verbatim("v1.FieldsV1"), 7, pointer=True),
        Field("subresource", STRING, 8),
    ),
)

OBJECT_META = Struct(
    "v1.ObjectMeta",
    (
        Field("name", STRING, 1),
        Field("generateName", STRING, 2),
        Field("namespace", STRING, 3),
        Field("selfLink", STRING, 4),
        Field("uid", UID, 5),
        Field("resourceVersion", STRING, 6),
        Field("generation", INT64, 7),
        Field("creationTimestamp", TIME, 8, omitzero=True),
        Field("deletionTimestamp", TIME, 9, pointer=True),
        Field("deletionGracePeriodSeconds", INT64, 10, pointer=True),
        Field("labels", STRING_MAP, 11),
        Field("annotations", STRING_MAP, 12),
        Field("ownerReferences", ListOf(OWNER_REFERENCE), 13),
        Field("finalizers", STRINGS, 14),
        Field("managedFields", ListOf(MANAGED_FIELDS_ENTRY), 17),
    ),
)

LABEL_SELECTOR = Struct(
    "v1.LabelSelector",
    (
        Field("matchLabels", STRING_MAP, 1),
        Field(
            "matchExpressions",
            ListOf(
                Struct(
                    "v1.LabelSelectorRequirement",
                    (
                        Field("key", STRING, 1, omitempty=False),
                        Field("operator", String("v1.LabelSelectorOperator"), 2, omitempty=False),
                        Field("values", STRINGS, 3),
                    ),
                )
            ),
            2,
        ),
    ),
)

CONDITION = Struct(
    "v1.Condition",
    (
        Field("type", STRING, 1, omitempty=False),
        Field("status", String("v1.ConditionStatus"), 2, omitempty=False),
        Field("observedGeneration", INT64, 3),
        Field("lastTransitionTime", TIME, 4, omitempty=False),
        Field("reason", STRING, 5, omitempty=False),
        Field("message", STRING, 6, omitempty=False),
    ),
)

STATUS_DETAILS = Struct(
    "v1.StatusDetails",
    (
        Field("name", STRING, 1),
        Field("group", STRING, 2),
        Field("kind", STRING, 3),
        Field("uid", UID, 6),
        Field(
            "causes",
            ListOf(
                Struct(
                    "v1.StatusCause",
                    (
                        Field("reason", String("v1.CauseType"), 1),
                        Field("message", STRING, 2),
                        Field("field", STRING, 3),
                    ),
                )
            ),
            4,
        ),
        Field("retryAfterSeconds", INT32, 5),
    ),
)

STATUS = Struct(
    "v1.Status",
    (
        *TYPE_META,
        Field("metadata", LIST_META, 1),
        Field("status", STRING, 2),
        Field("message", STRING, 3),
        Field("reason", String("v1.StatusReason"), 4),
        Field("details", STATUS_DETAILS, 5, pointer=True),
        Field("code", INT32, 6),
    ),
    kind="Status",
    version="v1",
)

DELETE_OPTIONS = Struct(
    "v1.DeleteOptions",
    (
        *TYPE_META,
        Field("gracePeriodSeconds", INT64, 1, pointer=True),
        Field(
            "preconditions",
            Struct(
                "v1.Preconditions",
                (Field("uid", UID, 1, pointer=True), Field("resourceVersion", STRING, 2, pointer=True)),
            ),
            2,
            pointer=True,
        ),
        Field("orphanDependents", BOOL, 3, pointer=True),
        Field("propagationPolicy", String("v1.DeletionPropagation"), 4, pointer=True),
        Field("dryRun", STRINGS, 5),
        Field("ignoreStoreReadErrorWithClusterBreakingPotential", BOOL, 6, pointer=True),
    ),
    kind="DeleteOptions",
    version="v1",
)

PARTIAL_OBJECT_METADATA = Struct(
    "v1.PartialObjectMetadata",
    (*TYPE_META, Field("metadata", OBJECT_META, 1)),
    kind="PartialObjectMetadata",
    version="v1",
)
