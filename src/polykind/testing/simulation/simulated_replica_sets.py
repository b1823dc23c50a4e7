"""Simulated controller of ReplicaSets."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import (
    SimulatedController,
    has_condition,
    is_active,
    is_terminating,
    pod_from_template,
    ready_count,
)


class SimulatedReplicaSets(SimulatedController):
    """Creates and deletes pods until there are spec.replicas of them, and reports their number in the status."""

    plural = "replicasets"
    owned = ("pods",)

    async def reconcile(self, replica_set: JsonObject) -> None:
        if is_terminating(replica_set):
            return
        spec = replica_set["spec"]
        everything = await self.cluster.owned("pods", replica_set)
        pods = [pod for pod in everything if is_active(pod)]
        surplus = len(pods) - spec.get("replicas", 1)
        new = [pod_from_template(replica_set, spec["template"]) for _ in range(-surplus)]
        pods += [await self.cluster.create("pods", pod) for pod in new]
        # Delete pods that are not ready first.
        for pod in sorted(pods, key=lambda one: has_condition(one, "Ready"))[: max(surplus, 0)]:
            pods.remove(pod)
            await self.cluster.delete("pods", pod)
        terminating = sum(map(is_terminating, everything)) + max(surplus, 0)
        generation = replica_set["metadata"].get("generation", 1)
        counts = {"readyReplicas": ready_count(pods), "availableReplicas": ready_count(pods)}

        def count(status: JsonObject) -> None:
            status.update(replicas=len(pods), fullyLabeledReplicas=len(pods), observedGeneration=generation, **counts)
            status["terminatingReplicas"] = terminating
            for name in ("fullyLabeledReplicas", *counts):
                if not status[name]:
                    del status[name]

        await self.cluster.update_status("replicasets", replica_set, count)
