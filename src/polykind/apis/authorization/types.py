"""Kinds of authorization: requests for a decision or for the rules that apply to a user."""

from __future__ import annotations

from polykind.apis.authentication.types import EXTRA
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.machinery.value_types import BOOL, STRING, STRINGS, ListOf
from polykind.apis.meta.types import FIELD_REQUIREMENTS, LABEL_REQUIREMENTS

AUTHORIZATION_V1 = GroupVersion(
    "authorization.k8s.io", "v1", "io.k8s.api.authorization.v1", group_priority=17600, version_priority=15
)


def _selector(what: str, requirements: ListOf) -> Struct:
    return AUTHORIZATION_V1.struct(
        f"{what}SelectorAttributes",
        f"The {what.lower()} selector of a request, as a string or as requirements.",
        Field("rawSelector", 1, STRING, "The selector as a query parameter."),
        Field("requirements", 2, requirements, "The requirements, all of which must be met."),
    )


_ATTRIBUTES = (
    Field(
        "resourceAttributes",
        1,
        AUTHORIZATION_V1.struct(
            "ResourceAttributes",
            "A request for a resource. * stands for all.",
            Field("namespace", 1, STRING, "The namespace; empty for all, or for cluster-wide resources."),
            Field("verb", 2, STRING, "The verb: get, list, watch, create, update, patch, delete."),
            Field("group", 3, STRING, "The API group of the resource."),
            Field("version", 4, STRING, "The API version of the resource."),
            Field("resource", 5, STRING, "The resource."),
            Field("subresource", 6, STRING, "The subresource; empty for none."),
            Field("name", 7, STRING, "The name of the object; empty for all."),
            Field(
                "fieldSelector",
                8,
                _selector("Field", FIELD_REQUIREMENTS),
                "The field selector of the request.",
                pointer=True,
            ),
            Field(
                "labelSelector",
                9,
                _selector("Label", LABEL_REQUIREMENTS),
                "The label selector of the request.",
                pointer=True,
            ),
        ),
        "A request for a resource.",
        pointer=True,
    ),
    Field(
        "nonResourceAttributes",
        2,
        AUTHORIZATION_V1.struct(
            "NonResourceAttributes",
            "A request for a URL path that is not a resource.",
            Field("path", 1, STRING, "The URL path."),
            Field("verb", 2, STRING, "The HTTP method."),
        ),
        "A request for a URL path that is not a resource.",
        pointer=True,
    ),
)
_SELF_SPEC = AUTHORIZATION_V1.struct(
    "SelfSubjectAccessReviewSpec", "The request to decide; exactly one of the two.", *_ATTRIBUTES
)
_SPEC = AUTHORIZATION_V1.struct(
    "SubjectAccessReviewSpec",
    "The request to decide, exactly one of the two, and its user.",
    *_ATTRIBUTES,
    Field("user", 3, STRING, "The name of the user."),
    Field("groups", 4, STRINGS, "The groups of the user."),
    Field("extra", 5, EXTRA, "Further attributes of the user."),
    Field("uid", 6, STRING, "The uid of the user."),
)
_STATUS = AUTHORIZATION_V1.struct(
    "SubjectAccessReviewStatus",
    "The decision.",
    Field("allowed", 1, BOOL, "True if the request is allowed.", omitempty=False),
    Field("denied", 4, BOOL, "True if the request is denied, and not only not allowed."),
    Field("reason", 2, STRING, "The reason for the decision."),
    Field("evaluationError", 3, STRING, "An error during the evaluation, which may have been incomplete."),
)


def _review(name: str, spec: Struct, status: Struct, doc: str, *, namespaced: bool = False) -> Kind:
    return Kind(
        AUTHORIZATION_V1,
        name,
        doc,
        Field("spec", 2, spec, "The request.", required=True),
        Field("status", 3, status, "The result. Set by the server."),
        namespaced=namespaced,
        verbs=("create",),
        known_versions=("v1", "v1beta1"),
    )


SUBJECT_ACCESS_REVIEW = _review("SubjectAccessReview", _SPEC, _STATUS, "A question whether a user may send a request.")
LOCAL_SUBJECT_ACCESS_REVIEW = _review(
    "LocalSubjectAccessReview",
    _SPEC,
    _STATUS,
    "A question whether a user may send a request in one namespace.",
    namespaced=True,
)
SELF_SUBJECT_ACCESS_REVIEW = _review(
    "SelfSubjectAccessReview", _SELF_SPEC, _STATUS, "A question whether the user that asks may send a request."
)

_RESOURCE_RULE = AUTHORIZATION_V1.struct(
    "ResourceRule",
    "The verbs that are allowed on resources. * stands for all.",
    Field("verbs", 1, STRINGS, "The allowed verbs.", omitempty=False),
    Field("apiGroups", 2, STRINGS, "The API groups of the resources."),
    Field("resources", 3, STRINGS, "The resources."),
    Field("resourceNames", 4, STRINGS, "The names of the objects; an empty list stands for all."),
)
_NON_RESOURCE_RULE = AUTHORIZATION_V1.struct(
    "NonResourceRule",
    "The HTTP methods that are allowed on URL paths. * stands for all.",
    Field("verbs", 1, STRINGS, "The allowed HTTP methods.", omitempty=False),
    Field("nonResourceURLs", 2, STRINGS, "The URL paths."),
)

SELF_SUBJECT_RULES_REVIEW = _review(
    "SelfSubjectRulesReview",
    AUTHORIZATION_V1.struct(
        "SelfSubjectRulesReviewSpec",
        "The namespace of a SelfSubjectRulesReview.",
        Field("namespace", 1, STRING, "The namespace; required."),
    ),
    AUTHORIZATION_V1.struct(
        "SubjectRulesReviewStatus",
        "The rules that apply to a user, in no particular order.",
        Field("resourceRules", 1, ListOf(_RESOURCE_RULE), "The rules for resources.", omitempty=False),
        Field("nonResourceRules", 2, ListOf(_NON_RESOURCE_RULE), "The rules for URL paths.", omitempty=False),
        Field("incomplete", 3, BOOL, "True if further rules may apply.", omitempty=False),
        Field("evaluationError", 4, STRING, "An error during the evaluation."),
    ),
    "A request for the rules that apply to the user that asks, in one namespace.",
)

KINDS = (LOCAL_SUBJECT_ACCESS_REVIEW, SELF_SUBJECT_ACCESS_REVIEW, SELF_SUBJECT_RULES_REVIEW, SUBJECT_ACCESS_REVIEW)
