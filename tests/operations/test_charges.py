"""Tests of quota charges."""

from __future__ import annotations

from polykind.operations.charges import Charges


class Recorded:
    """A charge that records what happens to it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def sent(self) -> None:
        self.calls.append("sent")

    def confirm(self) -> None:
        self.calls.append("confirm")

    def reject(self) -> None:
        self.calls.append("reject")

    def close(self) -> None:
        self.calls.append("close")


def test_a_stored_object_keeps_its_charges_until_the_end() -> None:
    charges, first, second = Charges(), Recorded(), Recorded()
    charges.hold(first)
    charges.hold(second)
    charges.sent()
    charges.confirm()
    charges.close()
    assert first.calls == second.calls == ["sent", "confirm", "close"]


def test_a_rejected_charge_is_not_closed_again() -> None:
    charges, charge = Charges(), Recorded()
    charges.hold(charge)
    charges.sent()
    charges.reject()
    charges.close()
    assert charge.calls == ["sent", "reject"]
