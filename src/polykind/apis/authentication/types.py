"""Who is asking, and whose a token is: SelfSubjectReview and TokenReview."""

from __future__ import annotations

from polykind.apis.machinery.fields import BOOL, STRING, STRINGS, Field, MapOf, Struct, Wrapped
from polykind.apis.meta.types import OBJECT_META, TYPE_META

EXTRA = MapOf(Wrapped("v1.ExtraValue"))

USER_INFO = Struct(
    "v1.UserInfo",
    (
        Field("username", STRING, 1),
        Field("uid", STRING, 2),
        Field("groups", STRINGS, 3),
        Field("extra", EXTRA, 4),
    ),
)

SELF_SUBJECT_REVIEW = Struct(
    "v1.SelfSubjectReview",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("status", Struct("v1.SelfSubjectReviewStatus", (Field("userInfo", USER_INFO, 1),)), 2),
    ),
    kind="SelfSubjectReview",
    version="v1",
)

_TOKEN_REVIEW_STATUS = Struct(
    "v1.TokenReviewStatus",
    (
        Field("authenticated", BOOL, 1),
        Field("user", USER_INFO, 2),
        Field("audiences", STRINGS, 4),
        Field("error", STRING, 3),
    ),
)

TOKEN_REVIEW = Struct(
    "v1.TokenReview",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("spec", Struct("v1.TokenReviewSpec", (Field("token", STRING, 1), Field("audiences", STRINGS, 2))), 2),
        Field("status", _TOKEN_REVIEW_STATUS, 3),
    ),
    kind="TokenReview",
    version="v1",
)
