"""Several who decide what users may do, asked in turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polykind.auth.authorizer import Access, Authorizer, Decision, Rules
from polykind.auth.user import ADMIN_GROUP, User


class Superusers:
    """Those who may do everything whatever others say. Nobody is told of it as of a rule."""

    everything = False

    def decide(self, access: Access) -> Decision:
        return Decision(ADMIN_GROUP in access.user.groups)

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [])


class Union:
    """The first who allows or forbids decides; until then reasons and errors are gathered."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = authorizers
        # None of those there are forbids anything, so that one who allows everything is always heard.
        self.everything = any(authorizer.everything for authorizer in authorizers)

    def decide(self, access: Access) -> Decision:
        reasons, failures = [], []
        for authorizer in self._authorizers:
            decision = authorizer.decide(access)
            if decision.allowed or decision.denied:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
            if decision.error:
                failures.append(decision.error)
        return Decision(False, "\n".join(reasons), error=gathered(failures))

    def rules(self, user: User, namespace: str) -> Rules:
        every = [authorizer.rules(user, namespace) for authorizer in self._authorizers]
        return Rules(
            [rule for found in every for rule in found.resources],
            [rule for found in every for rule in found.paths],
            any(found.incomplete for found in every),
            gathered(found.error for found in every if found.error),
        )


def gathered(texts: Iterable[str]) -> str:
    """Several errors as one text: each once, in brackets if more than one."""
    once = list(dict.fromkeys(texts))
    return f"[{', '.join(once)}]" if len(once) > 1 else "".join(once)
