"""Several authorizers in turn."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from polykind.auth.authorizer import Access, AlwaysAllow, AlwaysDeny, Decision, Rules
from polykind.auth.union import Superusers, Union, gathered
from polykind.auth.user import User

ACCESS = Access(User("ann"), "get", resource="widgets")


@dataclass
class Saying:
    """Says the same to everything."""

    decision: Decision
    told: Rules = Rules([], [])  # noqa: RUF009
    everything: bool = False

    def decide(self, access: Access) -> Decision:
        return self.decision

    def rules(self, user: User, namespace: str) -> Rules:
        return self.told


NOTHING, WHY = Saying(Decision(False)), Saying(Decision(False, "why", error="wrong"))
YES, NO = Saying(Decision(True, "yes")), Saying(Decision(False, "no", denied=True))


@pytest.mark.parametrize(
    ("authorizers", "decision"),
    [
        ([], Decision(False)),
        ([NOTHING, YES, NO], Decision(True, "yes")),
        ([WHY, NO, YES], Decision(False, "no", denied=True)),
        ([WHY, YES], Decision(True, "yes")),
        ([NOTHING, WHY, Saying(Decision(False, "and so"))], Decision(False, "why\nand so", error="wrong")),
        ([WHY, Saying(Decision(False, error="bad"))], Decision(False, "why", error="[wrong, bad]")),
    ],
)
def test_the_first_opinion_decides_and_reasons_are_gathered_until_then(
    authorizers: list[Saying], decision: Decision
) -> None:
    assert Union(authorizers).decide(ACCESS) == decision


def test_rules_of_all_are_told_together() -> None:
    one = Saying(Decision(False), Rules([{"verbs": ["a"]}], [], incomplete=True, error="x"))
    two = Saying(Decision(False), Rules([{"verbs": ["b"]}], [{"verbs": ["c"]}], error="x"))
    assert Union([one, two]).rules(User("ann"), "here") == Rules(
        [{"verbs": ["a"]}, {"verbs": ["b"]}], [{"verbs": ["c"]}], incomplete=True, error="x"
    )


def test_one_who_allows_everything_makes_all_the_others_idle() -> None:
    assert Union([AlwaysDeny(), AlwaysAllow()]).everything
    assert not Union([AlwaysDeny(), Superusers()]).everything


def test_superusers_may_do_everything_by_their_group() -> None:
    admin = Access(User("x", groups=("system:masters",)), "get", path="/")
    assert Union([Superusers(), AlwaysDeny()]).decide(admin) == Decision(True)
    assert Union([Superusers(), AlwaysDeny()]).decide(ACCESS) == Decision(False, "Everything is forbidden.")
    assert Superusers().rules(admin.user, "here") == Rules([], [])


def test_errors_are_told_once_each() -> None:
    assert [gathered([]), gathered(["a"]), gathered(["a", "a"]), gathered(["a", "b", "a"])] == ["", "a", "a", "[a, b]"]
