"""References from one object to another, or to a part of it."""

from __future__ import annotations

from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BOOL, QUANTITY, STRING, STRINGS, ListOf
from polykind.apis.meta.types import UID

_struct = CORE_V1.struct


OBJECT_REFERENCE = _struct(
    "ObjectReference",
    "A reference to an object, or to a part of it.",
    Field("kind", 1, STRING, "The kind of the object."),
    Field("namespace", 2, STRING, "The namespace of the object."),
    Field("name", 3, STRING, "The name of the object."),
    Field("uid", 4, UID, "The uid of the object."),
    Field("apiVersion", 5, STRING, "The apiVersion of the object."),
    Field("resourceVersion", 6, STRING, "The version of the object."),
    Field("fieldPath", 7, STRING, "A part of the object, such as spec.containers{name}."),
    atomic=True,
)

LOCAL_OBJECT_REFERENCE = _struct(
    "LocalObjectReference",
    "A reference to an object in the same namespace.",
    Field("name", 1, STRING, "The name of the object.", default=""),
    atomic=True,
)

TYPED_LOCAL_OBJECT_REFERENCE = _struct(
    "TypedLocalObjectReference",
    "A reference to an object of any kind in the same namespace.",
    Field("apiGroup", 1, STRING, omitempty=False, pointer=True),
    Field("kind", 2, STRING, omitempty=False),
    Field("name", 3, STRING, omitempty=False),
    atomic=True,
)

TYPED_OBJECT_REFERENCE = _struct(
    "TypedObjectReference",
    "A reference to an object of any kind, possibly in another namespace.",
    Field("apiGroup", 1, STRING, omitempty=False, pointer=True),
    Field("kind", 2, STRING, omitempty=False),
    Field("name", 3, STRING, omitempty=False),
    Field("namespace", 4, STRING, pointer=True),
)

SECRET_REFERENCE = _struct(
    "SecretReference",
    "A reference to a Secret in any namespace.",
    Field("name", 1, STRING, "The name of the Secret."),
    Field("namespace", 2, STRING, "The namespace of the Secret."),
    atomic=True,
)

CONFIG_MAP_KEY_SELECTOR = _struct(
    "ConfigMapKeySelector",
    "A key of a ConfigMap.",
    Field("", 1, LOCAL_OBJECT_REFERENCE),
    Field("key", 2, STRING, omitempty=False),
    Field("optional", 3, BOOL, pointer=True),
    atomic=True,
)

SECRET_KEY_SELECTOR = _struct(
    "SecretKeySelector",
    "A key of a Secret.",
    Field("", 1, LOCAL_OBJECT_REFERENCE),
    Field("key", 2, STRING, omitempty=False),
    Field("optional", 3, BOOL, pointer=True),
    atomic=True,
)

FILE_KEY_SELECTOR = _struct(
    "FileKeySelector",
    "A key of a file with environment variables.",
    Field("volumeName", 1, STRING, omitempty=False),
    Field("path", 2, STRING, omitempty=False),
    Field("key", 3, STRING, omitempty=False),
    Field("optional", 4, BOOL, pointer=True, default=False),
    atomic=True,
)

OBJECT_FIELD_SELECTOR = _struct(
    "ObjectFieldSelector",
    "A field of the pod.",
    Field("apiVersion", 1, STRING),
    Field("fieldPath", 2, STRING, omitempty=False),
    atomic=True,
)

RESOURCE_FIELD_SELECTOR = _struct(
    "ResourceFieldSelector",
    "A resource request or limit of a container.",
    Field("containerName", 1, STRING),
    Field("resource", 2, STRING, omitempty=False),
    Field("divisor", 3, QUANTITY),
    atomic=True,
)

_TOPOLOGY_SELECTOR_LABEL_REQUIREMENT = _struct(
    "TopologySelectorLabelRequirement",
    "The values that a topology label may have.",
    Field("key", 1, STRING, omitempty=False),
    Field("values", 2, STRINGS, omitempty=False),
)

TOPOLOGY_SELECTOR_TERM = _struct(
    "TopologySelectorTerm",
    "Requirements on topology labels, which must all be met.",
    Field("matchLabelExpressions", 1, ListOf(_TOPOLOGY_SELECTOR_LABEL_REQUIREMENT)),
    atomic=True,
)
