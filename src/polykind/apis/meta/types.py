"""Types of meta.k8s.io/v1: the metadata of objects and lists, label selectors, conditions, Status and DeleteOptions."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    INT64,
    RAW_EXTENSION,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    ListOf,
    String,
    Verbatim,
)

META_V1 = GroupVersion("meta.k8s.io", "v1", "io.k8s.apimachinery.pkg.apis.meta.v1")

UID = String("types.UID")

TYPE_META = (
    Field("kind", 0, STRING, "The kind of the object, in CamelCase."),
    Field("apiVersion", 0, STRING, "APIVersion defines the API group and version of this representation."),
)
"""The fields apiVersion and kind. They have no protobuf number, because the protobuf envelope contains them."""

LIST_META = META_V1.struct(
    "ListMeta",
    "The standard metadata of lists.",
    Field("selfLink", 1, STRING, "Deprecated and never set."),
    Field("resourceVersion", 2, STRING, "The version of the collection, from which a watch can start."),
    Field("continue", 3, STRING, "An opaque token to request the next page; empty on the last page."),
    Field("remainingItemCount", 4, INT64, "The number of objects on the following pages.", pointer=True),
    Field(
        "shardInfo",
        5,
        META_V1.struct(
            "ShardInfo",
            "The shard of a sharded list.",
            Field("selector", 1, STRING, "The selector of the shard.", omitempty=False),
        ),
        "The shard that the list contains.",
        pointer=True,
    ),
)

OWNER_REFERENCE = META_V1.struct(
    "OwnerReference",
    "A reference to an object that owns this object.",
    Field("apiVersion", 5, STRING, "The apiVersion of the owner.", omitempty=False),
    Field("kind", 1, STRING, "The kind of the owner.", omitempty=False),
    Field("name", 3, STRING, "The name of the owner.", omitempty=False),
    Field("uid", 4, UID, "The uid of the owner.", omitempty=False),
    Field("controller", 6, BOOL, "True if the owner is the managing controller.", pointer=True),
    Field(
        "blockOwnerDeletion",
        7,
        BOOL,
        "True if a foreground deletion of the owner waits until this object is deleted.",
        pointer=True,
    ),
    atomic=True,
)

MANAGED_FIELDS_ENTRY = META_V1.struct(
    "ManagedFieldsEntry",
    "The fields that one field manager owns.",
    Field("manager", 1, STRING, "The name of the field manager."),
    Field("operation", 2, String("v1.ManagedFieldsOperationType"), "The kind of write: Apply or Update."),
    Field("apiVersion", 3, STRING, "The API version in which the fields are written."),
    Field("time", 4, TIME, "The time of the last change of this entry.", pointer=True),
    Field("fieldsType", 6, STRING, "The format of the field set: FieldsV1."),
    Field(
        "fieldsV1",
        7,
        Verbatim("v1.FieldsV1", f"{META_V1.models}.FieldsV1", "A set of fields, as nested objects."),
        "The fields that the manager owns.",
        pointer=True,
    ),
    Field("subresource", 8, STRING, "The subresource through which the fields were written."),
)

OBJECT_META = META_V1.struct(
    "ObjectMeta",
    "The standard metadata of objects.",
    Field("name", 1, STRING, "The name, unique for its kind in its namespace. Cannot be changed."),
    Field("generateName", 2, STRING, "A prefix from which the server generates a unique name."),
    Field("namespace", 3, STRING, "The namespace of the object. Cannot be changed."),
    Field("selfLink", 4, STRING, "Deprecated and never set."),
    Field("uid", 5, UID, "An identifier that is unique in time and space. Set by the server."),
    Field("resourceVersion", 6, STRING, "The opaque version of the object. Set by the server."),
    Field("generation", 7, INT64, "The number of changes of the desired state. Set by the server."),
    # The e2e tests of Kubernetes search the output of `kubectl explain` for the first words of this description.
    Field("creationTimestamp", 8, TIME, "CreationTimestamp is a timestamp that the server sets.", omitzero=True),
    Field("deletionTimestamp", 9, TIME, "The time of the deletion. Set by the server.", pointer=True),
    Field(
        "deletionGracePeriodSeconds",
        10,
        INT64,
        "The number of seconds that a graceful deletion takes. Set by the server.",
        pointer=True,
    ),
    Field("labels", 11, STRING_MAP, "Keys and values by which objects can be selected."),
    Field("annotations", 12, STRING_MAP, "Keys and values for tools and people, which cannot be selected."),
    Field(
        "ownerReferences",
        13,
        ListOf(OWNER_REFERENCE),
        "The objects on which this object depends. It is deleted after the last of them.",
        list_type="map",
        keys=("uid",),
        merge_key="uid",
    ),
    Field(
        "finalizers",
        14,
        STRINGS,
        "Tasks that must be finished before the object is removed.",
        list_type="set",
        patch_strategy="merge",
    ),
    Field("managedFields", 17, ListOf(MANAGED_FIELDS_ENTRY), "The fields that each field manager owns."),
)


def _requirement(what: str, key: str) -> ListOf:
    name = f"{what}SelectorRequirement"
    fields = (
        Field("key", 1, STRING, key, omitempty=False),
        Field(
            "operator", 2, String(f"v1.{what}SelectorOperator"), "In, NotIn, Exists or DoesNotExist.", omitempty=False
        ),
        Field("values", 3, STRINGS, "The values for In and NotIn."),
    )
    doc = f"One requirement of a {what.lower()} selector."
    return ListOf(META_V1.struct(name, doc, *fields))


LABEL_REQUIREMENTS = _requirement("Label", "The label key.")
FIELD_REQUIREMENTS = _requirement("Field", "The path of the field.")

LABEL_SELECTOR = META_V1.struct(
    "LabelSelector",
    "A selection of objects by their labels.",
    Field("matchLabels", 1, STRING_MAP, "Labels that an object must have."),
    Field("matchExpressions", 2, LABEL_REQUIREMENTS, "Requirements that an object's labels must meet."),
    atomic=True,
)

CONDITION = META_V1.struct(
    "Condition",
    "One aspect of the state of an object.",
    Field("type", 1, STRING, "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 2, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("observedGeneration", 3, INT64, "The generation of the object for which the condition was set."),
    Field("lastTransitionTime", 4, TIME, "The time of the last change of the status.", omitempty=False),
    Field("reason", 5, STRING, "The reason for the last change, in CamelCase.", omitempty=False),
    Field("message", 6, STRING, "A readable explanation.", omitempty=False),
)

STATUS_DETAILS = META_V1.struct(
    "StatusDetails",
    "The object and the causes of a failure.",
    Field("name", 1, STRING, "The name of the object."),
    Field("group", 2, STRING, "The API group of the resource."),
    Field("kind", 3, STRING, "The resource."),
    Field("uid", 6, UID, "The uid of the object."),
    Field(
        "causes",
        4,
        ListOf(
            META_V1.struct(
                "StatusCause",
                "One cause of a failure.",
                Field("reason", 1, String("v1.CauseType"), "The cause, for programs."),
                Field("message", 2, STRING, "The cause, for people."),
                Field("field", 3, STRING, "The field that is invalid."),
            )
        ),
        "All causes of the failure.",
    ),
    Field("retryAfterSeconds", 5, INT32, "The number of seconds after which the client may retry."),
)

STATUS = META_V1.struct(
    "Status",
    "The result of a request that does not return an object.",
    *TYPE_META,
    Field("metadata", 1, LIST_META, "The standard metadata of lists."),
    Field("status", 2, STRING, "Success or Failure."),
    Field("message", 3, STRING, "A readable explanation."),
    Field("reason", 4, String("v1.StatusReason"), "The reason for the failure, for programs."),
    Field("details", 5, STATUS_DETAILS, "Details of the failure, which depend on the reason.", pointer=True),
    Field("code", 6, INT32, "The HTTP status code."),
    kind=True,
)

DELETE_OPTIONS = META_V1.struct(
    "DeleteOptions",
    "The options of a delete request.",
    *TYPE_META,
    Field("gracePeriodSeconds", 1, INT64, "The number of seconds before the object is removed.", pointer=True),
    Field(
        "preconditions",
        2,
        META_V1.struct(
            "Preconditions",
            "Conditions for deleting an object.",
            Field("uid", 1, UID, "The uid that the object must have.", pointer=True),
            Field("resourceVersion", 2, STRING, "The version that the object must have.", pointer=True),
        ),
        "Conditions for the deletion. If they do not hold, the server responds with 409.",
        pointer=True,
    ),
    Field("orphanDependents", 3, BOOL, "Deprecated: use propagationPolicy.", pointer=True),
    Field(
        "propagationPolicy",
        4,
        String("v1.DeletionPropagation"),
        "The treatment of dependent objects: Orphan, Background or Foreground.",
        pointer=True,
    ),
    Field("dryRun", 5, STRINGS, "All: process the request without deleting anything."),
    Field(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        6,
        BOOL,
        "True to delete an object that cannot be read from storage.",
        pointer=True,
    ),
    kind=True,
)

PARTIAL_OBJECT_METADATA = META_V1.struct(
    "PartialObjectMetadata", "", *TYPE_META, Field("metadata", 1, OBJECT_META), kind=True
)

PATCH = META_V1.struct("Patch", "A patch. The Content-Type of the request says of which type.")
"""The body of PATCH requests in OpenAPI."""

WATCH_EVENT = META_V1.struct(
    "WatchEvent",
    "An event of a watch.",
    Field("type", 1, STRING, "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.", omitempty=False),
    Field("object", 2, RAW_EXTENSION, "The object, or a Status after an error.", omitempty=False),
    kind=True,
)
