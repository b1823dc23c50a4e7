"""Allocation of node ports. As in kube-apiserver, one stored object holds a bitmap of all node ports."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

from polykind import errors
from polykind.apis.core.service_network import ServiceNetwork
from polykind.apis.core.types import SERVICE
from polykind.apis.machinery.protobuf_envelope import MAGIC, decode_envelope
from polykind.codec import json_codec
from polykind.codec.protobuf_wire import iter_fields
from polykind.contract import JsonObject, RevisionConflictError
from polykind.golang.base64 import decode_base64, encode_base64
from polykind.strategies.core.ip_allocator import AllocationError, RangeFullError

if TYPE_CHECKING:
    from polykind.operations.backend import Backend

log = logging.getLogger("polykind.services")

_KEY = "ranges/servicenodeports"
_MIN_RESERVED, _MAX_RESERVED, _RESERVED_PART = 16, 128, 32


class NodePortAllocator:
    """Allocates and releases node ports by compare-and-swap, so that several servers can share one store."""

    def __init__(self, backend: Backend, network: ServiceNetwork) -> None:
        self._backend = backend
        self._network = network
        self._key = f"{backend.cache.prefix}{_KEY}"

    async def is_allocated(self, port: int) -> bool:
        """True if the port is in the range and allocated."""
        offset = port - self._network.first_node_port
        return self._in_range(port) and bool((await self._read())[0] >> offset & 1)

    async def allocate(self, port: int) -> None:
        """Allocate the port that a client has chosen.

        Raise AllocationError if the port is already allocated or outside of the range.
        """
        if not self._in_range(port):
            valid = f"The range of valid ports is {self._network.node_port_range}"
            raise AllocationError(f"provided port is not in the valid range. {valid}")
        bit = 1 << port - self._network.first_node_port
        while True:
            bitmap, revision = await self._read()
            if bitmap & bit:
                raise AllocationError("provided port is already allocated")
            if await self._write(bitmap | bit, revision):
                return

    async def allocate_next(self) -> int:
        """Allocate a free port. Raise RangeFullError if no port is free."""
        while True:
            bitmap, revision = await self._read()
            offset = _free_offset(bitmap, self._network.node_port_count)
            if await self._write(bitmap | 1 << offset, revision):
                return self._network.first_node_port + offset

    async def release(self, ports: list[int]) -> None:
        """Release node ports. Ignore ports outside of the range."""
        bits = 0
        for port in filter(self._in_range, ports):
            bits |= 1 << port - self._network.first_node_port
        while bits:
            bitmap, revision = await self._read()
            if not bitmap & bits or await self._write(bitmap & ~bits, revision):
                return

    async def release_unused(self) -> None:
        """Release the ports that no Service uses. The caller must ensure that no Service is being created meanwhile."""
        stored = await self._backend.store.get(self._key)
        if stored is None:
            return
        bitmap, revision = await self._read()
        used = await self._used_by_services()
        if bitmap != used:
            await self._write(used, revision)

    def _in_range(self, port: int) -> bool:
        return 0 <= port - self._network.first_node_port < self._network.node_port_count

    async def _read(self) -> tuple[int, int]:
        """Return the bitmap and its revision.

        Compute the bitmap from the Services if it is missing, damaged or of another range.
        """
        stored = await self._backend.store.get(self._key)
        if stored is not None:
            try:
                ports, data = _decode(stored.value)
            except errors.BadRequestError as error:
                log.error("services: cannot read the allocated node ports, deriving them again: %s", error.message)
                ports = ""
            if ports == self._network.node_port_range:
                return int.from_bytes(data, "big"), stored.revision
        return await self._used_by_services(), stored.revision if stored is not None else 0

    async def _write(self, bitmap: int, revision: int) -> bool:
        """Write the bitmap. Return False if another server has written it since `revision`."""
        data = bitmap.to_bytes((bitmap.bit_length() + 7) // 8, "big")
        obj = {
            "apiVersion": "v1",
            "kind": "RangeAllocation",
            "metadata": {},
            "range": self._network.node_port_range,
            "data": encode_base64(data),
        }
        try:
            await self._backend.store.put(self._key, json_codec.encode(obj), expect=revision)
        except RevisionConflictError:
            return False
        return True

    async def _used_by_services(self) -> int:
        services = self._backend.cache.resource_at(SERVICE.storage_prefix)
        await self._backend.cache.wait_until_fresh(services)
        bitmap = 0
        for cached in services.snapshot(None):
            for port in filter(self._in_range, used_node_ports(cached.decode().get("spec") or {})):
                bitmap |= 1 << port - self._network.first_node_port
        return bitmap


def used_node_ports(spec: JsonObject) -> list[int]:
    """Return the node ports of a service, including that of its health check."""
    ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    health = spec.get("healthCheckNodePort")
    return [*ports, health] if health else ports


def _decode(value: bytes) -> tuple[str, bytes]:
    """Return the range and the bitmap of a stored RangeAllocation, in JSON or in kube-apiserver's protobuf."""
    if not value.startswith(MAGIC):
        obj: JsonObject = json_codec.decode(value)
        return obj.get("range") or "", decode_base64(obj.get("data") or "")
    fields = {number: field for number, field in iter_fields(decode_envelope(value)[2]) if isinstance(field, bytes)}
    return fields.get(2, b"").decode("utf-8", "replace"), fields.get(3, b"")


def _free_offset(bitmap: int, count: int) -> int:
    """Return the offset of a free port, chosen at random. Raise RangeFullError if no port is free.

    Clients usually choose ports from the lower part of the range, so this part is used last.
    """
    reserved = 0 if count <= _MIN_RESERVED else min(max(_MIN_RESERVED, count // _RESERVED_PART), _MAX_RESERVED)
    for first, size in ((reserved, count - reserved), (0, reserved)):
        start = secrets.randbelow(size) if size else 0
        for step in range(size):
            offset = first + (start + step) % size
            if not bitmap >> offset & 1:
                return offset
    raise RangeFullError
