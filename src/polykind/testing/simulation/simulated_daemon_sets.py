"""Simulated controller of DaemonSets: one pod per node."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import (
    REVISION_LABEL,
    SimulatedController,
    is_active,
    is_terminating,
    pod_from_template,
    ready_count,
    template_hash,
)


class SimulatedDaemonSets(SimulatedController):
    """Runs one pod on every node that the node selector selects. A rolling update replaces one pod at a time."""

    plural = "daemonsets"
    owned = ("pods",)
    watched = ("nodes",)

    async def _nodes(self, template: JsonObject) -> list[str]:
        """Return the names of the nodes that the template of a pod selects."""
        selector = template["spec"].get("nodeSelector") or {}
        return [
            node["metadata"]["name"]
            for node in await self.cluster.list_objects("nodes")
            if selector.items() <= (node["metadata"].get("labels") or {}).items()
        ]

    async def reconcile(self, daemon_set: JsonObject) -> None:
        if is_terminating(daemon_set):
            return
        template = daemon_set["spec"]["template"]
        revision = template_hash(template)
        nodes = await self._nodes(template)
        everything = await self.cluster.owned("pods", daemon_set)
        pods = {pod["spec"].get("nodeName", ""): pod for pod in everything if is_active(pod)}
        for node in nodes:
            if node not in pods:
                pod = pod_from_template(daemon_set, template)
                pod["metadata"]["labels"] = {**pod["metadata"].get("labels", {}), REVISION_LABEL: revision}
                pod["spec"]["nodeName"] = node
                pods[node] = await self.cluster.create("pods", pod)
        for node in pods.keys() - set(nodes):
            await self.cluster.delete("pods", pods.pop(node))
        outdated = [pod for pod in pods.values() if pod["metadata"]["labels"].get(REVISION_LABEL) != revision]
        ready = ready_count(list(pods.values()))
        rolling = (daemon_set["spec"].get("updateStrategy") or {}).get("type") != "OnDelete"
        if outdated and rolling and ready == len(pods) and not any(map(is_terminating, everything)):
            await self.cluster.delete("pods", outdated[0])
        await self._report(daemon_set, len(nodes), len(pods), ready, len(pods) - len(outdated))

    async def _report(self, daemon_set: JsonObject, wanted: int, running: int, ready: int, updated: int) -> None:
        optional = {
            "updatedNumberScheduled": updated,
            "numberAvailable": ready,
            "numberUnavailable": max(wanted - ready, 0),
        }

        def report(status: JsonObject) -> None:
            status.update(
                observedGeneration=daemon_set["metadata"].get("generation", 1),
                desiredNumberScheduled=wanted,
                currentNumberScheduled=running,
                numberMisscheduled=0,
                numberReady=ready,
            )
            for name, value in optional.items():
                status[name] = value
                if not value:
                    del status[name]

        await self.cluster.update_status("daemonsets", daemon_set, report)
