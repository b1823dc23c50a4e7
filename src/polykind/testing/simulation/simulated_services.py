"""Simulated cloud provider: Services of type LoadBalancer get an address."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import SimulatedController, is_terminating

_ADDRESSES = [f"192.0.2.{number}" for number in range(1, 255)] + [f"198.51.100.{number}" for number in range(1, 255)]
"""Addresses to assign. They are reserved for documentation, so that no client reaches a real host."""


class SimulatedServices(SimulatedController):
    """Assigns the first free address to each Service of type LoadBalancer. Skips Services with a loadBalancerClass,
    because another controller handles them.
    """

    plural = "services"

    async def reconcile(self, service: JsonObject) -> None:
        spec = service["spec"]
        if is_terminating(service) or spec.get("loadBalancerClass"):
            return
        if spec.get("type") != "LoadBalancer" or self.failures.find("services", service) is not None:
            if _ingress(service):
                await self.cluster.update_status("services", service, lambda new: new.update(loadBalancer={}))
            return
        if _ingress(service):
            return
        services = await self.cluster.list_objects("services")
        taken = {entry.get("ip") for other in services for entry in _ingress(other)}
        address = spec.get("loadBalancerIP") or next(one for one in _ADDRESSES if one not in taken)
        balancer = {"ingress": [{"ip": address, "ipMode": "VIP"}]}
        await self.cluster.update_status("services", service, lambda new: new.update(loadBalancer=balancer))


def _ingress(service: JsonObject) -> list[JsonObject]:
    """Return the addresses of a Service's load balancer."""
    return ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
