"""The union of authorizers and its construction from --authorization-mode."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from polykind.auth.authorizer import Access, AlwaysAllow, AlwaysDeny, Decision, Rules
from polykind.auth.authorizer_union import Superusers, Union, build_authorizer, join_errors
from polykind.auth.rbac.rbac_authorizer import CompiledBinding, CompiledRole
from polykind.auth.user import User

ANN = Access(User("ann"), "get", resource="widgets")
ADMIN = Access(User("admin", groups=("system:masters",)), "get", resource="widgets")
FORBIDDEN = Decision(False, "Everything is forbidden.")


def test_always_allow_needs_no_union() -> None:
    authorizer, rbac = build_authorizer(("AlwaysAllow",))
    assert isinstance(authorizer, AlwaysAllow)
    assert rbac is None


@pytest.mark.parametrize(
    ("modes", "decision", "allows_everything", "has_rbac"),
    [
        (("AlwaysDeny",), FORBIDDEN, False, False),
        (("RBAC",), Decision(False), False, True),
        (("RBAC", "AlwaysDeny"), FORBIDDEN, False, True),
        (("AlwaysDeny", "AlwaysAllow"), Decision(True), True, False),
        (("RBAC", "AlwaysAllow"), Decision(True), True, True),
    ],
)
async def test_modes_decide_in_order_after_the_superuser_group(
    modes: tuple[str, ...], decision: Decision, allows_everything: bool, has_rbac: bool
) -> None:
    authorizer, rbac = build_authorizer(modes)
    assert await authorizer.decide(ADMIN) == Decision(True)
    assert await authorizer.decide(ANN) == decision
    assert (authorizer.allows_everything, rbac is not None) == (allows_everything, has_rbac)


async def test_rbac_mode_decides_by_roles() -> None:
    authorizer, rbac = build_authorizer(("RBAC",))
    assert rbac is not None
    rbac.put_role("", "reader", CompiledRole([{"verbs": ["get"], "apiGroups": [""], "resources": ["widgets"]}]))
    ann = {"kind": "User", "name": "ann"}
    rbac.put_binding(
        "", "b", CompiledBinding("", "b", {"roleRef": {"kind": "ClusterRole", "name": "reader"}, "subjects": [ann]})
    )
    assert (await authorizer.decide(ANN)).allowed


@dataclass
class FixedAuthorizer:
    """Says the same to everything."""

    decision: Decision
    fixed_rules: Rules = Rules([], [])  # noqa: RUF009
    allows_everything: bool = False
    may_deny = False

    async def decide(self, access: Access) -> Decision:
        return self.decision

    def rules(self, user: User, namespace: str) -> Rules:
        return self.fixed_rules


NO_OPINION, REASON = FixedAuthorizer(Decision(False)), FixedAuthorizer(Decision(False, "why", error="wrong"))
ALLOW, DENY = FixedAuthorizer(Decision(True, "yes")), FixedAuthorizer(Decision(False, "no", denied=True))


@pytest.mark.parametrize(
    ("authorizers", "decision"),
    [
        ([], Decision(False)),
        ([NO_OPINION, ALLOW, DENY], Decision(True, "yes")),
        ([REASON, DENY, ALLOW], Decision(False, "no", denied=True)),
        ([REASON, ALLOW], Decision(True, "yes")),
        (
            [NO_OPINION, REASON, FixedAuthorizer(Decision(False, "and so"))],
            Decision(False, "why\nand so", error="wrong"),
        ),
        ([REASON, FixedAuthorizer(Decision(False, error="bad"))], Decision(False, "why", error="[wrong, bad]")),
    ],
)
async def test_first_opinion_decides_and_earlier_reasons_are_joined(
    authorizers: list[FixedAuthorizer], decision: Decision
) -> None:
    assert await Union(authorizers).decide(ANN) == decision


def test_rules_of_all_authorizers_are_joined() -> None:
    one = FixedAuthorizer(Decision(False), Rules([{"verbs": ["a"]}], [], incomplete=True, error="x"))
    two = FixedAuthorizer(Decision(False), Rules([{"verbs": ["b"]}], [{"verbs": ["c"]}], error="x"))
    assert Union([one, two]).rules(User("ann"), "here") == Rules(
        [{"verbs": ["a"]}, {"verbs": ["b"]}], [{"verbs": ["c"]}], incomplete=True, error="x"
    )


def test_union_allows_everything_if_one_authorizer_does() -> None:
    assert Union([AlwaysDeny(), AlwaysAllow()]).allows_everything
    assert not Union([AlwaysDeny(), Superusers()]).allows_everything


async def test_superusers_are_allowed_everything_by_their_group() -> None:
    admin = Access(User("x", groups=("system:masters",)), "get", path="/")
    assert await Union([Superusers(), AlwaysDeny()]).decide(admin) == Decision(True)
    assert await Union([Superusers(), AlwaysDeny()]).decide(ANN) == Decision(False, "Everything is forbidden.")
    assert Superusers().rules(admin.user, "here") == Rules([], [])


def test_join_errors_removes_duplicates() -> None:
    assert [join_errors([]), join_errors(["a"]), join_errors(["a", "a"]), join_errors(["a", "b", "a"])] == [
        "",
        "a",
        "a",
        "[a, b]",
    ]
