"""An etcd lease: its keys are deleted when its owner has not renewed it for some seconds."""

from __future__ import annotations

import time

from polykind.contract import StoreError, UnavailableError
from polykind.store.etcd import rpc_messages
from polykind.store.etcd.etcd_client import EtcdClient
from polykind.store.etcd.grpc_call import DEADLINE_EXCEEDED, GrpcError


class Lease:
    """A granted lease. It is valid at least until `until` on this machine's monotonic clock."""

    def __init__(self, client: EtcdClient, lease_id: int, seconds: int, until: float) -> None:
        self._client = client
        self.lease_id = lease_id
        self.seconds = seconds
        self.until = until

    @classmethod
    async def grant(cls, client: EtcdClient, seconds: int) -> Lease:
        # Retrying is safe: a lease that was granted twice is unused and expires.
        requested = time.monotonic()
        response = await client.read(rpc_messages.LEASE_GRANT, rpc_messages.lease_grant_request(seconds))
        lease_id, granted = rpc_messages.parse_lease(response)
        return cls(client, lease_id, granted, requested + granted)

    async def renew(self, timeout_seconds: float) -> bool:
        """Renew the lease. Return False if it has expired. Raises UnavailableError."""
        requested, member = time.monotonic(), self._client.member
        try:
            # LeaseKeepAlive is a streaming call; with one message in each direction it works as a unary call.
            request = rpc_messages.lease_id_request(self.lease_id)
            response = await member.unary(rpc_messages.LEASE_KEEP_ALIVE, request, timeout_seconds)
        except GrpcError as error:
            self._client.avoid(member, unresponsive=error.status == DEADLINE_EXCEEDED)
            raise UnavailableError(f"etcd at {member.url} did not renew the lease: {error}") from None
        _, remaining = rpc_messages.parse_lease(response)
        if remaining:
            self.until = requested + remaining
        return remaining > 0

    async def revoke(self) -> None:
        try:
            await self._client.read(rpc_messages.LEASE_REVOKE, rpc_messages.lease_id_request(self.lease_id), 1.0)
        except StoreError:
            # The lease expires by itself.
            return
