"""The past: changes between two revisions, read with a watch of their own."""

from __future__ import annotations

import asyncio
import time

from polykind.contract import CompactedError, HistoryEvent, UnavailableError
from polykind.store.etcd.client import PATIENCE, Client
from polykind.store.etcd.messages import Span
from polykind.store.etcd.stream import WatchStream

ASK_SECONDS = 0.05
STALL_SECONDS = 2.0


async def past(client: Client, where: Span, prefix: str, after: int, until: int, *, asks: bool) -> list[HistoryEvent]:
    """The changes of keys that begin with `prefix`, in (after, until], with what each replaced.

    `where` is watched; without asking for progress it must be all keys, so that `until` is an event. Raises Compacted.
    """
    found: list[HistoryEvent] = []
    deadline = time.monotonic() + PATIENCE
    while True:
        member = client.member
        stream = WatchStream(member, where, after, previous=True)
        asking = asyncio.create_task(_ask(stream)) if asks else None
        answers = aiter(stream)
        try:
            while after < until:
                async with asyncio.timeout(STALL_SECONDS):
                    events, revision = await anext(answers)
                found += [HistoryEvent(*e) for e in events if after < e.revision <= until and e.key.startswith(prefix)]
                after = max(after, revision)
            return found
        except (UnavailableError, TimeoutError) as error:
            client.avoid(member, silent=isinstance(error, TimeoutError))
            if time.monotonic() > deadline:
                raise UnavailableError(f"etcd at {member.url} does not tell the past: {error}") from None
            await asyncio.sleep(0.05)
        finally:
            stream.cancel()
            if asking is not None:
                asking.cancel()


async def _ask(stream: WatchStream) -> None:
    """A request for progress is answered only once the watch is complete: ask until it is."""
    while True:
        await asyncio.sleep(ASK_SECONDS)
        stream.ask_progress()


async def oldest(client: Client, revision: int) -> int:
    """The oldest revision that can be read, given one that cannot: only a watch of that one is told."""
    stream = WatchStream(client.member, Span(b"\0", b""), revision)
    try:
        async with asyncio.timeout(STALL_SECONDS):
            async for _ in stream:
                break
    except CompactedError as error:
        return error.oldest
    except (UnavailableError, TimeoutError):
        pass
    return revision + 1
