"""Allocation of cluster IPs. An address is allocated if an IPAddress object with its name is in the store."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from polykind.addresses import IPAddress, IPNetwork
from polykind.apis.core.service_network import ServiceNetwork
from polykind.apis.networking.types import IP_ADDRESS, SERVICE_CIDR
from polykind.cache.cached_object import Encoded
from polykind.cache.resource_cache import ResourceCache
from polykind.contract import JsonObject, RevisionConflictError

if TYPE_CHECKING:
    from polykind.operations.backend import Backend

log = logging.getLogger("polykind.services")

_MIN_RESERVED, _MAX_RESERVED, _RESERVED_PART = 16, 256, 16
_FAMILY_LABEL = "ipaddress.kubernetes.io/ip-family"
_MANAGER_LABEL = "ipaddress.kubernetes.io/managed-by"
DEFAULT_SERVICE_CIDR = "kubernetes"
"""The name of the ServiceCIDR with the networks of the server's flags."""
ALLOCATOR_LABELS = {_MANAGER_LABEL: "ipallocator.k8s.io"}
"""The labels of the IPAddress objects that the server creates."""
_MANAGED_FIELDS: JsonObject = {
    "f:metadata": {"f:labels": {".": {}, f"f:{_FAMILY_LABEL}": {}, f"f:{_MANAGER_LABEL}": {}}},
    "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
}
_API_VERSION = "networking.k8s.io/v1"


class AllocationError(Exception):
    """An address or a port cannot be allocated. The message is the same as kube-apiserver's."""


class RangeFullError(AllocationError):
    """No address or port is free."""

    def __init__(self) -> None:
        super().__init__("range is full")


class IPAllocator:
    """Allocates cluster IPs from the ServiceCIDRs. The store has all state, so that several servers can share it."""

    def __init__(self, backend: Backend, network: ServiceNetwork, now: str) -> None:
        self._backend = backend
        self._network = network
        self._now = now
        self._addresses = backend.cache.resource_at(IP_ADDRESS.storage_prefix)

    async def allocate(self, address: IPAddress, service: JsonObject, *, dry_run: bool) -> None:
        """Allocate the address that a client has chosen.

        Raise AllocationError if the address is already allocated or is in no ServiceCIDR.
        """
        networks = await self._ready_networks(address.version)
        if dry_run:
            networks = networks[:1]
            if not networks or not _contains(networks[0], address):
                valid = f"The range of valid IPs is {networks[0] if networks else ''}"
                raise AllocationError(f"the provided IP ({address}) is not in the valid range. {valid}")
            return
        if not any(_contains(network, address) for network in networks):
            raise AllocationError("the provided network does not match the current range")
        if not await self._create(address, service):
            raise AllocationError("provided IP is already allocated")

    async def allocate_next(self, version: int, service: JsonObject, *, dry_run: bool) -> IPAddress:
        """Allocate a free address of an IP version. Raise RangeFullError if no address is free."""
        networks = await self._ready_networks(version)
        if dry_run:
            # As in kube-apiserver, a dry run allocates nothing and returns a placeholder.
            return networks[0].network_address if networks else ip_address(0)
        await self._backend.cache.wait_until_fresh(self._addresses)
        for network in networks:
            for address in _candidates(network):
                if self._addresses.get(str(address)) is None and await self._create(address, service):
                    return address
        raise RangeFullError

    async def release(self, address: IPAddress) -> None:
        """Release an address. Do nothing if it is not allocated."""
        try:
            await self._backend.store.delete(f"{self._addresses.prefix}{address}", expect=None)
        except RevisionConflictError:
            log.debug("services: cluster IP %s was already released, continuing", address)

    async def _create(self, address: IPAddress, service: JsonObject) -> bool:
        """Create the IPAddress object of an address. Return False if the object exists already."""
        obj = ip_address_object(address, service, self._backend.ids.uid(), self._now)
        try:
            await self._backend.store.put(f"{self._addresses.prefix}{address}", Encoded(obj).stored(), expect=0)
        except RevisionConflictError:
            return False
        return True

    async def _ready_networks(self, version: int) -> list[IPNetwork]:
        """Return the networks for cluster IPs, those of all ready ServiceCIDRs. Those of the server's flags come first.

        While there is no default ServiceCIDR, which the server creates, the networks of the flags are ready.
        """
        cidrs = self._backend.cache.resource_at(SERVICE_CIDR.storage_prefix)
        await self._backend.cache.wait_until_fresh(cidrs)
        ready = dict.fromkeys(network for network in _stored_networks(cidrs) if network.version == version)
        own = dict.fromkeys(network for network in self._network.networks if network.version == version)
        if cidrs.get(DEFAULT_SERVICE_CIDR) is not None:
            own = {network: None for network in own if network in ready}
        return list(own | ready)


def _stored_networks(cidrs: ResourceCache) -> Iterator[IPNetwork]:
    for cached in cidrs.snapshot(None):
        obj = cached.decode()
        conditions = (obj.get("status") or {}).get("conditions") or ()
        ready = next((condition.get("status") for condition in conditions if condition.get("type") == "Ready"), "True")
        if ready == "True" and not obj["metadata"].get("deletionTimestamp"):
            yield from (ip_network(cidr) for cidr in (obj.get("spec") or {}).get("cidrs") or ())


def ip_address_object(address: IPAddress, service: JsonObject, uid: str, now: str) -> JsonObject:
    """Return the IPAddress object of an address that is allocated to a service."""
    meta = service["metadata"]
    managed = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": _API_VERSION,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": _MANAGED_FIELDS,
    }
    return {
        "apiVersion": _API_VERSION,
        "kind": "IPAddress",
        "metadata": {
            "name": str(address),
            "uid": uid,
            "creationTimestamp": now,
            "labels": {_FAMILY_LABEL: f"IPv{address.version}", **ALLOCATOR_LABELS},
            "managedFields": [managed],
        },
        "spec": {
            "parentRef": {
                "resource": "services",
                "namespace": meta.get("namespace", ""),
                "name": meta.get("name", ""),
            }
        },
    }


def _last_offset(network: IPNetwork) -> int:
    """Return the offset of the last address that can be allocated.

    This excludes the broadcast address of an IPv4 network.
    """
    return network.num_addresses - (2 if network.version == 4 else 1)


def _contains(network: IPNetwork, address: IPAddress) -> bool:
    return address in network and 1 <= int(address) - int(network.network_address) <= _last_offset(network)


def _candidates(network: IPNetwork) -> Iterator[IPAddress]:
    """Yield the addresses of a network in the order in which the allocator tries them, from a random one on.

    Clients usually choose addresses from the lower part of a network, so the allocator tries this part last.
    """
    size, last = network.num_addresses, _last_offset(network)
    reserved = 0 if size <= _MIN_RESERVED else min(max(_MIN_RESERVED, size // _RESERVED_PART), _MAX_RESERVED)
    for first, end in ((1 + reserved, last), (1, reserved)):
        count = end - first + 1
        if count > 0:
            start = secrets.randbelow(count)
            for step in range(count):
                yield network[first + (start + step) % count]
