"""One watch of etcd's, as a stream of whole answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

from polykind.contract import Compacted, StoreError, Unavailable
from polykind.store.etcd import messages
from polykind.store.etcd.client import Member
from polykind.store.etcd.messages import EtcdEvent, Span


class WatchStream:
    """Follows a span from after a revision. Use it as an asynchronous iterator, once."""

    def __init__(self, member: Member, where: Span, after: int, *, previous: bool = False) -> None:
        self.member = member
        self._where = where
        self._after = after
        self._previous = previous
        self._call: Any = member.stream(messages.WATCH)

    async def __aiter__(self) -> AsyncIterator[tuple[list[EtcdEvent], int]]:
        """Events in order with the revision up to which nothing is missing; without events it is progress.

        Raises Compacted, and Unavailable when the stream ends.
        """
        try:
            # From one revision earlier than needed: etcd refuses a compacted start, but at the very revision of the
            # compaction old versions of it forget deletions without saying so.
            await self._call.write(messages.watch_request(self._where, max(self._after, 1), previous=self._previous))
            held: list[EtcdEvent] = []
            while True:
                raw = await self._call.read()
                if raw is grpc.aio.EOF:
                    raise Unavailable(f"etcd at {self.member.url} ended a watch")
                answer = messages.watch_answer(raw)
                if answer.canceled:
                    raise self._ended(answer)
                held += answer.events
                if answer.fragment or answer.created:
                    continue
                revision = held[-1].revision if held else answer.revision
                events = [event for event in held if event.revision > self._after]
                held = []
                yield events, revision
        except grpc.aio.AioRpcError as error:
            raise Unavailable(f"a watch of etcd at {self.member.url} broke: {error.details()}") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # It was not this task that was cancelled but the call, and grpc says so in the same words.
            raise Unavailable(f"a watch of etcd at {self.member.url} was given up") from None
        finally:
            self._call.cancel()

    def _ended(self, answer: messages.WatchAnswer) -> StoreError:
        if answer.compacted:
            return Compacted(self._after, answer.compacted)
        return Unavailable(f"etcd at {self.member.url} ended a watch: {answer.reason or 'no reason given'}")

    async def ask_progress(self) -> None:
        """Have the revision told up to which this watch is complete."""
        try:
            await self._call.write(messages.PROGRESS_REQUEST)
        except (grpc.aio.AioRpcError, grpc.aio.UsageError):
            # The reader of the stream learns the same and says why.
            return

    def cancel(self) -> None:
        self._call.cancel()
