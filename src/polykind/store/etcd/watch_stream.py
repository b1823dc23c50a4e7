"""A watch on one etcd member, and reads of past events through such watches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from polykind.contract import CompactedError, HistoryEvent, StoreError, UnavailableError
from polykind.grpc.grpc_call import GrpcCall, GrpcError
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.etcd_client import TIMEOUT_SECONDS, EtcdClient, Member
from polykind.store.etcd.rpc_messages import EtcdEvent, KeyRange

PROGRESS_SECONDS = 0.05
STALL_SECONDS = 2.0


class WatchStream:
    """Watches a range of keys for events above a revision. Can be iterated over once, with `async for`."""

    def __init__(self, member: Member, keys: KeyRange, after: int, *, previous: bool = False) -> None:
        self.member = member
        self._keys = keys
        self._after = after
        self._previous = previous
        self._call: GrpcCall | None = None

    async def __aiter__(self) -> AsyncIterator[tuple[list[EtcdEvent], int]]:
        """Yield lists of events in order, each with the revision up to which the events are complete.

        An empty list only reports progress. Raise CompactedError if events above the start revision were compacted, and
        UnavailableError when etcd ends the stream.
        """
        try:
            call = self._call = await self.member.open(rpc_messages.WATCH)
            # Start one revision early. If a watch starts exactly at the compacted revision, old versions of etcd omit
            # the deletions of that revision. If it starts one revision earlier, etcd returns an error.
            call.send(rpc_messages.watch_request(self._keys, max(self._after, 1), previous=self._previous))
            pending: list[EtcdEvent] = []
            while (raw := await call.read()) is not None:
                response = rpc_messages.parse_watch(raw)
                if response.canceled:
                    raise self._cancel_error(response)
                pending += response.events
                # Yield all responses that have already arrived, and all fragments of a large response, as one list.
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
        """Ask etcd for the revision up to which it has sent all events of this watch."""
        if self._call is not None and not self._call.ended:
            self._call.send(rpc_messages.PROGRESS_REQUEST)

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()


async def read_past_events(
    client: EtcdClient, keys: KeyRange, prefix: str, after: int, until: int, *, progress_requests: bool
) -> list[HistoryEvent]:
    """Return the events of keys with `prefix` and revisions above `after`, up to `until`, with the replaced values.

    `keys` is the range to watch. If `progress_requests` is false, it must be all keys, so that `until` is the revision
    of an event. Raise CompactedError if some of the events have been compacted.
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
    """Ask for progress repeatedly, because etcd responds only when the watch has sent all events."""
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
