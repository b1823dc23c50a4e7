"""What a user may do: the question, the answer, and the two who answer without looking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from polykind.auth.user import User


@dataclass(frozen=True, slots=True)
class Access:
    """What somebody is about to do, as the path and the method of a request tell it."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None
    """The path, where it is of no resource."""


class Decision(NamedTuple):
    """Whether it is allowed; who does not allow it may forbid it, whatever others say. `error`: what went wrong."""

    allowed: bool
    reason: str = ""
    denied: bool = False
    error: str = ""


class Rules(NamedTuple):
    """Everything that a user may do in a namespace, in the form of a SelfSubjectRulesReview."""

    resources: list[dict[str, list[str]]]
    paths: list[dict[str, list[str]]]
    incomplete: bool = False
    error: str = ""


class Authorizer(Protocol):
    """Decides from what it holds in memory: nobody waits for it."""

    @property
    def everything(self) -> bool:
        """Whether it allows everything to everybody, so that it need not be asked."""

    def decide(self, access: Access) -> Decision: ...

    def rules(self, user: User, namespace: str) -> Rules: ...


class AlwaysAllow:
    """Everybody who is known may do everything."""

    everything = True

    def decide(self, access: Access) -> Decision:
        return Decision(True)

    def rules(self, user: User, namespace: str) -> Rules:
        every = ["*"]
        return Rules(
            [{"verbs": every, "apiGroups": every, "resources": every}], [{"verbs": every, "nonResourceURLs": every}]
        )


class AlwaysDeny:
    """Nobody may do anything."""

    everything = False

    def decide(self, access: Access) -> Decision:
        return Decision(False, "Everything is forbidden.")

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [])
