"""Kinds of authentication: SelfSubjectReview, TokenReview, and TokenRequest, the kind of serviceaccounts/token."""

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
    "A user.",
    Field("username", 1, STRING, "The name of the user."),
    Field("uid", 2, STRING, "An identifier that distinguishes users of the same name."),
    Field("groups", 3, STRINGS, "The groups of the user."),
    Field("extra", 4, EXTRA, "Further attributes from the user's credentials."),
)

SELF_SUBJECT_REVIEW = Kind(
    AUTHENTICATION_V1,
    "SelfSubjectReview",
    "A request for the user that sends it, as the server authenticates it.",
    Field(
        "status",
        2,
        AUTHENTICATION_V1.struct(
            "SelfSubjectReviewStatus",
            "The result of a SelfSubjectReview.",
            Field("userInfo", 1, USER_INFO, "The user that sends the request."),
        ),
        "The result. Set by the server.",
    ),
    verbs=("create",),
    known_versions=("v1", "v1beta1", "v1alpha1"),
)

TOKEN_REVIEW = Kind(
    AUTHENTICATION_V1,
    "TokenReview",
    "A request for the user of a bearer token.",
    Field(
        "spec",
        2,
        AUTHENTICATION_V1.struct(
            "TokenReviewSpec",
            "The token of a TokenReview.",
            Field("token", 1, STRING, "The bearer token.", required=True),
            Field("audiences", 2, STRINGS, "The requested audiences; by default this server."),
        ),
        "The token.",
        required=True,
    ),
    Field(
        "status",
        3,
        AUTHENTICATION_V1.struct(
            "TokenReviewStatus",
            "The result of a TokenReview.",
            Field("authenticated", 1, BOOL, "True if the token belongs to a user."),
            Field("user", 2, USER_INFO, "The user of the token."),
            Field("audiences", 4, STRINGS, "The requested audiences for which the token is valid."),
            Field("error", 3, STRING, "The reason why the token could not be checked."),
        ),
        "The result. Set by the server.",
    ),
    verbs=("create",),
    known_versions=("v1", "v1beta1"),
)

TOKEN_REQUEST = Kind(
    AUTHENTICATION_V1,
    "TokenRequest",
    "A request for a token of a service account.",
    fields_in="polykind.apis.authentication.token_request_types:TOKEN_REQUEST_FIELDS",
    verbs=(),
    namespaced=True,
)

KINDS = (SELF_SUBJECT_REVIEW, TOKEN_REVIEW)
