"""The Service `default/kubernetes`, its endpoints and the ServiceCIDR `kubernetes`, as kube-apiserver creates them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any

from polykind import errors
from polykind.apis.core.service_network import ServiceNetwork
from polykind.apis.core.types import ENDPOINTS, SERVICE
from polykind.apis.discovery.types import ENDPOINT_SLICE
from polykind.apis.machinery.kinds import Kind
from polykind.apis.networking.types import IP_ADDRESS, SERVICE_CIDR
from polykind.cache.cached_object import Encoded, parse_stored
from polykind.contract import JsonObject, KeyValue, RevisionConflictError, StoreError
from polykind.controllers.object_client import ObjectClient
from polykind.operations.backend import Backend
from polykind.strategies.core.ip_allocator import ip_address_object

log = logging.getLogger("polykind.services")

_NAME = "kubernetes"
_KEY = f"default/{_NAME}"
_ATTEMPTS = 10
_PORT_FIELDS: JsonObject = {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}}
_SERVICE_FIELDS = {
    "f:metadata": {"f:labels": {".": {}, "f:component": {}, "f:provider": {}}},
    "f:spec": {
        "f:clusterIP": {},
        "f:internalTrafficPolicy": {},
        "f:ipFamilyPolicy": {},
        "f:ports": {".": {}, 'k:{"port":443,"protocol":"TCP"}': {**_PORT_FIELDS, "f:targetPort": {}}},
        "f:sessionAffinity": {},
        "f:type": {},
    },
}
_CONDITION_FIELDS: JsonObject = {
    ".": {},
    "f:lastTransitionTime": {},
    "f:message": {},
    "f:status": {},
    "f:type": {},
}
_CIDR_STATUS_FIELDS = {"f:status": {"f:conditions": {'k:{"type":"Ready"}': _CONDITION_FIELDS}}}

Change = Callable[[JsonObject | None], JsonObject | None]
"""A function that returns the object to store in place of the stored one. It returns None to keep the stored object."""


class KubernetesService:
    """Creates the objects by which pods and clients inside a cluster find the API server."""

    def __init__(self, backend: Backend, now: Callable[[], str], advertise_address: str) -> None:
        self._backend = backend
        self._client = ObjectClient(backend)
        self._network: ServiceNetwork = backend.service_network
        self._now = now
        self._address = advertise_address
        self._port = 0

    async def start(self, port: int) -> None:
        """Create or update the objects. `port` is the port on which this server listens."""
        self._port = port
        await self._apply(
            self._change(SERVICE_CIDR, _NAME, self._service_cidr),
            self._change(SERVICE, _KEY, self._service),
            *self._endpoint_changes(add=True),
        )

    async def close(self) -> None:
        """Remove the address of this server from the endpoints."""
        await self._apply(*self._endpoint_changes(add=False))

    async def _apply(self, *changes: Awaitable[None]) -> None:
        for failure in await asyncio.gather(*changes, return_exceptions=True):
            if isinstance(failure, StoreError | errors.InternalError):
                log.warning("kubernetes service: cannot change an object, continuing without it: %s", failure)
            elif failure is not None:
                raise failure

    def _endpoint_changes(self, *, add: bool) -> list[Awaitable[None]]:
        # kube-apiserver's validation rejects endpoints with loopback addresses, so such a server has none.
        if not self._address or not self._port or ip_address(self._address).is_loopback:
            return []
        return [
            self._change(ENDPOINTS, _KEY, lambda old: self._endpoints(old, add)),
            self._change(ENDPOINT_SLICE, _KEY, lambda old: self._endpoint_slice(old, add)),
        ]

    async def _change(self, kind: Kind, key: str, change: Change) -> None:
        """Change a stored object. Try again if another replica has changed it meanwhile."""
        key = f"{self._backend.cache.prefix}{kind.storage_prefix}/{key}"
        for _ in range(_ATTEMPTS):
            stored = await self._backend.store.get(key)
            obj = change(_decoded(stored) if stored is not None else None)
            if obj is None:
                return
            if stored is not None:
                try:
                    await self._client.replace_stored(stored, Encoded(obj).stored())
                except RevisionConflictError:
                    continue
            elif not await self._client.add_stored(key, Encoded(obj).stored()):
                continue
            elif kind is SERVICE:
                await self._reserve_ip(obj)
            return
        log.warning("kubernetes service: other servers keep changing %s, giving up", key)

    async def _reserve_ip(self, service: JsonObject) -> None:
        address = ip_address(self._network.server_ip)
        obj = ip_address_object(address, service, self._backend.ids.uid(), self._now())
        key = f"{self._backend.cache.prefix}{IP_ADDRESS.storage_prefix}/{address}"
        if not await self._client.add_stored(key, Encoded(obj).stored()):
            log.debug("kubernetes service: cluster IP %s is already reserved, keeping it", address)

    def _service(self, old: JsonObject | None) -> JsonObject | None:
        port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": self._port}
        if old is not None:
            if (old["spec"].get("ports"), old["spec"].get("type")) == ([port], "ClusterIP"):
                return None
            return {**old, "spec": {**old["spec"], "ports": [port], "type": "ClusterIP"}}
        ip = self._network.server_ip
        spec = {
            "clusterIP": ip,
            "clusterIPs": [ip],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": [self._network.families[0]],
            "ipFamilyPolicy": "SingleStack",
            "ports": [port],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        }
        labels = {"component": "apiserver", "provider": "kubernetes"}
        meta = self._metadata("v1", _SERVICE_FIELDS, namespace="default", labels=labels)
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": spec,
            "status": {"loadBalancer": {}},
        }

    def _service_cidr(self, old: JsonObject | None) -> JsonObject | None:
        cidrs = list(self._network.cidrs)
        if old is not None:
            stored = old["spec"].get("cidrs")
            # The flags can add a second IP family to the stored range. Other changes are left to an administrator.
            return {**old, "spec": {"cidrs": cidrs}} if stored == cidrs[:1] != cidrs else None
        version, now = "networking.k8s.io/v1", self._now()
        meta = self._metadata(version, {"f:spec": {"f:cidrs": {}}})
        status_manager = self._managed_fields(version, _CIDR_STATUS_FIELDS)
        status_manager |= {
            "manager": "kubernetes-service-cidr-controller",
            "operation": "Apply",
            "subresource": "status",
        }
        meta["managedFields"].insert(0, status_manager)
        condition = {
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }
        return {
            "apiVersion": version,
            "kind": "ServiceCIDR",
            "metadata": meta,
            "spec": {"cidrs": cidrs},
            "status": {"conditions": [condition]},
        }

    def _endpoints(self, old: JsonObject | None, add: bool) -> JsonObject | None:
        subsets = (old or {}).get("subsets") or [{}]
        ips = [address["ip"] for address in subsets[0].get("addresses") or ()]
        changed = self._addresses(ips, add)
        if changed is None:
            return None
        if old is None:
            labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
            fields: JsonObject = {"f:metadata": {"f:labels": {".": {}, f"f:{next(iter(labels))}": {}}}, "f:subsets": {}}
            meta = self._metadata("v1", fields, namespace="default", labels=labels)
            old = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta}
        port = {"name": "https", "port": self._port, "protocol": "TCP"}
        subset = {"addresses": [{"ip": ip} for ip in changed], "ports": [port]}
        return {**old, "subsets": [subset] if changed else []}

    def _endpoint_slice(self, old: JsonObject | None, add: bool) -> JsonObject | None:
        ips = [endpoint["addresses"][0] for endpoint in (old or {}).get("endpoints") or ()]
        changed = self._addresses(ips, add)
        if changed is None:
            return None
        if old is None:
            version = "discovery.k8s.io/v1"
            labels = {"kubernetes.io/service-name": _NAME}
            fields: JsonObject = {
                "f:addressType": {},
                "f:endpoints": {},
                "f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/service-name": {}}},
                "f:ports": {},
            }
            meta = self._metadata(version, fields, namespace="default", labels=labels)
            address_type = f"IPv{ip_address(self._address).version}"
            old = {"apiVersion": version, "kind": "EndpointSlice", "metadata": meta, "addressType": address_type}
        endpoints = [{"addresses": [ip], "conditions": {"ready": True}} for ip in changed]
        port = {"name": "https", "port": self._port, "protocol": "TCP"}
        return {**old, "endpoints": endpoints, "ports": [port]}

    def _addresses(self, ips: list[str], add: bool) -> list[str] | None:
        """Return `ips` with this server's address if `add` is true, else without it. Return None if nothing changes."""
        if (self._address in ips) == add:
            return None
        return sorted([*ips, self._address]) if add else [ip for ip in ips if ip != self._address]

    def _metadata(self, api_version: str, fields: JsonObject, **more: Any) -> JsonObject:
        return {
            "name": _NAME,
            "uid": self._backend.ids.uid(),
            "creationTimestamp": self._now(),
            "managedFields": [self._managed_fields(api_version, fields)],
            **more,
        }

    def _managed_fields(self, api_version: str, fields: JsonObject) -> JsonObject:
        return {
            "manager": "kube-apiserver",
            "operation": "Update",
            "apiVersion": api_version,
            "time": self._now(),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }


def _decoded(stored: KeyValue) -> JsonObject:
    """Decode a stored object. Raise InternalError if its bytes are damaged or cannot be decrypted."""
    obj = parse_stored(stored.key, stored.value, stored.revision, False).decode()
    obj["metadata"].pop("resourceVersion", None)
    return obj
