"""One watch of etcd's, as a stream of whole answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from polykind.contract import CompactedError, StoreError, UnavailableError
from polykind.store.etcd import messages
from polykind.store.etcd.call import Call, CallError
from polykind.store.etcd.member import Member
from polykind.store.etcd.messages import EtcdEvent, Span


class WatchStream:
    """Follows a span from after a revision. Use it as an asynchronous iterator, once."""

    def __init__(self, member: Member, where: Span, after: int, *, previous: bool = False) -> None:
        self.member = member
        self._where = where
        self._after = after
        self._previous = previous
        self._call: Call | None = None

    async def __aiter__(self) -> AsyncIterator[tuple[list[EtcdEvent], int]]:
        """Events in order with the revision up to which nothing is missing; without events it is progress.

        Raises Compacted, and Unavailable when the stream ends.
        """
        try:
            call = self._call = await self.member.open(messages.WATCH)
            # From one revision earlier than needed: etcd refuses a compacted start, but at the very revision of the
            # compaction old versions of it forget deletions without saying so.
            call.send(messages.watch_request(self._where, max(self._after, 1), previous=self._previous))
            held: list[EtcdEvent] = []
            while (raw := await call.read()) is not None:
                answer = messages.watch_answer(raw)
                if answer.canceled:
                    raise self._ended(answer)
                held += answer.events
                # What has come in meanwhile is told at once; the parts of a large answer belong together anyway.
                if answer.fragment or answer.created or (answer.events and call.inbox):
                    continue
                revision = held[-1].revision if held else answer.revision
                events = [event for event in held if event.revision > self._after]
                held = []
                yield events, revision
            raise UnavailableError(f"etcd at {self.member.url} ended a watch")
        except CallError as error:
            raise UnavailableError(f"a watch of etcd at {self.member.url} broke: {error}") from None
        finally:
            self.cancel()

    def _ended(self, answer: messages.WatchAnswer) -> StoreError:
        if answer.compacted:
            return CompactedError(self._after, answer.compacted)
        return UnavailableError(f"etcd at {self.member.url} ended a watch: {answer.reason or 'no reason given'}")

    def ask_progress(self) -> None:
        """Have the revision told up to which this watch is complete."""
        if self._call is not None and not self._call.ended:
            self._call.send(messages.PROGRESS_REQUEST)

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()
