"""The ledger of quotas: charges the usage of requests to the quotas of their namespaces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

from polykind import errors
from polykind.admission.attributes import Compute
from polykind.admission.plugins.builtin_plugin import PluginServices
from polykind.admission.plugins.resource_lists import ResourceList, add, mask, parse_resources, subtract, to_json
from polykind.contract import JsonObject

_ATTEMPTS = 12
"""The number of attempts to record the usage while other writers change the quota. kube-apiserver has 4."""


class Claim(Protocol):
    """The usage that a request asks for."""

    def deltas(self, quotas: list[JsonObject]) -> list[tuple[JsonObject, ResourceList]]:
        """Return the quotas that limit the request, with the usage that it adds. Raise APIError to reject it."""

    def forbidden(self, reason: str) -> errors.APIError:
        """Return the error for a request that a quota rejects."""

    @property
    def compute(self) -> Compute:
        """A function that runs a computation on the request's objects: in a worker thread if they are large."""

    @property
    def may_exceed(self) -> bool:
        """True if the usage is recorded even if it exceeds a quota."""


class Charge:
    """The usage of one request that is recorded in the status of quotas, although the object may not be stored yet.

    The request calls `sent` before it writes the object, `confirm` after that, and `close` at its end. The usage of an
    object that was not stored is then removed from the quotas.
    """

    __slots__ = ("_ledger", "_state", "amounts", "namespace", "recounted")

    _RESERVED, _SENT, _STORED, _CLOSED = range(4)

    def __init__(self, ledger: QuotaLedger, namespace: str) -> None:
        self._ledger = ledger
        self._state = self._RESERVED
        self.namespace = namespace
        self.amounts: dict[str, ResourceList] = {}
        """The recorded usage by the name of the quota."""
        self.recounted = False
        """True if the usage of the namespace was counted while this charge was open. The object may count twice."""

    def sent(self) -> None:
        """Note that the write may have reached the store."""
        self._state = self._SENT

    def confirm(self) -> None:
        """Note that the object is stored."""
        self._state = self._STORED

    def reject(self) -> None:
        """Note that the store has rejected the write, and remove the usage."""
        self._state = self._RESERVED
        self.close()

    def close(self) -> None:
        """End the request."""
        state, self._state = self._state, self._CLOSED
        if state != self._CLOSED:
            self._ledger.close_charge(
                self, remove=state == self._RESERVED, recount=self.recounted or state == self._SENT
            )


class QuotaLedger:
    """Records the usage of requests in the status of quotas.

    The requests of a namespace that arrive together share one update of each quota. The quota's resourceVersion detects
    concurrent writes of other replicas and controllers.
    """

    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._waiting: dict[str, Batch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: dict[str, set[Charge]] = {}
        self.recount: Callable[[str], None] = lambda namespace: None
        """A function that is called if the usage in a namespace has to be counted again."""

    def lock(self, namespace: str) -> asyncio.Lock:
        """Return the lock under which the usage of quotas in a namespace is computed and written."""
        lock = self._locks.get(namespace)
        if lock is None:
            lock = self._locks[namespace] = asyncio.Lock()
        return lock

    def open_amounts(self, namespace: str, quota: str) -> ResourceList:
        """Return the usage of requests whose objects may not be stored yet. Each of them asks for a recount later."""
        total: ResourceList = {}
        for charge in self._open.get(namespace, ()):
            charge.recounted = True
            total = add(total, charge.amounts.get(quota, {}))
        return total

    async def charge(self, namespace: str, claim: Claim) -> Charge:
        """Record the usage of a request. Raise APIError if it would exceed a quota."""
        future: asyncio.Future[Charge] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(namespace)
        if waiting is not None:
            waiting.append((claim, future))
        else:
            self._waiting[namespace] = [(claim, future)]
            self._run(self._charge_waiting(namespace))
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result().close()
            raise

    async def check(self, namespace: str, claim: Claim) -> None:
        """Raise APIError if the usage of a dry run would exceed a quota."""
        quotas = await self._services.objects.list("", "resourcequotas", namespace)
        if quotas:
            await claim.compute(lambda: _Usage(quotas).charge(claim))

    def close_charge(self, charge: Charge, *, remove: bool, recount: bool) -> None:
        """End a charge. If `remove` is true, remove its usage from the quotas."""
        if remove and charge.amounts:
            self._run(self._remove(charge))
            return
        self._forget(charge)
        if recount:
            self.recount(charge.namespace)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _forget(self, charge: Charge) -> None:
        charges = self._open.get(charge.namespace)
        if charges is not None:
            charges.discard(charge)
            if not charges:
                del self._open[charge.namespace]

    async def _charge_waiting(self, namespace: str) -> None:
        async with self.lock(namespace):
            batch = self._waiting.pop(namespace)
            try:
                await self._charge_batch(namespace, batch)
            except Exception as error:  # Every waiting request gets the error.
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)

    async def _charge_batch(self, namespace: str, batch: Batch) -> None:
        """Charge several requests in the order of their arrival."""
        charges: dict[int, Charge] = {}
        pending: set[str] | None = None
        for attempt in range(_ATTEMPTS):
            quotas = await self._services.objects.list("", "resourcequotas", namespace)
            usage = _Usage([quota for quota in quotas if pending is None or quota["metadata"]["name"] in pending])
            added: dict[str, list[tuple[Charge, ResourceList]]] = {}
            for number, (claim, future) in enumerate(batch):
                if future.done():
                    continue
                charge = charges.setdefault(number, Charge(self, namespace))
                try:
                    deltas = await claim.compute(partial(usage.charge, claim))
                except errors.APIError as error:
                    future.set_exception(error)
                    charge.close()
                    continue
                for name, delta in deltas.items():
                    added.setdefault(name, []).append((charge, delta))
            pending, failure = await self._write(namespace, usage, added)
            if failure is None:
                break
            if attempt == _ATTEMPTS - 1:
                failed = {id(charge) for name in pending for charge, _ in added[name]}
                _fail(batch, {number: charge for number, charge in charges.items() if id(charge) in failed}, failure)
        _settle(batch, charges)

    async def _write(
        self, namespace: str, usage: _Usage, added: dict[str, list[tuple[Charge, ResourceList]]]
    ) -> tuple[set[str], errors.APIError | None]:
        """Write the usage of the changed quotas. Return the names of those that failed, and the last error."""
        failed: set[str] = set()
        failure: errors.APIError | None = None
        for name, parts in added.items():
            for charge, delta in parts:
                charge.amounts[name] = delta
                self._open.setdefault(namespace, set()).add(charge)
            try:
                await self._services.status.update_status("", "resourcequotas", usage.updated(name))
            except errors.APIError as error:
                for charge, _ in parts:
                    del charge.amounts[name]
                if error.code != 404:
                    failed.add(name)
                    failure = error
        return failed, failure

    async def _remove(self, charge: Charge) -> None:
        """Subtract the usage of an object that was not stored."""
        async with self.lock(charge.namespace):
            try:
                for _ in range(_ATTEMPTS):
                    for quota in await self._services.objects.list("", "resourcequotas", charge.namespace):
                        name, status = quota["metadata"]["name"], quota.get("status") or {}
                        if name not in charge.amounts:
                            continue
                        used = parse_resources(status.get("used"))
                        lower = {**used, **subtract(used, mask(charge.amounts[name], used))}
                        changed = {**quota, "status": {**status, "used": to_json(lower)}}
                        try:
                            await self._services.status.update_status("", "resourcequotas", changed)
                        except errors.APIError:
                            # Another writer was faster. Read the quota again.
                            continue
                        del charge.amounts[name]
                    if not charge.amounts:
                        return
            finally:
                self._forget(charge)
                if charge.amounts or charge.recounted:
                    self.recount(charge.namespace)


class _Usage:
    """The usage of some quotas, with that of the requests that are charged so far."""

    def __init__(self, quotas: Iterable[JsonObject]) -> None:
        self._quotas = {quota["metadata"]["name"]: quota for quota in quotas}
        self._used = {
            name: parse_resources((quota.get("status") or {}).get("used")) for name, quota in self._quotas.items()
        }

    def charge(self, claim: Claim) -> dict[str, ResourceList]:
        """Add the usage of a request. Return what it adds to each quota. Raise APIError if it would exceed one."""
        added: dict[str, ResourceList] = {}
        for quota, delta in claim.deltas(list(self._quotas.values())):
            name = quota["metadata"]["name"]
            hard, used = parse_resources((quota.get("status") or {}).get("hard")), self._used[name]
            requested = mask(delta, hard)
            total = add(used, requested)
            exceeded = {one for one in requested if total[one] > hard[one]}
            if exceeded and not claim.may_exceed:
                lists = {"requested": requested, "used": used, "limited": hard}
                figures = ", ".join(f"{word}: {_text(mask(resources, exceeded))}" for word, resources in lists.items())
                raise claim.forbidden(f"exceeded quota: {name}, {figures}")
            if any(quantity.sign for quantity in requested.values()):
                added[name] = requested
        for name, delta in added.items():
            self._used[name] = add(self._used[name], delta)
        return added

    def updated(self, name: str) -> JsonObject:
        """Return a quota with its new usage."""
        quota = self._quotas[name]
        return {**quota, "status": {**(quota.get("status") or {}), "used": to_json(self._used[name])}}


def _text(resources: ResourceList) -> str:
    return ",".join(f"{name}={resources[name]}" for name in sorted(resources))


Batch = list[tuple[Claim, "asyncio.Future[Charge]"]]
"""The requests that are charged together, each with its result."""


def _fail(batch: Batch, charges: Mapping[int, Charge], failure: Exception) -> None:
    """Fail the requests of a batch whose charges, by their numbers, could not be written."""
    for number, charge in charges.items():
        future = batch[number][1]
        if not future.done():
            future.set_exception(failure)
            charge.close()


def _settle(batch: Batch, charges: Mapping[int, Charge]) -> None:
    """Pass the charges of a batch to the requests. Close those of requests that were cancelled meanwhile."""
    for number, (_, future) in enumerate(batch):
        if future.cancelled() and number in charges:
            charges[number].close()
        elif not future.done():
            future.set_result(charges[number])
