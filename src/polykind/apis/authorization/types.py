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
        (
            Field("rawSelector", 1, STRING, doc="The selector as a query parameter."),
            Field("requirements", 2, requirements, doc="The requirements, all of which must be met."),
        ),
        doc=f"The {what.lower()} selector of a request, as a string or as requirements.",
    )


_ATTRIBUTES = (
    Field(
        "resourceAttributes",
        1,
        AUTHORIZATION_V1.struct(
            "ResourceAttributes",
            (
                Field("namespace", 1, STRING, doc="The namespace; empty for all, or for cluster-wide resources."),
                Field("verb", 2, STRING, doc="The verb: get, list, watch, create, update, patch, delete."),
                Field("group", 3, STRING, doc="The API group of the resource."),
                Field("version", 4, STRING, doc="The API version of the resource."),
                Field("resource", 5, STRING, doc="The resource."),
                Field("subresource", 6, STRING, doc="The subresource; empty for none."),
                Field("name", 7, STRING, doc="The name of the object; empty for all."),
                Field(
                    "fieldSelector",
                    8,
                    _selector("Field", FIELD_REQUIREMENTS),
                    pointer=True,
                    doc="The field selector of the request.",
                ),
                Field(
                    "labelSelector",
                    9,
                    _selector("Label", LABEL_REQUIREMENTS),
                    pointer=True,
                    doc="The label selector of the request.",
                ),
            ),
            doc="A request for a resource. * stands for all.",
        ),
        pointer=True,
        doc="A request for a resource.",
    ),
    Field(
        "nonResourceAttributes",
        2,
        AUTHORIZATION_V1.struct(
            "NonResourceAttributes",
            (Field("path", 1, STRING, doc="The URL path."), Field("verb", 2, STRING, doc="The HTTP method.")),
            doc="A request for a URL path that is not a resource.",
        ),
        pointer=True,
        doc="A request for a URL path that is not a resource.",
    ),
)
_SELF_SPEC = AUTHORIZATION_V1.struct(
    "SelfSubjectAccessReviewSpec", _ATTRIBUTES, doc="The request to decide; exactly one of the two."
)
_SPEC = AUTHORIZATION_V1.struct(
    "SubjectAccessReviewSpec",
    (
        *_ATTRIBUTES,
        Field("user", 3, STRING, doc="The name of the user."),
        Field("groups", 4, STRINGS, doc="The groups of the user."),
        Field("extra", 5, EXTRA, doc="Further attributes of the user."),
        Field("uid", 6, STRING, doc="The uid of the user."),
    ),
    doc="The request to decide, exactly one of the two, and its user.",
)
_STATUS = AUTHORIZATION_V1.struct(
    "SubjectAccessReviewStatus",
    (
        Field("allowed", 1, BOOL, omitempty=False, doc="True if the request is allowed."),
        Field("denied", 4, BOOL, doc="True if the request is denied, and not only not allowed."),
        Field("reason", 2, STRING, doc="The reason for the decision."),
        Field("evaluationError", 3, STRING, doc="An error during the evaluation, which may have been incomplete."),
    ),
    doc="The decision.",
)


def _review(name: str, spec: Struct, status: Struct, doc: str, *, namespaced: bool = False) -> Kind:
    return Kind(
        AUTHORIZATION_V1,
        name,
        fields=(
            Field("spec", 2, spec, required=True, doc="The request."),
            Field("status", 3, status, doc="The result. Set by the server."),
        ),
        doc=doc,
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
    (
        Field("verbs", 1, STRINGS, omitempty=False, doc="The allowed verbs."),
        Field("apiGroups", 2, STRINGS, doc="The API groups of the resources."),
        Field("resources", 3, STRINGS, doc="The resources."),
        Field("resourceNames", 4, STRINGS, doc="The names of the objects; an empty list stands for all."),
    ),
    doc="The verbs that are allowed on resources. * stands for all.",
)
_NON_RESOURCE_RULE = AUTHORIZATION_V1.struct(
    "NonResourceRule",
    (
        Field("verbs", 1, STRINGS, omitempty=False, doc="The allowed HTTP methods."),
        Field("nonResourceURLs", 2, STRINGS, doc="The URL paths."),
    ),
    doc="The HTTP methods that are allowed on URL paths. * stands for all.",
)

SELF_SUBJECT_RULES_REVIEW = _review(
    "SelfSubjectRulesReview",
    AUTHORIZATION_V1.struct(
        "SelfSubjectRulesReviewSpec",
        (Field("namespace", 1, STRING, doc="The namespace; required."),),
        doc="The namespace of a SelfSubjectRulesReview.",
    ),
    AUTHORIZATION_V1.struct(
        "SubjectRulesReviewStatus",
        (
            Field("resourceRules", 1, ListOf(_RESOURCE_RULE), omitempty=False, doc="The rules for resources."),
            Field("nonResourceRules", 2, ListOf(_NON_RESOURCE_RULE), omitempty=False, doc="The rules for URL paths."),
            Field("incomplete", 3, BOOL, omitempty=False, doc="True if further rules may apply."),
            Field("evaluationError", 4, STRING, doc="An error during the evaluation."),
        ),
        doc="The rules that apply to a user, in no particular order.",
    ),
    "A request for the rules that apply to the user that asks, in one namespace.",
)

KINDS = (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
)
