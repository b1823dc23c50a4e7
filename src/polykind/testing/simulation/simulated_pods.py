"""Simulated scheduler and kubelet: pods are assigned to nodes, run, complete, fail and end."""

from __future__ import annotations

import hashlib

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import (
    SimulatedController,
    has_condition,
    is_terminating,
    remove_condition,
    set_condition,
)
from polykind.testing.simulation.simulated_failures import CONTAINER_REASONS, Failure

NODE = "simulated-node"
"""The name of the node that the simulation creates if the cluster has no node."""
_HOST_IP = "192.168.0.1"
_NOT_READY = "NotReady"
_UNSCHEDULABLE = "Unschedulable"
_NODE_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


class SimulatedPods(SimulatedController):
    """Assigns pods to nodes by their node selectors, and then writes their status as a kubelet does.

    A pod with restartPolicy Always becomes ready. Any other pod first runs and then succeeds, unless a failure is
    simulated for it.
    """

    plural = "pods"
    watched = ("nodes",)

    async def start(self) -> None:
        """Create a node if the cluster has none, because pods and DaemonSets need one."""
        if await self.cluster.list_objects("nodes"):
            return
        meta = {"name": NODE, "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}}
        # Skip admission, which would add a taint that only a node controller removes.
        node = await self.cluster.create(
            "nodes", {"apiVersion": "v1", "kind": "Node", "metadata": meta}, admission=False
        )
        now = self.cluster.now()

        def set_ready(status: JsonObject) -> None:
            resources = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
            status.update(capacity=resources, allocatable=resources)
            status["addresses"] = [
                {"type": "InternalIP", "address": _HOST_IP},
                {"type": "Hostname", "address": NODE},
            ]
            for kind, value, reason, message in _NODE_CONDITIONS:
                condition = {"type": kind, "status": value, "reason": reason, "message": message}
                set_condition(status, condition, now, "lastHeartbeatTime")

        await self.cluster.update_status("nodes", node, set_ready)

    async def reconcile(self, pod: JsonObject) -> None:
        if is_terminating(pod):
            await self.cluster.delete("pods", pod, now=True)
            return
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return
        failure = self.failures.find("pods", pod)
        if not pod["spec"].get("nodeName"):
            await self._schedule(pod, failure)
            return
        await self._run(pod, failure)

    async def _schedule(self, pod: JsonObject, failure: Failure | None) -> None:
        if pod["spec"].get("schedulingGates"):
            return
        nodes = await self.cluster.list_objects("nodes")
        selector = pod["spec"].get("nodeSelector") or {}
        fitting = [node["metadata"]["name"] for node in nodes if _is_schedulable(node, selector)]
        if failure is not None and failure.reason == _UNSCHEDULABLE:
            await self._report_unschedulable(pod, failure.message or f"0/{len(nodes)} nodes are available.")
        elif not fitting:
            reason = f"{len(nodes)} node(s) didn't match Pod's node affinity/selector"
            await self._report_unschedulable(pod, f"0/{len(nodes)} nodes are available: {reason}.")
        else:
            load = dict.fromkeys(fitting, 0)
            for other in await self.cluster.list_objects("pods"):
                if other["spec"].get("nodeName") in load:
                    load[other["spec"]["nodeName"]] += 1
            await self.cluster.bind(pod, min(fitting, key=lambda name: (load[name], name)))

    async def _report_unschedulable(self, pod: JsonObject, message: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": _UNSCHEDULABLE, "message": message}
        now = self.cluster.now()
        await self.cluster.update_status("pods", pod, lambda status: set_condition(status, condition, now))

    async def _run(self, pod: JsonObject, failure: Failure | None) -> None:
        """Write the next status of a pod on a node: first Running, and then Succeeded unless its restartPolicy is
        Always. A simulated failure changes the status.
        """
        now = self.cluster.now()
        completes = pod["spec"].get("restartPolicy") != "Always"
        started = (pod.get("status") or {}).get("phase") == "Running"
        next_status = _PodStatus(pod, failure, now, finish=completes and started)
        await self.cluster.update_status("pods", pod, next_status.write)


def _is_schedulable(node: JsonObject, selector: JsonObject) -> bool:
    labels = node["metadata"].get("labels") or {}
    return not node["spec"].get("unschedulable") and selector.items() <= labels.items()


class _PodStatus:
    """Computes the status that a kubelet would report for a pod. If `finish` is true, its containers have ended."""

    def __init__(self, pod: JsonObject, failure: Failure | None, now: str, *, finish: bool) -> None:
        self._pod = pod
        self._reason = failure.reason if failure is not None else ""
        self._message = failure.message if failure is not None else ""
        self._now = now
        self._waits = self._reason in CONTAINER_REASONS
        completes = pod["spec"].get("restartPolicy") != "Always"
        crashes = self._reason not in ("", _NOT_READY, _UNSCHEDULABLE) and not self._waits
        self._evicted = self._reason == "Evicted"
        self._crash_loops = crashes and not completes and not self._evicted
        self._finished = finish and self._reason != _NOT_READY and not self._waits
        self._failed = (self._finished and crashes) or self._evicted

    def write(self, status: JsonObject) -> None:
        """Set the fields of the pod's status in place."""
        status["phase"] = self._phase()
        status["observedGeneration"] = self._pod["metadata"].get("generation", 1)
        status.setdefault("startTime", self._now)
        status["hostIP"], status["hostIPs"] = _HOST_IP, [{"ip": _HOST_IP}]
        address = _pod_ip(self._pod)
        status["podIP"], status["podIPs"] = address, [{"ip": address}]
        if self._failed and self._evicted:
            status["reason"] = self._reason
            status["message"] = self._message or "The node was low on resource: memory."
        spec = self._pod["spec"]
        for field, group in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
            old = {one["name"]: one for one in status.get(group) or ()}
            if spec.get(field):
                found = [self._container(one, old.get(one["name"]) or {}, field) for one in spec[field]]
                status[group] = found
        self._write_conditions(status)

    def _phase(self) -> str:
        if self._failed:
            return "Failed"
        if self._finished:
            return "Succeeded"
        return "Pending" if self._waits else "Running"

    def _container(self, container: JsonObject, old: JsonObject, field: str) -> JsonObject:
        """Return the container status of one container. `old` is its previous container status.

        If the state has not changed, keep its times.
        """
        is_setup = field == "initContainers" and container.get("restartPolicy") != "Always"
        kind, state = self._state(is_setup)
        before = (old.get("state") or {}).get(kind)
        if before is not None and before.get("reason") == state.get("reason"):
            state = before
        last = old.get("lastState") or {}
        restarts = old.get("restartCount", 0)
        if self._crash_loops and not is_setup and kind not in (old.get("state") or {}):
            last, restarts = {"terminated": self._termination(self._crash_reason(), 1)}, restarts + 1
        runs = kind == "running"
        started = {} if self._waits else {"containerID": f"containerd://{_digest(self._pod, container['name'])}"}
        return {
            "name": container["name"],
            "state": {kind: state},
            "lastState": last,
            "ready": (runs and self._reason != _NOT_READY) or (is_setup and kind == "terminated"),
            "restartCount": restarts,
            "image": container.get("image", ""),
            "imageID": "" if self._waits else container.get("image", ""),
            **started,
            "started": runs,
        }

    def _state(self, is_setup: bool) -> tuple[str, JsonObject]:
        if self._waits:
            message = {"message": self._message} if self._message else {}
            return "waiting", {"reason": "PodInitializing" if is_setup else self._reason, **message}
        if is_setup or (self._finished and not self._failed):
            return "terminated", self._termination("Completed", 0)
        if self._failed:
            return "terminated", self._termination(self._crash_reason(), 1)
        if self._crash_loops:
            name = self._pod["metadata"]["name"]
            text = self._message or f"back-off 10s restarting failed container of pod {name}"
            return "waiting", {"reason": "CrashLoopBackOff", "message": text}
        return "running", {"startedAt": self._now}

    def _crash_reason(self) -> str:
        return "Error" if self._reason in ("CrashLoopBackOff", "Evicted") else self._reason

    def _termination(self, reason: str, code: int) -> JsonObject:
        code = 137 if reason == "OOMKilled" else code
        return {"exitCode": code, "reason": reason, "startedAt": self._now, "finishedAt": self._now}

    def _write_conditions(self, status: JsonObject) -> None:
        ended = "PodFailed" if self._failed else "PodCompleted" if self._finished else ""
        ready = not (ended or self._waits or self._crash_loops or self._reason == _NOT_READY)
        gates = self._pod["spec"].get("readinessGates") or ()
        gated = not all(has_condition(self._pod, gate["conditionType"]) for gate in gates)
        blocked = ended or "ContainersNotReady"
        for kind, met, reason in (
            ("PodReadyToStartContainers", not ended, ""),
            ("Initialized", not self._waits or not self._pod["spec"].get("initContainers"), ended),
            ("Ready", ready and not gated, "ReadinessGatesNotReady" if ready else blocked),
            ("ContainersReady", ready, blocked),
            ("PodScheduled", True, ""),
        ):
            self._set_condition(status, kind, reason, met=met)

    def _set_condition(self, status: JsonObject, kind: str, reason: str, *, met: bool) -> None:
        condition = {"type": kind, "status": "True" if met else "False"}
        if reason and (not met or reason == "PodCompleted"):
            condition["reason"] = reason
        _remove_reason(status, condition)
        set_condition(status, condition, self._now)


def _remove_reason(status: JsonObject, condition: JsonObject) -> None:
    """If `condition` has no reason, remove the old condition of its type if that one has a reason.

    Otherwise `set_condition`, which compares only the fields of `condition`, could keep the old condition.
    """
    for old in status.get("conditions") or ():
        if old["type"] == condition["type"] and old.get("reason") and "reason" not in condition:
            remove_condition(status, condition["type"])
            return


def _digest(pod: JsonObject, container: str) -> str:
    return hashlib.sha256(f"{pod['metadata']['uid']}/{container}".encode()).hexdigest()


def _pod_ip(pod: JsonObject) -> str:
    """Return an IP address that depends only on the pod's uid."""
    digest = hashlib.sha256(pod["metadata"]["uid"].encode()).digest()
    return f"10.244.{digest[0]}.{1 + digest[1] % 254}"
