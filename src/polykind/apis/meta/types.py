"""Types of meta.k8s.io/v1: the metadata of objects and lists, label selectors, conditions, Status and DeleteOptions."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import (
    BOOL,
    INT32,
    INT64,
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
    Field("kind", 0, STRING, doc="The kind of the object, in CamelCase."),
    Field("apiVersion", 0, STRING, doc="The API group and version of this representation of the object."),
)
"""Fields without a protobuf number, because the protobuf envelope carries them."""

LIST_META = META_V1.struct(
    "ListMeta",
    (
        Field("selfLink", 1, STRING, doc="Deprecated and never set."),
        Field("resourceVersion", 2, STRING, doc="The version of the collection, from which a watch can start."),
        Field("continue", 3, STRING, doc="An opaque token to request the next page; empty on the last page."),
        Field("remainingItemCount", 4, INT64, pointer=True, doc="The number of objects on the following pages."),
        Field(
            "shardInfo",
            5,
            META_V1.struct(
                "ShardInfo",
                (Field("selector", 1, STRING, omitempty=False, doc="The selector of the shard."),),
                doc="The shard of a sharded list.",
            ),
            pointer=True,
            doc="The shard that the list contains.",
        ),
    ),
    doc="The standard metadata of lists.",
)

OWNER_REFERENCE = META_V1.struct(
    "OwnerReference",
    (
        Field("apiVersion", 5, STRING, omitempty=False, doc="The apiVersion of the owner."),
        Field("kind", 1, STRING, omitempty=False, doc="The kind of the owner."),
        Field("name", 3, STRING, omitempty=False, doc="The name of the owner."),
        Field("uid", 4, UID, omitempty=False, doc="The uid of the owner."),
        Field("controller", 6, BOOL, pointer=True, doc="True if the owner is the managing controller."),
        Field(
            "blockOwnerDeletion",
            7,
            BOOL,
            pointer=True,
            doc="True if a foreground deletion of the owner waits until this object is deleted.",
        ),
    ),
    doc="A reference to an object that owns this object.",
    atomic=True,
)

MANAGED_FIELDS_ENTRY = META_V1.struct(
    "ManagedFieldsEntry",
    (
        Field("manager", 1, STRING, doc="The name of the field manager."),
        Field("operation", 2, String("v1.ManagedFieldsOperationType"), doc="The kind of write: Apply or Update."),
        Field("apiVersion", 3, STRING, doc="The API version in which the fields are written."),
        Field("time", 4, TIME, pointer=True, doc="The time of the last change of this entry."),
        Field("fieldsType", 6, STRING, doc="The format of the field set: FieldsV1."),
        Field(
            "fieldsV1",
            7,
            Verbatim("v1.FieldsV1", f"{META_V1.models}.FieldsV1"),
            pointer=True,
            doc="The fields that the manager owns.",
        ),
        Field("subresource", 8, STRING, doc="The subresource through which the fields were written."),
    ),
    doc="The fields that one field manager owns.",
)

OBJECT_META = META_V1.struct(
    "ObjectMeta",
    (
        Field("name", 1, STRING, doc="The name, unique for its kind in its namespace. Cannot be changed."),
        Field("generateName", 2, STRING, doc="A prefix from which the server generates a unique name."),
        Field("namespace", 3, STRING, doc="The namespace of the object. Cannot be changed."),
        Field("selfLink", 4, STRING, doc="Deprecated and never set."),
        Field("uid", 5, UID, doc="An identifier that is unique in time and space. Set by the server."),
        Field("resourceVersion", 6, STRING, doc="The opaque version of the object. Set by the server."),
        Field("generation", 7, INT64, doc="The number of changes of the desired state. Set by the server."),
        Field("creationTimestamp", 8, TIME, omitzero=True, doc="The time of creation. Set by the server."),
        Field("deletionTimestamp", 9, TIME, pointer=True, doc="The time of the deletion. Set by the server."),
        Field(
            "deletionGracePeriodSeconds",
            10,
            INT64,
            pointer=True,
            doc="The number of seconds that a graceful deletion takes. Set by the server.",
        ),
        Field("labels", 11, STRING_MAP, doc="Keys and values by which objects can be selected."),
        Field("annotations", 12, STRING_MAP, doc="Keys and values for tools and people, which cannot be selected."),
        Field(
            "ownerReferences",
            13,
            ListOf(OWNER_REFERENCE),
            list_type="map",
            keys=("uid",),
            merge_key="uid",
            doc="The objects on which this object depends. It is deleted after the last of them.",
        ),
        Field(
            "finalizers",
            14,
            STRINGS,
            list_type="set",
            patch_strategy="merge",
            doc="Tasks that must be finished before the object is removed.",
        ),
        Field("managedFields", 17, ListOf(MANAGED_FIELDS_ENTRY), doc="The fields that each field manager owns."),
    ),
    doc="The standard metadata of objects.",
)


def _requirement(what: str, key: str, *, publishes_defaults: bool) -> ListOf:
    name = f"{what}SelectorRequirement"
    fields = (
        Field("key", 1, STRING, omitempty=False, doc=key),
        Field(
            "operator",
            2,
            String(f"v1.{what}SelectorOperator"),
            omitempty=False,
            doc="In, NotIn, Exists or DoesNotExist.",
        ),
        Field("values", 3, STRINGS, doc="The values for In and NotIn."),
    )
    doc = f"One requirement of a {what.lower()} selector."
    return ListOf(META_V1.struct(name, fields, doc=doc, publishes_defaults=publishes_defaults))


LABEL_REQUIREMENTS = _requirement("Label", "The label key.", publishes_defaults=False)
FIELD_REQUIREMENTS = _requirement("Field", "The path of the field.", publishes_defaults=True)

LABEL_SELECTOR = META_V1.struct(
    "LabelSelector",
    (
        Field("matchLabels", 1, STRING_MAP, doc="Labels that an object must have."),
        Field("matchExpressions", 2, LABEL_REQUIREMENTS, doc="Requirements that an object's labels must meet."),
    ),
    doc="A selection of objects by their labels.",
    atomic=True,
    publishes_defaults=False,
)

CONDITION = META_V1.struct(
    "Condition",
    (
        Field("type", 1, STRING, omitempty=False, doc="The aspect of the state, in CamelCase."),
        Field("status", 2, String("v1.ConditionStatus"), omitempty=False, doc="True, False or Unknown."),
        Field("observedGeneration", 3, INT64, doc="The generation of the object for which the condition was set."),
        Field("lastTransitionTime", 4, TIME, omitempty=False, doc="The time of the last change of the status."),
        Field("reason", 5, STRING, omitempty=False, doc="The reason for the last change, in CamelCase."),
        Field("message", 6, STRING, omitempty=False, doc="A readable explanation."),
    ),
    doc="One aspect of the state of an object.",
    publishes_defaults=False,
)

STATUS_DETAILS = META_V1.struct(
    "StatusDetails",
    (
        Field("name", 1, STRING, doc="The name of the object."),
        Field("group", 2, STRING, doc="The API group of the resource."),
        Field("kind", 3, STRING, doc="The resource."),
        Field("uid", 6, UID, doc="The uid of the object."),
        Field(
            "causes",
            4,
            ListOf(
                META_V1.struct(
                    "StatusCause",
                    (
                        Field("reason", 1, String("v1.CauseType"), doc="The cause, for programs."),
                        Field("message", 2, STRING, doc="The cause, for people."),
                        Field("field", 3, STRING, doc="The field that is invalid."),
                    ),
                    doc="One cause of a failure.",
                )
            ),
            doc="All causes of the failure.",
        ),
        Field("retryAfterSeconds", 5, INT32, doc="The number of seconds after which the client may retry."),
    ),
    doc="The object and the causes of a failure.",
)

STATUS = META_V1.struct(
    "Status",
    (
        *TYPE_META,
        Field("metadata", 1, LIST_META, doc="The standard metadata of lists."),
        Field("status", 2, STRING, doc="Success or Failure."),
        Field("message", 3, STRING, doc="A readable explanation."),
        Field("reason", 4, String("v1.StatusReason"), doc="The reason for the failure, for programs."),
        Field("details", 5, STATUS_DETAILS, pointer=True, doc="Details of the failure, which depend on the reason."),
        Field("code", 6, INT32, doc="The HTTP status code."),
    ),
    doc="The result of a request that does not return an object.",
    kind=True,
)

DELETE_OPTIONS = META_V1.struct(
    "DeleteOptions",
    (
        *TYPE_META,
        Field("gracePeriodSeconds", 1, INT64, pointer=True, doc="The number of seconds before the object is removed."),
        Field(
            "preconditions",
            2,
            META_V1.struct(
                "Preconditions",
                (
                    Field("uid", 1, UID, pointer=True, doc="The uid that the object must have."),
                    Field("resourceVersion", 2, STRING, pointer=True, doc="The version that the object must have."),
                ),
                doc="Conditions for deleting an object.",
            ),
            pointer=True,
            doc="Conditions for the deletion. If they do not hold, the server responds with 409.",
        ),
        Field("orphanDependents", 3, BOOL, pointer=True, doc="Deprecated: use propagationPolicy."),
        Field(
            "propagationPolicy",
            4,
            String("v1.DeletionPropagation"),
            pointer=True,
            doc="The treatment of dependent objects: Orphan, Background or Foreground.",
        ),
        Field("dryRun", 5, STRINGS, doc="All: process the request without deleting anything."),
        Field(
            "ignoreStoreReadErrorWithClusterBreakingPotential",
            6,
            BOOL,
            pointer=True,
            doc="True to delete an object that cannot be read from storage.",
        ),
    ),
    doc="The options of a delete request.",
    kind=True,
)

PARTIAL_OBJECT_METADATA = META_V1.struct(
    "PartialObjectMetadata", (*TYPE_META, Field("metadata", 1, OBJECT_META)), kind=True
)

PATCH = META_V1.struct("Patch", doc="A patch. The Content-Type of the request says of which type.")
"""The body of PATCH requests in OpenAPI."""
