"""Simulated controller of StatefulSets: pods with fixed names, created and updated in order."""

from __future__ import annotations

import copy

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import (
    REVISION_LABEL,
    SimulatedController,
    has_condition,
    is_terminating,
    pod_from_template,
    ready_count,
    template_hash,
)


class SimulatedStatefulSets(SimulatedController):
    """Creates pods from the lowest ordinal, and deletes and updates them from the highest."""

    plural = "statefulsets"
    owned = ("pods",)

    async def reconcile(self, stateful_set: JsonObject) -> None:
        if is_terminating(stateful_set):
            return
        pods = {pod["metadata"]["name"]: pod for pod in await self.cluster.owned("pods", stateful_set)}
        names = _pod_names(stateful_set)
        in_order = stateful_set["spec"].get("podManagementPolicy") != "Parallel"
        for name in names:
            if name not in pods:
                pods[name] = await self._create_pod(stateful_set, name)
            if in_order and not _is_ready(pods[name]):
                break
        else:
            await self._remove_pods(stateful_set, names, pods)
        await self._report(stateful_set, list(pods.values()))

    async def _create_pod(self, stateful_set: JsonObject, name: str) -> JsonObject:
        spec, meta = stateful_set["spec"], stateful_set["metadata"]
        pod = pod_from_template(stateful_set, spec["template"], name=name)
        pod["metadata"]["labels"] = {
            **pod["metadata"].get("labels", {}),
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": name.rpartition("-")[2],
            REVISION_LABEL: _revision(stateful_set),
        }
        pod["spec"].update(hostname=name, subdomain=spec.get("serviceName", ""))
        claims = {}
        for template in spec.get("volumeClaimTemplates") or ():
            volume = template["metadata"]["name"]
            claims[volume] = f"{volume}-{name}"
            await self._ensure_claim(template, claims[volume], meta["namespace"])
        volumes = [one for one in pod["spec"].get("volumes") or () if one["name"] not in claims]
        pod["spec"]["volumes"] = volumes + [
            {"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in claims.items()
        ]
        return await self.cluster.create("pods", pod)

    async def _ensure_claim(self, template: JsonObject, name: str, namespace: str) -> None:
        if await self.cluster.get("persistentvolumeclaims", namespace, name) is None:
            meta = {**template["metadata"], "name": name, "namespace": namespace}
            claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]}
            await self.cluster.create("persistentvolumeclaims", copy.deepcopy(claim))

    async def _remove_pods(self, stateful_set: JsonObject, names: list[str], pods: dict[str, JsonObject]) -> None:
        """Delete one pod: the surplus pod with the highest ordinal or, without surplus pods, the outdated one.

        A pod is outdated if it was created from an earlier pod template. Delete none unless all pods are ready.
        """
        if any(is_terminating(pod) for pod in pods.values()):
            return
        surplus = sorted(pods.keys() - set(names), key=_ordinal, reverse=True)
        strategy = stateful_set["spec"].get("updateStrategy") or {}
        partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        outdated = [
            name
            for name in reversed(names)
            if strategy.get("type") != "OnDelete"
            and _ordinal(name) >= partition
            and not _is_current(pods[name], stateful_set)
        ]
        if (surplus or outdated) and ready_count(list(pods.values())) == len(pods):
            await self.cluster.delete("pods", pods[(surplus or outdated)[0]])

    async def _report(self, stateful_set: JsonObject, pods: list[JsonObject]) -> None:
        ready = ready_count(pods)
        updated = sum(_is_current(pod, stateful_set) for pod in pods)
        revision = _revision(stateful_set)
        counts = {"readyReplicas": ready, "updatedReplicas": updated}

        def report(status: JsonObject) -> None:
            complete = updated == len(pods) == ready
            if complete or "currentRevision" not in status:
                status["currentRevision"] = revision
            current = sum(pod["metadata"]["labels"].get(REVISION_LABEL) == status["currentRevision"] for pod in pods)
            status.update(
                observedGeneration=stateful_set["metadata"].get("generation", 1),
                replicas=len(pods),
                availableReplicas=ready,
                updateRevision=revision,
                collisionCount=0,
            )
            for name, value in {**counts, "currentReplicas": current}.items():
                status[name] = value
                if not value:
                    del status[name]

        await self.cluster.update_status("statefulsets", stateful_set, report)


def _pod_names(stateful_set: JsonObject) -> list[str]:
    spec = stateful_set["spec"]
    start = (spec.get("ordinals") or {}).get("start", 0)
    return [f"{stateful_set['metadata']['name']}-{start + index}" for index in range(spec.get("replicas", 1))]


def _ordinal(name: str) -> int:
    return int(name.rpartition("-")[2])


def _revision(stateful_set: JsonObject) -> str:
    return f"{stateful_set['metadata']['name']}-{template_hash(stateful_set['spec']['template'])}"


def _is_current(pod: JsonObject, stateful_set: JsonObject) -> bool:
    return bool(pod["metadata"]["labels"].get(REVISION_LABEL) == _revision(stateful_set))


def _is_ready(pod: JsonObject) -> bool:
    return has_condition(pod, "Ready") and not is_terminating(pod)
