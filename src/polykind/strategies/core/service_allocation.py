"""The allocation of cluster IPs and node ports for one write of a Service, which is undone if the write fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind import errors
from polykind.addresses import parse_ip
from polykind.apis.core.cluster_ip_fields import init_ip_families, keeps_dual_stack_preference, needs_node_port
from polykind.apis.core.service_defaults import EXTERNAL_NAME, NO_CLUSTER_IP, needs_cluster_ip, needs_health_check
from polykind.contract import JsonObject
from polykind.strategies.core.ip_allocator import AllocationError, IPAllocator, RangeFullError
from polykind.strategies.core.node_port_allocator import NodePortAllocator, used_node_ports

if TYPE_CHECKING:
    from polykind.operations.operation import Operation

_FIRST_DRY_RUN_PORT = 32769
_EXPOSED_TYPES = ("NodePort", "LoadBalancer")


class ServiceAllocation:
    """Allocates the cluster IPs and node ports of one Service. The caller must call `finish` after the write."""

    def __init__(self, op: Operation, service: JsonObject, *, dry_run: bool) -> None:
        network = op.backend.service_network
        self._service = service
        self._spec: JsonObject = service["spec"]
        self._families = network.families
        self._dry_run = dry_run
        self._ips = IPAllocator(op.backend, network, op.now())
        self._ports = NodePortAllocator(op.backend, network)
        self._new_ips: list[str] = []
        self._new_ports: list[int] = []
        self._released_ips: list[str] = []
        self._released_ports: list[int] = []

    async def create(self) -> None:
        """Allocate all addresses and ports of a new service.

        Raise APIError if an address or port cannot be allocated.
        """
        self._init_families(None)
        await self._allocate_missing_ips()
        if self._spec["type"] in _EXPOSED_TYPES:
            await self._allocate_node_ports()
        if needs_health_check(self._spec):
            await self._allocate_health_check_port()

    async def update(self, old: JsonObject) -> None:
        """Allocate the additional addresses and ports of an updated service.

        Raise APIError if an address or port cannot be allocated.
        """
        spec, old_spec = self._spec, old["spec"]
        self._init_families(old_spec)
        await self._update_ips(old_spec)
        if old_spec["type"] in _EXPOSED_TYPES and spec["type"] not in _EXPOSED_TYPES:
            self._released_ports += [p["nodePort"] for p in old_spec.get("ports") or () if p.get("nodePort")]
        if spec["type"] in _EXPOSED_TYPES:
            await self._update_node_ports(old_spec)
        if needs_health_check(spec) and not needs_health_check(old_spec):
            await self._allocate_health_check_port()
        elif needs_health_check(old_spec) and not needs_health_check(spec):
            self._released_ports.append(old_spec.get("healthCheckNodePort", 0))

    async def finish(self, succeeded: bool) -> None:
        """Release the IPs and ports that the service no longer uses.

        If the write failed, release those that were allocated for it instead.
        """
        if self._dry_run:
            return
        ips, ports = (self._released_ips, self._released_ports) if succeeded else (self._new_ips, self._new_ports)
        for ip in ips:
            if (address := parse_ip(ip)) is not None:
                await self._ips.release(address)
        await self._ports.release(ports)

    async def release_all(self) -> None:
        """Release all addresses and ports of a deleted service."""
        spec = self._spec
        if spec["type"] != EXTERNAL_NAME:
            self._released_ips = [ip for ip in spec.get("clusterIPs") or () if ip != NO_CLUSTER_IP]
        self._released_ports = used_node_ports(spec)
        await self.finish(True)

    # ------------------------------------------------------------------ cluster IPs

    def _init_families(self, old_spec: JsonObject | None) -> None:
        if found := init_ip_families(self._spec, old_spec, self._families):
            raise self._invalid(*found)

    async def _allocate_missing_ips(self) -> None:
        """Allocate a cluster IP of each IP family of the service for which the client has given none."""
        spec = self._spec
        ips = list(spec.get("clusterIPs") or ())
        if spec["type"] == EXTERNAL_NAME or ips[:1] == [NO_CLUSTER_IP]:
            return
        families = spec.get("ipFamilies") or []
        ips += [""] * (len(families) - len(ips))
        for index, family in enumerate(families):
            ips[index] = await self._allocate_ip(family, ips[index], ips)
        spec["clusterIPs"], spec["clusterIP"] = ips, ips[0]

    async def _update_ips(self, old_spec: JsonObject) -> None:
        spec = self._spec
        if keeps_dual_stack_preference(spec, old_spec):
            return
        old_ips = old_spec.get("clusterIPs") or []
        if not needs_cluster_ip(old_spec) and needs_cluster_ip(spec):
            await self._allocate_missing_ips()
        elif old_ips[:1] == [NO_CLUSTER_IP]:
            return
        elif needs_cluster_ip(old_spec) and not needs_cluster_ip(spec):
            self._released_ips += old_ips
        else:
            families, old_families = spec.get("ipFamilies") or [], old_spec.get("ipFamilies") or []
            ips = list(spec.get("clusterIPs") or ())
            if (len(old_families), len(families)) == (1, 2):
                ips += [""] * (2 - len(ips))
                ips[1] = await self._allocate_ip(families[1], ips[1], ips)
                spec["clusterIPs"] = ips
            elif (len(old_families), len(families)) == (2, 1):
                self._released_ips += old_ips[1:]

    async def _allocate_ip(self, family: str, ip: str, ips: list[str]) -> str:
        try:
            address = parse_ip(ip)
            if address is None:
                version = 6 if family == "IPv6" else 4
                address = await self._ips.allocate_next(version, self._service, dry_run=self._dry_run)
                ip = str(address)
            else:
                await self._ips.allocate(address, self._service, dry_run=self._dry_run)
        except RangeFullError as error:
            name = self._service["metadata"].get("name", "")
            raise errors.InternalError(f'failed to allocate a serviceIP for Service "{name}": {error}') from None
        except AllocationError as error:
            reason = f"failed to allocate IP {ip}: {error}" if ip else f"failed to allocate IP: {error}"
            raise self._invalid(errors.invalid("spec.clusterIPs", ips, reason)) from None
        self._new_ips.append(ip)
        return ip

    # ------------------------------------------------------------------ node ports

    async def _allocate_node_ports(self) -> None:
        """Allocate a node port for each port. Ports with the same number, such as TCP and UDP, share one node port."""
        chosen: dict[int, int] = {}
        ports = self._spec.get("ports") or []
        for index, port in enumerate(ports):
            if not port.get("nodePort") and not needs_node_port(self._spec):
                continue
            number = port.get("port", 0)
            shared = chosen.get(number, 0)
            if not shared:
                wanted = next((p["nodePort"] for p in ports if p.get("port", 0) == number and p.get("nodePort")), 0)
                port["nodePort"] = chosen[number] = (
                    await self._allocate_port(wanted, index) if wanted else await self._allocate_next_port()
                )
            elif not port.get("nodePort"):
                port["nodePort"] = shared
            elif port["nodePort"] != shared:
                await self._allocate_port(port["nodePort"], index)

    async def _update_node_ports(self, old_spec: JsonObject) -> None:
        before = [port["nodePort"] for port in old_spec.get("ports") or () if port.get("nodePort")]
        known: set[tuple[str, int]] = set()
        for index, port in enumerate(self._spec.get("ports") or ()):
            if not port.get("nodePort") and not needs_node_port(self._spec):
                continue
            if not port.get("nodePort"):
                port["nodePort"] = await self._allocate_next_port()
            elif port["nodePort"] not in (*before, *self._new_ports):
                await self._allocate_port(port["nodePort"], index)
            key = (port.get("protocol") or "", port["nodePort"])
            if key in known:
                raise errors.UnknownReasonError(f"duplicate nodePort: {{{key[0]} {key[1]}}}")
            known.add(key)
        self._release_ports(before)

    def _release_ports(self, before: list[int]) -> None:
        """Release the ports of the old Service that the new one does not use."""
        used = [port.get("nodePort") for port in self._spec.get("ports") or ()]
        self._released_ports += [port for port in before if port not in used]

    async def _allocate_port(self, port: int, index: int) -> int:
        try:
            await self._reserve_port(port)
        except AllocationError as error:
            raise self._invalid(errors.invalid(f"spec.ports[{index}].nodePort", port, str(error))) from None
        return port

    async def _allocate_next_port(self) -> int:
        if self._dry_run:
            # As in kube-apiserver, a dry run allocates no ports and returns placeholders.
            port = max(self._new_ports, default=_FIRST_DRY_RUN_PORT - 1) + 1
        else:
            try:
                port = await self._ports.allocate_next()
            except RangeFullError as error:
                raise errors.InternalError(f"failed to allocate a nodePort: {error}") from None
        self._new_ports.append(port)
        return port

    async def _allocate_health_check_port(self) -> None:
        port = self._spec.get("healthCheckNodePort", 0)
        if not port:
            self._spec["healthCheckNodePort"] = await self._allocate_next_port()
            return
        try:
            await self._reserve_port(port)
        except AllocationError as error:
            reason = f"failed to allocate requested HealthCheck NodePort {port}: {error}"
            raise errors.InternalError(reason) from None

    async def _reserve_port(self, port: int) -> None:
        if not self._dry_run:
            await self._ports.allocate(port)
        elif port in self._new_ports or await self._ports.is_allocated(port):
            raise AllocationError("provided port is already allocated")
        self._new_ports.append(port)

    def _invalid(self, *found: errors.FieldError) -> errors.InvalidError:
        return errors.InvalidError("Service", "", self._service["metadata"].get("name", ""), found)
