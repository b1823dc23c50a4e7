"""Columns of `kubectl get pods`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from polykind.apis.machinery.columns import AGE, condition_of, value_at
from polykind.codec.table import Column, TableFormat, age
from polykind.contract import JsonObject

_FINAL_PHASES = ("Succeeded", "Failed")
_CONDITIONS = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}
"""The messages of the conditions of table rows, by the phase of the pod."""


class _Summary(NamedTuple):
    """The values of a pod's row in the table: status, ready and total containers, restarts."""

    reason: str
    ready: int
    total: int
    restarts: int
    last_restart: str
    """The time of the last restart, or an empty string."""


class _Restarts:
    """The number of restarts of containers, and the time of the last restart."""

    def __init__(self) -> None:
        self.number = 0
        self.last = ""

    def add(self, status: JsonObject) -> None:
        self.number += status.get("restartCount", 0)
        terminated = status["lastState"].get("terminated")
        if terminated is not None:
            # Times in UTC with the same number of digits can be compared as strings.
            self.last = max(self.last, terminated.get("finishedAt") or "")


def _summarize(pod: JsonObject) -> _Summary:
    spec, status = pod["spec"], pod["status"]
    init_containers = {container["name"]: container for container in spec.get("initContainers") or ()}
    sidecars = {name for name, container in init_containers.items() if container.get("restartPolicy") == "Always"}
    total = len(spec.get("containers") or ()) + len(sidecars)
    reason = _pod_reason(status)
    init_reason, ready, init_restarts, sidecar_restarts = _summarize_init(status, sidecars, len(init_containers))
    restarts = init_restarts
    if init_reason:
        reason = init_reason
    if not init_reason or (condition_of(status.get("conditions"), "Initialized") or {}).get("status") == "True":
        restarts = sidecar_restarts
        reason, running = _summarize_containers(status, reason, restarts)
        ready += running
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in _FINAL_PHASES:
            reason = "Terminating"
    return _Summary(reason, ready, total, restarts.number, restarts.last)


def _pod_reason(status: JsonObject) -> str:
    scheduled = (
        condition.get("reason")
        for condition in status.get("conditions") or ()
        if condition.get("type") == "PodScheduled"
    )
    if "SchedulingGated" in scheduled:
        return "SchedulingGated"
    return str(status.get("reason") or status.get("phase", ""))


def _summarize_init(status: JsonObject, sidecars: set[str], number: int) -> tuple[str, int, _Restarts, _Restarts]:
    """Return four values about init containers.

    These are the reason why they are not done, the number of ready sidecars, the restarts of all init containers, and
    the restarts of sidecars.
    """
    restarts, sidecar_restarts, ready = _Restarts(), _Restarts(), 0
    for position, container in enumerate(status.get("initContainerStatuses") or ()):
        restarts.add(container)
        if container["name"] in sidecars:
            sidecar_restarts.add(container)
        terminated = container["state"].get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if container["name"] in sidecars and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        waiting = (container["state"].get("waiting") or {}).get("reason", "")
        if terminated is not None:
            return f"Init:{_exit_reason(terminated)}", ready, restarts, sidecar_restarts
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}", ready, restarts, sidecar_restarts
        return f"Init:{position}/{number}", ready, restarts, sidecar_restarts
    return "", ready, restarts, sidecar_restarts


def _exit_reason(terminated: JsonObject) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _summarize_containers(status: JsonObject, reason: str, restarts: _Restarts) -> tuple[str, int]:
    """Return the reason for the pod's state according to its containers, and the number of ready containers."""
    running, error_reason = 0, ""
    for container in reversed(status.get("containerStatuses") or []):
        restarts.add(container)
        state = container["state"]
        terminated, waiting_reason = state.get("terminated"), (state.get("waiting") or {}).get("reason")
        if waiting_reason:
            reason = waiting_reason
        elif terminated is not None:
            reason = _exit_reason(terminated)
            error_reason = reason if terminated.get("exitCode") else error_reason
        elif container.get("ready") and "running" in state:
            running += 1
    if reason == "Completed" and (running or error_reason):
        reason = "Running" if running and _is_ready(status) else error_reason or "NotReady"
    return reason, running


def _is_ready(status: JsonObject) -> bool:
    return (condition_of(status.get("conditions"), "Ready") or {}).get("status") == "True"


def _ready(pod: JsonObject) -> str:
    summary = _summarize(pod)
    return f"{summary.ready}/{summary.total}"


def _restarts(pod: JsonObject, now: datetime) -> str:
    summary = _summarize(pod)
    if not summary.restarts or not summary.last_restart:
        return str(summary.restarts)
    return f"{summary.restarts} ({age(summary.last_restart, now)} ago)"


def _pod_ip(pod: JsonObject) -> str:
    addresses = pod["status"].get("podIPs")
    return (addresses[0].get("ip") if addresses else "") or "<none>"


def _readiness_gates(pod: JsonObject) -> str:
    gates = pod["spec"].get("readinessGates")
    if not gates:
        return "<none>"
    conditions = pod["status"].get("conditions")
    met = [condition_of(conditions, gate["conditionType"]) for gate in gates]
    return f"{sum((condition or {}).get('status') == 'True' for condition in met)}/{len(gates)}"


def _row_conditions(pod: JsonObject) -> list[dict[str, Any]]:
    phase = pod["status"].get("phase", "")
    if phase not in _CONDITIONS:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _CONDITIONS[phase]}]


_NODE = value_at("spec", "nodeName", default="<none>")
_NOMINATED_NODE = value_at("status", "nominatedNodeName", default="<none>")

POD = TableFormat.of_columns(
    (
        Column("Ready", "string", "The number of ready containers and of all containers", _ready),
        Column("Status", "string", "The state of the containers in short", lambda pod: _summarize(pod).reason),
        Column("Restarts", "string", "The number of restarts, and the time since the last one", at_time=_restarts),
        AGE,
        Column("IP", "string", "The address of the pod", _pod_ip, priority=1),
        Column("Node", "string", "The node on which the pod runs", _NODE, priority=1),
        Column("Nominated Node", "string", "The node on which the pod may run soon", _NOMINATED_NODE, priority=1),
        Column("Readiness Gates", "string", "The met readiness gates and all of them", _readiness_gates, priority=1),
    ),
    conditions=_row_conditions,
)
