"""Who may do what: the reviews of access, and of the rules by which it is given."""

from __future__ import annotations

from polykind.apis.authentication.types import EXTRA
from polykind.apis.machinery.fields import BOOL, STRING, STRINGS, Field, ListOf, String, Struct
from polykind.apis.meta.types import OBJECT_META, TYPE_META


def _selector(what: str) -> Struct:
    requirement = Struct(
        f"v1.{what}SelectorRequirement",
        (
            Field("key", STRING, 1, omitempty=False),
            Field("operator", String(f"v1.{what}SelectorOperator"), 2, omitempty=False),
            Field("values", STRINGS, 3),
        ),
    )
    return Struct(
        f"v1.{what}SelectorAttributes",
        (Field("rawSelector", STRING, 1), Field("requirements", ListOf(requirement), 2)),
    )


_ATTRIBUTES = (
    Field(
        "resourceAttributes",
        Struct(
            "v1.ResourceAttributes",
            (
                Field("namespace", STRING, 1),
                Field("verb", STRING, 2),
                Field("group", STRING, 3),
                Field("version", STRING, 4),
                Field("resource", STRING, 5),
                Field("subresource", STRING, 6),
                Field("name", STRING, 7),
                Field("fieldSelector", _selector("Field"), 8, pointer=True),
                Field("labelSelector", _selector("Label"), 9, pointer=True),
            ),
        ),
        1,
        pointer=True,
    ),
    Field(
        "nonResourceAttributes",
        Struct("v1.NonResourceAttributes", (Field("path", STRING, 1), Field("verb", STRING, 2))),
        2,
        pointer=True,
    ),
)
_SELF_SPEC = Struct("v1.SelfSubjectAccessReviewSpec", _ATTRIBUTES)
_SPEC = Struct(
    "v1.SubjectAccessReviewSpec",
    (
        *_ATTRIBUTES,
        Field("user", STRING, 3),
        Field("groups", STRINGS, 4),
        Field("extra", EXTRA, 5),
        Field("uid", STRING, 6),
    ),
)
_STATUS = Struct(
    "v1.SubjectAccessReviewStatus",
    (
        Field("allowed", BOOL, 1, omitempty=False),
        Field("denied", BOOL, 4),
        Field("reason", STRING, 2),
        Field("evaluationError", STRING, 3),
    ),
)


def _review(kind: str, spec: Struct, status: Struct) -> Struct:
    fields = (*TYPE_META, Field("metadata", OBJECT_META, 1), Field("spec", spec, 2), Field("status", status, 3))
    return Struct(f"v1.{kind}", fields, kind=kind, version="v1")


SUBJECT_ACCESS_REVIEW = _review("SubjectAccessReview", _SPEC, _STATUS)
LOCAL_SUBJECT_ACCESS_REVIEW = _review("LocalSubjectAccessReview", _SPEC, _STATUS)
SELF_SUBJECT_ACCESS_REVIEW = _review("SelfSubjectAccessReview", _SELF_SPEC, _STATUS)

_RESOURCE_RULE = Struct(
    "v1.ResourceRule",
    (
        Field("verbs", STRINGS, 1, omitempty=False),
        Field("apiGroups", STRINGS, 2),
        Field("resources", STRINGS, 3),
        Field("resourceNames", STRINGS, 4),
    ),
)
_NON_RESOURCE_RULE = Struct(
    "v1.NonResourceRule", (Field("verbs", STRINGS, 1, omitempty=False), Field("nonResourceURLs", STRINGS, 2))
)

SELF_SUBJECT_RULES_REVIEW = _review(
    "SelfSubjectRulesReview",
    Struct("v1.SelfSubjectRulesReviewSpec", (Field("namespace", STRING, 1),)),
    Struct(
        "v1.SubjectRulesReviewStatus",
        (
            Field("resourceRules", ListOf(_RESOURCE_RULE), 1, omitempty=False),
            Field("nonResourceRules", ListOf(_NON_RESOURCE_RULE), 2, omitempty=False),
            Field("incomplete", BOOL, 3, omitempty=False),
            Field("evaluationError", STRING, 4),
        ),
    ),
)
