"""The Authorizer protocol, and the modes AlwaysAllow and AlwaysDeny."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import msgspec

from polykind.auth.user import User


class Access(msgspec.Struct, frozen=True):
    """An access to authorize: a user, a verb, and either a resource or a URL path (authorizer.Attributes in Go)."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    """The URL path of a non-resource request, else None."""


class Decision(NamedTuple):
    """An authorizer's decision. If neither `allowed` nor `denied` is true, the authorizer has no opinion.

    `error` is the reason why the decision may be incomplete.
    """

    allowed: bool
    reason: str = ""
    denied: bool = False
    error: str = ""


class AuthorizationFailedError(Exception):
    """No authorizer allows a request, and one of them has failed. kube-apiserver responds 500."""


class Rules(NamedTuple):
    """All rules that apply to a user in a namespace, as in the status of a SelfSubjectRulesReview."""

    resources: list[dict[str, list[str]]]
    paths: list[dict[str, list[str]]]
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    """Decides if a user may access a resource or URL path.

    Most authorizers have all data in memory, and their `decide` never waits. Only a webhook waits.
    """

    @property
    def allows_everything(self) -> bool:
        """True if every access of every user is allowed, so that callers can skip `decide`."""

    @property
    def may_deny(self) -> bool:
        """True if the authorizer can deny an access, so that no later authorizer is asked."""

    async def decide(self, access: Access) -> Decision: ...

    def rules(self, user: User, namespace: str) -> Rules: ...


class AlwaysAllow:
    """Allows every access of every authenticated user."""

    allows_everything = True
    may_deny = False

    async def decide(self, access: Access) -> Decision:
        return Decision(True)

    def rules(self, user: User, namespace: str) -> Rules:
        every = ["*"]
        return Rules(
            [{"verbs": every, "apiGroups": every, "resources": every}], [{"verbs": every, "nonResourceURLs": every}]
        )


class AlwaysDeny:
    """Allows no access to any user."""

    allows_everything = False
    may_deny = False

    async def decide(self, access: Access) -> Decision:
        return Decision(False, "Everything is forbidden.")

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [])
