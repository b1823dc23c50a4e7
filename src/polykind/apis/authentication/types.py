"""Kinds of authentication: SelfSubjectReview and TokenReview."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import BOOL, STRING, STRINGS, MapOf, Wrapped

AUTHENTICATION_V1 = GroupVersion(
    "authentication.k8s.io", "v1", "io.k8s.api.authentication.v1", group_priority=17700, version_priority=15
)

EXTRA = MapOf(Wrapped("v1.ExtraValue"))

USER_INFO = AUTHENTICATION_V1.struct(
    "UserInfo",
    (
        Field("username", 1, STRING, doc="The name of the user."),
        Field("uid", 2, STRING, doc="An identifier that distinguishes users of the same name."),
        Field("groups", 3, STRINGS, doc="The groups of the user."),
        Field("extra", 4, EXTRA, doc="Further attributes from the user's credentials."),
    ),
    doc="A user.",
)

SELF_SUBJECT_REVIEW = Kind(
    AUTHENTICATION_V1,
    "SelfSubjectReview",
    fields=(
        Field(
            "status",
            2,
            AUTHENTICATION_V1.struct(
                "SelfSubjectReviewStatus",
                (Field("userInfo", 1, USER_INFO, doc="The user that sends the request."),),
                doc="The result of a SelfSubjectReview.",
            ),
            doc="The result. Set by the server.",
        ),
    ),
    doc="A request for the user that sends it, as the server authenticates it.",
    verbs=("create",),
    known_versions=("v1", "v1beta1", "v1alpha1"),
)

TOKEN_REVIEW = Kind(
    AUTHENTICATION_V1,
    "TokenReview",
    fields=(
        Field(
            "spec",
            2,
            AUTHENTICATION_V1.struct(
                "TokenReviewSpec",
                (
                    Field("token", 1, STRING, required=True, doc="The bearer token."),
                    Field("audiences", 2, STRINGS, doc="The requested audiences; by default this server."),
                ),
                doc="The token of a TokenReview.",
            ),
            required=True,
            doc="The token.",
        ),
        Field(
            "status",
            3,
            AUTHENTICATION_V1.struct(
                "TokenReviewStatus",
                (
                    Field("authenticated", 1, BOOL, doc="True if the token belongs to a user."),
                    Field("user", 2, USER_INFO, doc="The user of the token."),
                    Field("audiences", 4, STRINGS, doc="The requested audiences for which the token is valid."),
                    Field("error", 3, STRING, doc="The reason why the token could not be checked."),
                ),
                doc="The result of a TokenReview.",
            ),
            doc="The result. Set by the server.",
        ),
    ),
    doc="A request for the user of a bearer token.",
    verbs=("create",),
    known_versions=("v1", "v1beta1"),
)

KINDS = (SELF_SUBJECT_REVIEW, TOKEN_REVIEW)
