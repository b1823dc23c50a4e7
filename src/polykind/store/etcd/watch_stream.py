"""A watch stream of one etcd member, and reads of past events through such streams."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from polykind.contract import CompactedError, HistoryEvent, StoreError, UnavailableError
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.etcd_client import TIMEOUT_SECONDS, EtcdClient, Member
from polykind.store.etcd.grpc_call import GrpcCall, GrpcError
from polykind.store.etcd.rpc_messages import EtcdEvent, KeyRange

PROGRESS_SECONDS = 0.05
STALL_SECONDS = 2.0


class WatchStream:
    """Watches a key range for events above a revision. Iterate over it once, asynchronously."""

    def __init__(self, member: Member, keys: KeyRange, after: int, *, previous: bool = False) -> None:
        self.member = member
        self._keys = keys
        self._after = after
        self._previous = previous
        self._call: GrpcCall | None = None

    async def __aiter__(self) -> AsyncIterator[tuple[list[EtcdEvent], int]]:
        """Yield lists of events in order, each with the revision up to which all events have been yielded.

        An empty list reports progress only. Raise CompactedError if events above the start revision were compacted, and
        UnavailableError when the stream ends.
        """
        try:
            call = self._call = await self.member.open(rpc_messages.WATCH)
            # Start one revision early: etcd rejects a compacted start revision, but at the compacted revision itself
            # old versions of etcd omit deletions without an error.
            call.send(rpc_messages.watch_request(self._keys, max(self._after, 1), previous=self._previous))
            pending: list[EtcdEvent] = []
            while (raw := await call.read()) is not None:
                response = rpc_messages.parse_watch(raw)
                if response.canceled:
                    raise self._cancel_error(response)
                pending += response.events
                # Deliver all responses that have already arrived, and all fragments of a large response, together.
                if response.fragment or response.created or (response.events and call.inbox):
                    continue
                revision = pending[-1].revision if pending else response.revision
                events = [event for event in pending if event.revision > self._after]
                pending = []
                yield events, revision
            raise UnavailableError(f"etcd at {self.member.url} ended a watch")
        except GrpcError as error:
            raise UnavailableError(f"a watch on etcd at {self.member.url} failed: {error}") from None
        finally:
            self.cancel()

    def _cancel_error(self, response: rpc_messages.WatchResponse) -> StoreError:
        if response.compacted:
            return CompactedError(self._after, response.compacted)
        return UnavailableError(f"etcd at {self.member.url} ended a watch: {response.reason or 'no reason given'}")

    def request_progress(self) -> None:
        """Request a progress notification: the revision up to which this watch is complete."""
        if self._call is not None and not self._call.ended:
            self._call.send(rpc_messages.PROGRESS_REQUEST)

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()


async def read_past_events(
    client: EtcdClient, keys: KeyRange, prefix: str, after: int, until: int, *, progress_requests: bool
) -> list[HistoryEvent]:
    """Return the events of keys with `prefix` in (after, until], each with the replaced value.

    `keys` is the watched range. Without `progress_requests` it must be all keys, so that `until` is the revision of an
    event. Raise CompactedError if some of the events have been compacted.
    """
    result: list[HistoryEvent] = []
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        member = client.member
        stream = WatchStream(member, keys, after, previous=True)
        requester = asyncio.create_task(_request_progress(stream)) if progress_requests else None
        responses = aiter(stream)
        try:
            while after < until:
                async with asyncio.timeout(STALL_SECONDS):
                    events, revision = await anext(responses)
                result += [HistoryEvent(*e) for e in events if after < e.revision <= until and e.key.startswith(prefix)]
                after = max(after, revision)
            return result
        except (UnavailableError, TimeoutError) as error:
            client.avoid(member, unresponsive=isinstance(error, TimeoutError))
            if time.monotonic() > deadline:
                raise UnavailableError(f"etcd at {member.url} does not return past events: {error}") from None
            await asyncio.sleep(0.05)
        finally:
            stream.cancel()
            if requester is not None:
                requester.cancel()


async def _request_progress(stream: WatchStream) -> None:
    """Request progress repeatedly, because etcd responds only once the watch has caught up."""
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        stream.request_progress()


async def read_oldest_revision(client: EtcdClient, revision: int) -> int:
    """Return the oldest readable revision. etcd reports it only to a watch that starts at a compacted `revision`."""
    stream = WatchStream(client.member, KeyRange(b"\0", b""), revision)
    try:
        async with asyncio.timeout(STALL_SECONDS):
            async for _ in stream:
                break
    except CompactedError as error:
        return error.oldest
    except (UnavailableError, TimeoutError):
        pass
    return revision + 1
