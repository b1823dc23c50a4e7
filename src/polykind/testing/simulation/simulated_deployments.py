"""Simulated controller of Deployments: rollouts through ReplicaSets."""

from __future__ import annotations

import copy

from polykind.apis.meta.field_validation import int_or_percent
from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import (
    SimulatedController,
    is_active,
    is_terminating,
    owner_reference,
    set_condition,
    template_hash,
)

_HASH_LABEL = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"
_HISTORY = "deployment.kubernetes.io/revision-history"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MAXIMUM = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = (
    _REVISION,
    _HISTORY,
    _DESIRED,
    _MAXIMUM,
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
)
"""The annotations of a Deployment that its ReplicaSets do not get. `kubectl rollout history` reads the others."""


class SimulatedDeployments(SimulatedController):
    """Rolls Deployments out according to their strategies, one step per reconciliation."""

    plural = "deployments"
    owned = ("replicasets",)
    watched = ("pods",)
    """A Deployment with the strategy Recreate waits until the old pods are gone, but ReplicaSets do not report that."""

    async def reconcile(self, deployment: JsonObject) -> None:
        if is_terminating(deployment):
            return
        replica_sets = await self.cluster.owned("replicasets", deployment)
        current = next((one for one in replica_sets if _has_template(one, deployment)), None)
        old = [one for one in replica_sets if one is not current]
        if not deployment["spec"].get("paused"):
            if current is None:
                current = await self._create_replica_set(deployment, replica_sets)
            await self._set_revision(deployment, current, old)
            await self._roll_out(deployment, current, old)
            await self._prune(deployment, old)
        else:
            await self._scale_paused(deployment, current, old)
        await self._report(deployment, current, old)

    async def _create_replica_set(self, deployment: JsonObject, others: list[JsonObject]) -> JsonObject:
        spec, meta = deployment["spec"], deployment["metadata"]
        template = copy.deepcopy(spec["template"])
        value = template_hash(template)
        template["metadata"].setdefault("labels", {})[_HASH_LABEL] = value
        selector = copy.deepcopy(spec["selector"])
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), _HASH_LABEL: value}
        revision = 1 + max((_revision(one) for one in others), default=0)
        replica_set = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{meta['name']}-{value}",
                "namespace": meta["namespace"],
                "labels": template["metadata"]["labels"],
                "annotations": {_REVISION: str(revision)},
                "ownerReferences": [owner_reference(deployment)],
            },
            "spec": {
                "replicas": 0,
                "selector": selector,
                "template": template,
                "minReadySeconds": spec.get("minReadySeconds", 0),
            },
        }
        return await self.cluster.create("replicasets", replica_set)

    async def _set_revision(self, deployment: JsonObject, current: JsonObject, old: list[JsonObject]) -> None:
        """Give the current ReplicaSet the highest revision number, also if it was an old one before a rollback.

        It also gets the annotations of the Deployment, and remembers its former revisions.
        """
        revision = max(_revision(current), 1 + max((_revision(one) for one in old), default=0))
        copied = {
            key: value
            for key, value in (deployment["metadata"].get("annotations") or {}).items()
            if key not in _NOT_COPIED
        }
        wanted = deployment["spec"].get("replicas", 1)
        sizes = {_DESIRED: str(wanted), _MAXIMUM: str(wanted + rolling_limits(deployment)[0])}

        def annotate_replica_set(obj: JsonObject) -> None:
            annotations = {**(obj["metadata"].get("annotations") or {}), **copied, **sizes}
            before = annotations.get(_REVISION)
            if before and int(before) < revision:
                annotations[_HISTORY] = ",".join(filter(None, (annotations.get(_HISTORY), before)))
            obj["metadata"]["annotations"] = {**annotations, _REVISION: str(revision)}

        def annotate(obj: JsonObject) -> None:
            meta = obj["metadata"]
            meta["annotations"] = {**(meta.get("annotations") or {}), _REVISION: str(revision)}

        await self.cluster.update("replicasets", current, annotate_replica_set)
        await self.cluster.update("deployments", deployment, annotate)

    async def _scale_paused(self, deployment: JsonObject, current: JsonObject | None, old: list[JsonObject]) -> None:
        """Scale the only ReplicaSet with pods, or else the latest one. A pause stops rollouts, but not scaling."""
        replica_sets = [*old, current] if current is not None else old
        active = [one for one in replica_sets if _size(one)]
        if len(active) <= 1 and replica_sets:
            scaled = active[0] if active else max(replica_sets, key=_revision)
            await self._scale(scaled, deployment["spec"].get("replicas", 1))

    async def _roll_out(self, deployment: JsonObject, current: JsonObject, old: list[JsonObject]) -> None:
        wanted = deployment["spec"].get("replicas", 1)
        if deployment["spec"]["strategy"].get("type") == "Recreate":
            for one in old:
                await self._scale(one, 0)
            if not await self._runs_pods(old):
                await self._scale(current, wanted)
            return
        surge, unavailable = rolling_limits(deployment)
        size = _size(current)
        room = wanted + surge - size - sum(map(_size, old))
        await self._scale(current, min(wanted, size + max(room, 0)))
        removable = size - _available(current)
        spare = size + sum(map(_size, old)) - (wanted - unavailable) - max(removable, 0)
        # Scale down the ReplicaSets with the most unavailable pods first, because that keeps the available pods.
        for one in sorted(old, key=lambda replica_set: _available(replica_set) - _size(replica_set)):
            shrink = min(_size(one), max(spare, 0))
            spare -= shrink
            await self._scale(one, _size(one) - shrink)

    async def _runs_pods(self, replica_sets: list[JsonObject]) -> bool:
        for one in replica_sets:
            if any(is_active(pod) or is_terminating(pod) for pod in await self.cluster.owned("pods", one)):
                return True
        return False

    async def _scale(self, replica_set: JsonObject, replicas: int) -> None:
        await self.cluster.update("replicasets", replica_set, lambda obj: obj["spec"].update(replicas=replicas))

    async def _prune(self, deployment: JsonObject, old: list[JsonObject]) -> None:
        """Delete ReplicaSets without pods, the oldest first, until at most revisionHistoryLimit of them remain."""
        idle = sorted((one for one in old if not _size(one) and not _count(one, "replicas")), key=_revision)
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        for one in idle[: max(len(idle) - limit, 0)]:
            await self.cluster.delete("replicasets", one)

    async def _report(self, deployment: JsonObject, current: JsonObject | None, old: list[JsonObject]) -> None:
        spec, now = deployment["spec"], self.cluster.now()
        wanted = spec.get("replicas", 1)
        everything = [*old, current] if current is not None else old
        counts = {
            "replicas": sum(_count(one, "replicas") for one in everything),
            "updatedReplicas": _count(current, "replicas") if current is not None else 0,
            "readyReplicas": sum(_count(one, "readyReplicas") for one in everything),
            "availableReplicas": sum(map(_available, everything)),
        }
        counts["unavailableReplicas"] = max(sum(map(_size, everything)) - counts["availableReplicas"], 0)
        complete = counts["updatedReplicas"] == counts["replicas"] == counts["availableReplicas"] == wanted
        rolls = spec["strategy"].get("type") != "Recreate"
        least = wanted - rolling_limits(deployment)[1] if rolls else wanted
        failure = self.failures.find("deployments", deployment)
        name = current["metadata"]["name"] if current is not None else ""
        conditions = [_availability(counts["availableReplicas"] >= least)]
        if spec.get("paused"):
            progress = {"type": "Progressing", "status": "Unknown", "reason": "DeploymentPaused"}
            conditions.append({**progress, "message": "Deployment is paused"})
        elif failure is not None:
            text = failure.message or f'ReplicaSet "{name}" has timed out progressing.'
            conditions.append(_condition("Progressing", False, failure.reason, text))
        elif complete:
            text = f'ReplicaSet "{name}" has successfully progressed.'
            conditions.append(_condition("Progressing", True, "NewReplicaSetAvailable", text))
        elif current is not None:
            text = f'ReplicaSet "{name}" is progressing.'
            conditions.append(_condition("Progressing", True, "ReplicaSetUpdated", text))

        def report(status: JsonObject) -> None:
            status["observedGeneration"] = deployment["metadata"].get("generation", 1)
            for field, value in counts.items():
                status[field] = value
                if not value:
                    del status[field]
            status["terminatingReplicas"] = sum(_count(one, "terminatingReplicas") for one in everything)
            for condition in conditions:
                set_condition(status, condition, now, "lastUpdateTime")

        await self.cluster.update_status("deployments", deployment, report)


def rolling_limits(deployment: JsonObject) -> tuple[int, int]:
    """Return maxSurge and maxUnavailable of a Deployment as numbers of pods, with percentages resolved."""
    wanted = deployment["spec"].get("replicas", 1)
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    surge, unavailable = rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%")
    most = -(-wanted * int_or_percent(surge) // 100) if isinstance(surge, str) else surge
    least = wanted * int_or_percent(unavailable) // 100 if isinstance(unavailable, str) else unavailable
    # If both limits are zero, allow one unavailable pod. Otherwise a rollout could never start.
    return most, min(least or (0 if most else 1), wanted)


def _availability(met: bool) -> JsonObject:
    if met:
        return _condition("Available", True, "MinimumReplicasAvailable", "Deployment has minimum availability.")
    text = "Deployment does not have minimum availability."
    return _condition("Available", False, "MinimumReplicasUnavailable", text)


def _condition(kind: str, met: bool, reason: str, message: str) -> JsonObject:
    return {"type": kind, "status": "True" if met else "False", "reason": reason, "message": message}


def _has_template(replica_set: JsonObject, deployment: JsonObject) -> bool:
    """True if a ReplicaSet has the pod template of a Deployment. The label with the template's hash is ignored."""
    template = copy.deepcopy(replica_set["spec"]["template"])
    template["metadata"]["labels"].pop(_HASH_LABEL, None)
    return bool(template == deployment["spec"]["template"])


def _revision(replica_set: JsonObject) -> int:
    return int((replica_set["metadata"].get("annotations") or {}).get(_REVISION, "0"))


def _size(replica_set: JsonObject) -> int:
    return int(replica_set["spec"].get("replicas", 1))


def _count(replica_set: JsonObject, field: str) -> int:
    return int((replica_set.get("status") or {}).get(field, 0))


def _available(replica_set: JsonObject) -> int:
    return _count(replica_set, "availableReplicas")
