"""The kind RateLimitConfiguration: how many requests and watches each user may have."""

from __future__ import annotations

from polykind.apis.machinery.structs import Field, GroupVersion
from polykind.apis.machinery.value_types import FLOAT64, INT32, STRING, STRINGS, ListOf

_V1 = GroupVersion("polykind.dev", "v1")

_RATE = _V1.struct(
    "Rate",
    "A number of requests per second.",
    Field("perSecond", 0, FLOAT64, "The number of requests per second in the long run.", omitempty=False),
    Field("burst", 0, INT32, "The number of requests that may arrive at once. At least 1.", omitempty=False),
)

_LIMIT = _V1.struct(
    "Limit",
    "The limits of each user that matches. Every user has them alone: users do not share a limit.",
    Field("name", 0, STRING, "The name of the limit, for messages and metrics.", omitempty=False),
    Field("users", 0, STRINGS, "The names of users."),
    Field("groups", 0, STRINGS, "Groups of users. Without users and groups, the limit applies to all users."),
    Field("reads", 0, _RATE, "The rate of GET and HEAD requests. Without it, they are not limited.", pointer=True),
    Field("writes", 0, _RATE, "The rate of all other requests. Without it, they are not limited.", pointer=True),
    Field("watches", 0, INT32, "The number of open watches. Without it, they are not limited.", pointer=True),
)

_TYPE = (
    Field("kind", 1, STRING, "RateLimitConfiguration."),
    Field("apiVersion", 2, STRING, "polykind.dev/v1."),
)

CONFIGURATION = {
    "polykind.dev/v1": _V1.struct(
        "RateLimitConfiguration",
        "How many requests and watches each user may have. The first limit that matches a user applies.",
        *_TYPE,
        Field("limits", 0, ListOf(_LIMIT), "The limits, in order.", omitempty=False),
        kind=True,
    )
}
"""The kind RateLimitConfiguration by apiVersion."""
