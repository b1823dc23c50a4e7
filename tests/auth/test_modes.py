"""From the modes of the flag to an authorizer."""

from __future__ import annotations

import pytest

from polykind.auth.authorizer import Access, AlwaysAllow, Decision
from polykind.auth.modes import chosen
from polykind.auth.user import User

ANN = Access(User("ann"), "get", resource="widgets")
ADMIN = Access(User("admin", groups=("system:masters",)), "get", resource="widgets")
FORBIDDEN = Decision(False, "Everything is forbidden.")


def test_nobody_is_asked_by_default() -> None:
    authorizer, rbac = chosen(("AlwaysAllow",))
    assert isinstance(authorizer, AlwaysAllow)
    assert rbac is None


@pytest.mark.parametrize(
    ("modes", "decision", "everything", "roles"),
    [
        (("AlwaysDeny",), FORBIDDEN, False, False),
        (("RBAC",), Decision(False), False, True),
        (("RBAC", "AlwaysDeny"), FORBIDDEN, False, True),
        (("AlwaysDeny", "AlwaysAllow"), Decision(True), True, False),
        (("RBAC", "AlwaysAllow"), Decision(True), True, True),
    ],
)
def test_modes_are_asked_in_order_after_the_superusers_group(
    modes: tuple[str, ...], decision: Decision, everything: bool, roles: bool
) -> None:
    authorizer, rbac = chosen(modes)
    assert authorizer.decide(ADMIN) == Decision(True)
    assert authorizer.decide(ANN) == decision
    assert (authorizer.everything, rbac is not None) == (everything, roles)


def test_what_is_told_of_roles_is_decided_by() -> None:
    authorizer, rbac = chosen(("RBAC",))
    assert rbac is not None
    rbac.put_role("", "reader", [{"verbs": ["get"], "apiGroups": [""], "resources": ["widgets"]}])
    ann = {"kind": "User", "name": "ann"}
    rbac.put_binding("", "b", {"roleRef": {"kind": "ClusterRole", "name": "reader"}, "subjects": [ann]})
    assert authorizer.decide(ANN).allowed
