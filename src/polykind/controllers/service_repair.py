"""The repair of Service allocations.

It releases cluster IPs and node ports that a crashed server has left behind, and allocates cluster IPs again whose
IPAddress objects are missing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from ipaddress import ip_address

from polykind import errors
from polykind.apis.core.types import SERVICE
from polykind.apis.networking.types import IP_ADDRESS
from polykind.cache.cached_object import Encoded, parse_stored
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.contract import JsonObject, Leadership
from polykind.controllers.controller_runtime import Controller
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend
from polykind.strategies.core.ip_allocator import ALLOCATOR_LABELS, ip_address_object
from polykind.strategies.core.node_port_allocator import NodePortAllocator

log = logging.getLogger("polykind.services")

_Allocation = tuple[str, str]
"""A cluster IP, and the key of its service."""


async def repair_allocations(backend: Backend, now: str) -> None:
    """Release all cluster IPs and node ports that no existing Service uses, and allocate missing cluster IPs.

    The caller must be the only writer of the store. Otherwise the addresses of a Service that is just being created
    would be released. If a stored value cannot be read, the server starts nevertheless, and what may be used is kept.
    """
    try:
        await _repair_addresses(backend, now)
        await NodePortAllocator(backend, backend.service_network).release_unused()
    except errors.APIError as error:
        log.error("services: cannot release unused cluster IPs and node ports, keeping them: %s", error)


async def _repair_addresses(backend: Backend, now: str) -> None:
    services = backend.cache.resource_at(SERVICE.storage_prefix)
    await backend.cache.load(services)
    prefix = f"{backend.cache.prefix}{IP_ADDRESS.storage_prefix}/"
    allocated = set()
    for stored in (await backend.store.range(prefix)).items:
        obj = parse_stored(stored.key.removeprefix(prefix), stored.value, stored.revision, False).decode()
        if _is_managed(obj) and not _is_used(obj, services):
            log.info("services: releasing cluster IP %s, which no service uses", obj["metadata"]["name"])
            await ObjectClient(backend).remove_stored(stored)
        else:
            allocated.add(obj["metadata"]["name"])
    for cached in services.snapshot(None):
        for address in _cluster_ips(service := cached.decode()):
            if address not in allocated:
                await _allocate(backend, address, service, now)


class AddressRepair:
    """Creates the IPAddress of a cluster IP again when a client has deleted it, if this replica is the leader.

    Otherwise the address would be given to a second Service.
    """

    def __init__(self, backend: Backend, now: Callable[[], str], leadership: Leadership) -> None:
        self._backend = backend
        self._now = now
        self._services = backend.cache.resource_at(SERVICE.storage_prefix)
        self._controller: Controller[_Allocation] = Controller(leadership, self._repair)
        self._controller.observe(backend.cache.resource_at(IP_ADDRESS.storage_prefix), _released)
        self.start, self.close = self._controller.start, self._controller.close

    async def _repair(self, allocation: _Allocation) -> None:
        address, service = allocation
        await self._backend.cache.load(self._services)
        await self._backend.cache.wait_until_fresh(self._services)
        cached = self._services.get(service)
        if cached is not None and address in _cluster_ips(obj := cached.decode()):
            await _allocate(self._backend, address, obj, self._now())


async def _allocate(backend: Backend, address: str, service: JsonObject, now: str) -> None:
    """Create the IPAddress of a service's cluster IP, unless it exists."""
    obj = ip_address_object(ip_address(address), service, backend.ids.uid(), now)
    prefix = f"{backend.cache.prefix}{IP_ADDRESS.storage_prefix}/"
    if await ObjectClient(backend).add_stored(f"{prefix}{address}", Encoded(obj).stored()):
        log.warning("services: the IPAddress %s, which a service uses, was missing; created it again", address)


def _released(change: ObjectChange) -> Iterable[_Allocation]:
    """Return the address and the service of an IPAddress that was deleted."""
    if change.new is None and _is_managed(address := change.cached.decode()):
        parent = (address.get("spec") or {}).get("parentRef") or {}
        yield change.cached.name, f"{parent.get('namespace', '')}/{parent.get('name', '')}"


def _cluster_ips(service: JsonObject) -> list[str]:
    """Return the cluster IPs of a service, none for a headless one."""
    spec = service.get("spec") or {}
    found: list[str] = spec.get("clusterIPs") or [spec.get("clusterIP") or ""]
    return [address for address in found if address not in ("", "None")]


def _is_managed(address: JsonObject) -> bool:
    labels = (address.get("metadata") or {}).get("labels") or {}
    return all(labels.get(key) == value for key, value in ALLOCATOR_LABELS.items())


def _is_used(address: JsonObject, services: ResourceCache) -> bool:
    parent = (address.get("spec") or {}).get("parentRef") or {}
    cached = services.get(f"{parent.get('namespace', '')}/{parent.get('name', '')}")
    return cached is not None and address["metadata"]["name"] in _cluster_ips(cached.decode())
