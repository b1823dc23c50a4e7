"""The usage of quotas that an operation records before its objects are stored."""

from __future__ import annotations

from typing import Protocol


class QuotaCharge(Protocol):
    """The usage of quotas that is recorded for an operation before its object is stored."""

    def sent(self) -> None:
        """Note that the write may have reached the store."""

    def confirm(self) -> None:
        """Note that the object is stored."""

    def reject(self) -> None:
        """Note that the store has rejected the write, and remove the usage."""

    def close(self) -> None:
        """End the operation. Remove the usage if the object was not sent to the store."""


class Charges:
    """All charges of one operation."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: list[QuotaCharge] = []

    def hold(self, charge: QuotaCharge) -> None:
        """Keep a charge until the end of the operation."""
        self._held.append(charge)

    def sent(self) -> None:
        """Note that the write may have reached the store."""
        for charge in self._held:
            charge.sent()

    def confirm(self) -> None:
        """Note that the object is stored."""
        for charge in self._held:
            charge.confirm()

    def reject(self) -> None:
        """Note that the store has rejected the write, and remove the usage."""
        held, self._held = self._held, []
        for charge in held:
            charge.reject()

    def close(self) -> None:
        """End all charges, because the operation has ended or its write has lost a race."""
        held, self._held = self._held, []
        for charge in held:
            charge.close()
