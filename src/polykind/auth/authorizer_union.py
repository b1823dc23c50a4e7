"""The union of several authorizers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from polykind.auth.authorizer import Access, AlwaysAllow, AlwaysDeny, Authorizer, Decision, Rules
from polykind.auth.user import ADMIN_GROUP, User

if TYPE_CHECKING:
    from polykind.auth.rbac.rbac_authorizer import RBACAuthorizer


def build_authorizer(modes: Sequence[str | Authorizer]) -> tuple[Authorizer, RBACAuthorizer | None]:
    """Return the union of authorizers, and the RBAC authorizer in it, or None without the mode RBAC.

    An item of `modes` is an authorizer, or the name of a mode that needs no configuration.
    """
    if list(modes) == ["AlwaysAllow"]:
        return AlwaysAllow(), None
    from polykind.auth.rbac.rbac_authorizer import RBACAuthorizer

    rbac = RBACAuthorizer()
    by_name: dict[str, Authorizer] = {"AlwaysAllow": AlwaysAllow(), "AlwaysDeny": AlwaysDeny(), "RBAC": rbac}
    authorizers = [by_name[mode] if isinstance(mode, str) else mode for mode in modes]
    return Union([Superusers(), *authorizers]), rbac if "RBAC" in modes else None


class Superusers:
    """Allows everything to the group system:masters. As in kube-apiserver, its `rules` are empty."""

    allows_everything = False
    may_deny = False

    async def decide(self, access: Access) -> Decision:
        return Decision(ADMIN_GROUP in access.user.groups)

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [])


class Union:
    """Asks authorizers in turn until one allows or denies the access. If none does, joins their reasons and errors."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = authorizers
        # Only a webhook can deny an access, so that later authorizers are not asked.
        asked = takewhile(lambda authorizer: not authorizer.may_deny, authorizers)
        self.may_deny = any(authorizer.may_deny for authorizer in authorizers)
        self.allows_everything = any(authorizer.allows_everything for authorizer in asked)

    async def decide(self, access: Access) -> Decision:
        reasons, failures = [], []
        for authorizer in self._authorizers:
            decision = await authorizer.decide(access)
            if decision.allowed or decision.denied:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
            if decision.error:
                failures.append(decision.error)
        return Decision(False, "\n".join(reasons), error=join_errors(failures))

    def rules(self, user: User, namespace: str) -> Rules:
        all_rules = [authorizer.rules(user, namespace) for authorizer in self._authorizers]
        return Rules(
            [rule for rules in all_rules for rule in rules.resources],
            [rule for rules in all_rules for rule in rules.paths],
            any(rules.incomplete for rules in all_rules),
            join_errors(rules.error for rules in all_rules if rules.error),
        )


def join_errors(texts: Iterable[str]) -> str:
    """Join error texts as Go's aggregate does: without duplicates, and in brackets if several remain."""
    unique = list(dict.fromkeys(texts))
    return f"[{', '.join(unique)}]" if len(unique) > 1 else "".join(unique)
