"""Linearizable reads of etcd's newest revision. Concurrent requests share a read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from polykind.coalescer import Coalescer, resolve
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import StoreError, UnavailableError
from polykind.grpc.grpc_call import DEADLINE_EXCEEDED, GrpcError
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.etcd_client import ATTEMPT_SECONDS, TIMEOUT_SECONDS, EtcdClient, Member

MAX_SHARED_READS = 100
"""The number of waiting requests at which a read is sent without waiting for further requests."""


def went_back(observed: int, newest: int) -> UnavailableError:
    """Return the error for requests that observe a lower revision than before, because etcd has lost data."""
    return UnavailableError(
        f"etcd went back from revision {observed} to {newest}, perhaps to a restored backup; reading everything again"
    )


class PendingRevision:
    """A read of the newest revision that has been sent. Its result is valid for all requests that asked before."""

    def __init__(self, loop: asyncio.AbstractEventLoop, observed: int = 0) -> None:
        self._loop = loop
        self.observed = observed
        """The newest revision that was known when the read was sent. etcd's revisions normally never decrease."""
        self._result: int | StoreError | None = None
        self._waiters: list[asyncio.Future[int]] = []

    async def result(self) -> int:
        """Return the newest revision at a moment after the read was sent. Raise StoreError if the read fails."""
        if self._result is None:
            future: asyncio.Future[int] = self._loop.create_future()
            self._waiters.append(future)
            return await future
        if isinstance(self._result, StoreError):
            raise self._result
        return self._result

    def set_result(self, result: int | StoreError) -> None:
        self._result = result
        for future in self._waiters:
            resolve(future, result)


class RevisionReader:
    """Reads the newest revision. A request gets only the result of a read that was sent after the request asked.

    One read runs at a time. A read costs etcd more than a GET costs this server, so many requests share one read. The
    first request waits until an event loop iteration brings no further request. Requests that arrive during a read
    share the next read.
    """

    def __init__(
        self, client: EtcdClient, key: bytes, observed: Callable[[], int], on_regression: Callable[[int, int], None]
    ) -> None:
        """`on_regression` is called with `observed()` and etcd's revision if the latter is lower."""
        self._client = client
        self._observed = observed
        self._on_regression = on_regression
        self._request = rpc_messages.get_request(key, count_only=True)
        self._waiters: list[asyncio.Future[PendingRevision]] = []
        self._loop = asyncio.get_running_loop()
        self._waiting_since = 0.0
        """The time at which the first of the waiting requests arrived."""
        self._coalescer = Coalescer(self._loop, lambda: len(self._waiters), MAX_SHARED_READS, self._send)
        self._reading = False
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._retrying: asyncio.Task[None] | None = None

    def start_read(self) -> asyncio.Future[PendingRevision]:
        """Return a future that is done when a read has been sent. Its result is that read."""
        future: asyncio.Future[PendingRevision] = self._loop.create_future()
        if not self._waiters:
            self._waiting_since = self._loop.time()
            if not self._reading:
                self._reading = True
                self._coalescer.start()
        self._waiters.append(future)
        return future

    def _send(self) -> None:
        waiters, self._waiters = self._waiters, []
        pending, member = PendingRevision(self._loop, self._observed()), self._client.member
        on_response = partial(self._on_response, pending, self._waiting_since, member)
        call = member.try_unary(rpc_messages.RANGE, self._request, on_response)
        if call is None:
            self._retry(pending, self._waiting_since)
        else:
            self._timer = self._loop.call_later(ATTEMPT_SECONDS, call.expire, ATTEMPT_SECONDS)
        for future in waiters:
            resolve(future, pending)

    def _on_response(self, pending: PendingRevision, since: float, member: Member, response: bytes | GrpcError) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if isinstance(response, GrpcError):
            self._client.avoid(member, unresponsive=response.status == DEADLINE_EXCEEDED)
            self._retry(pending, since)
        else:
            self._finish(pending, response)

    def _retry(self, pending: PendingRevision, since: float) -> None:
        if self._closed:
            self._finish(pending, UnavailableError("the store was closed"))
        else:
            self._retrying = self._loop.create_task(self._try_all_members(pending, since))

    async def _try_all_members(self, pending: PendingRevision, since: float) -> None:
        """Send the read to the members in turn until one responds. The timeout counts from `since`."""
        outcome: bytes | StoreError = UnavailableError("the store was closed")
        try:
            timeout = max(TIMEOUT_SECONDS - (self._loop.time() - since), ATTEMPT_SECONDS)
            outcome = await self._client.read(rpc_messages.RANGE, self._request, timeout)
        except StoreError as error:
            outcome = error
        finally:
            self._finish(pending, outcome)

    def _finish(self, pending: PendingRevision, outcome: bytes | StoreError) -> None:
        """Set the result of a read, and start the next read if requests are waiting."""
        try:
            result = rpc_messages.parse_revision(outcome) if isinstance(outcome, bytes) else outcome
            if isinstance(result, int) and result < pending.observed:
                self._on_regression(pending.observed, result)
                result = went_back(pending.observed, result)
            pending.set_result(result)
        except ProtobufError as error:
            pending.set_result(UnavailableError(f"etcd's response is malformed: {error}"))
        self._reading = bool(self._waiters)
        if self._reading:
            self._coalescer.start()

    async def close(self) -> None:
        """Stop reading. Waiting requests get an UnavailableError."""
        self._closed = True
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.gather(self._retrying, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()
        waiters, self._waiters = self._waiters, []
        pending = PendingRevision(self._loop)
        pending.set_result(UnavailableError("the store was closed"))
        for future in waiters:
            resolve(future, pending)
