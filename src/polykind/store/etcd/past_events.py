"""Past events between two revisions, read with a separate etcd watch."""

from __future__ import annotations

import asyncio
import time

from polykind.contract import CompactedError, HistoryEvent, UnavailableError
from polykind.store.etcd.etcd_client import TIMEOUT_SECONDS, EtcdClient
from polykind.store.etcd.rpc_messages import KeyRange
from polykind.store.etcd.watch_stream import WatchStream

PROGRESS_SECONDS = 0.05
STALL_SECONDS = 2.0


async def read_past_events(
    client: EtcdClient, keys: KeyRange, prefix: str, after: int, until: int, *, progress_requests: bool
) -> list[HistoryEvent]:
    """Return the events of keys with `prefix` in (after, until], each with the replaced value. Raises CompactedError.

    `keys` is the watched range. Without `progress_requests` it must be all keys, so that `until` is the revision of an
    event.
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
    """Return the oldest readable revision, given a compacted one. etcd reports it only to a watch."""
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
