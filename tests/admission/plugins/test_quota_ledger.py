"""Charges of requests to quotas: shared updates, and what happens if an object is not stored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from polykind import errors
from polykind.admission.attributes import Compute, compute_inline
from polykind.admission.plugins.quota_ledger import Charge, QuotaLedger
from polykind.admission.plugins.resource_lists import ResourceList
from polykind.contract import JsonObject
from polykind.quantity import Quantity
from tests.admission.plugins.plugin_support import FakeObjects, services

NAME = "count/vats.x.io"


class OneObject:
    """The usage of one object."""

    may_exceed = False
    compute: Compute = staticmethod(compute_inline)

    def deltas(self, quotas: list[JsonObject]) -> list[tuple[JsonObject, ResourceList]]:
        return [(quota, {NAME: Quantity.of(1)}) for quota in quotas]

    def forbidden(self, reason: str) -> errors.APIError:
        return errors.ForbiddenError("vats", "x.io", "v", reason)


class CountingObjects(FakeObjects):
    """Objects with one quota, which counts its updates."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.updates = 0
        meta = {"name": "q", "namespace": "default"}
        hard = {NAME: str(limit)}
        self.put("", "resourcequotas", {"metadata": meta, "status": {"hard": hard, "used": {NAME: "0"}}})

    @property
    def used(self) -> str:
        used: str = self.stored["", "resourcequotas", "default", "q"]["status"]["used"][NAME]
        return used

    async def update_status(self, group: str, plural: str, obj: JsonObject) -> None:
        self.updates += 1
        await asyncio.sleep(0)
        await super().update_status(group, plural, obj)


async def settled() -> None:
    """Let the tasks of the ledger finish."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def objects() -> CountingObjects:
    return CountingObjects(3)


@pytest.fixture
def ledger(objects: CountingObjects) -> QuotaLedger:
    return QuotaLedger(services(objects))


async def test_waiting_requests_share_one_update(objects: CountingObjects, ledger: QuotaLedger) -> None:
    calls = (ledger.charge("default", OneObject()) for _ in range(5))
    results: list[Any] = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(result, Charge) for result in results] == [True, True, True, False, False]
    assert (objects.used, objects.updates) == ("3", 1)


@pytest.mark.parametrize("sent", [False, True])
async def test_object_that_is_not_stored_uses_nothing(
    objects: CountingObjects, ledger: QuotaLedger, sent: bool
) -> None:
    charge = await ledger.charge("default", OneObject())
    if sent:
        charge.sent()
        charge.reject()
    charge.close()
    await settled()
    assert objects.used == "0"
    assert ledger.open_amounts("default", "q") == {}


async def test_unknown_outcome_keeps_the_usage_and_asks_for_a_count(
    objects: CountingObjects, ledger: QuotaLedger
) -> None:
    recounted: list[str] = []
    ledger.recount = recounted.append
    charge = await ledger.charge("default", OneObject())
    charge.sent()
    assert ledger.open_amounts("default", "q") == {NAME: Quantity.of(1)}
    charge.close()
    assert (objects.used, recounted) == ("1", ["default"])


async def test_stored_object_is_counted_again_only_after_a_count(ledger: QuotaLedger) -> None:
    recounted: list[str] = []
    ledger.recount = recounted.append
    for counted in (False, True):
        charge = await ledger.charge("default", OneObject())
        if counted:
            ledger.open_amounts("default", "q")
        charge.sent()
        charge.confirm()
        charge.close()
        assert recounted == (["default"] if counted else [])


async def test_cancelled_request_uses_nothing(objects: CountingObjects, ledger: QuotaLedger) -> None:
    task = asyncio.create_task(ledger.charge("default", OneObject()))
    await asyncio.sleep(0)
    task.cancel()
    await settled()
    assert task.cancelled()
    assert objects.used == "0"


async def test_removal_survives_lost_races(objects: CountingObjects, ledger: QuotaLedger) -> None:
    charge = await ledger.charge("default", OneObject())
    objects.conflicts = 3
    charge.close()
    await settled()
    assert objects.used == "0"
