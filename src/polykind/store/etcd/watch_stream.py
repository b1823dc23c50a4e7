"""A watch stream of one etcd member."""

from __future__ import annotations

from collections.abc import AsyncIterator

from polykind.contract import CompactedError, StoreError, UnavailableError
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.grpc_call import GrpcCall, GrpcError
from polykind.store.etcd.member import Member
from polykind.store.etcd.rpc_messages import EtcdEvent, KeyRange


class WatchStream:
    """Watches a key range for events above a revision. Iterate over it once, asynchronously."""

    def __init__(self, member: Member, keys: KeyRange, after: int, *, previous: bool = False) -> None:
        self.member = member
        self._keys = keys
        self._after = after
        self._previous = previous
        self._call: GrpcCall | None = None

    async def __aiter__(self) -> AsyncIterator[tuple[list[EtcdEvent], int]]:
        """Yield events in order, with the revision up to which they are complete. No events means progress.

        Raises CompactedError, and UnavailableError when the stream ends.
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
