"""The base class of the simulated controllers, and the rules that several of them share."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Sequence
from typing import ClassVar

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_cluster import SimulatedCluster
from polykind.testing.simulation.simulated_failures import Failures

REVISION_LABEL = "controller-revision-hash"


class SimulatedController:
    """Reconciles the objects of one resource. A simulation runs only one reconciliation at a time."""

    plural: ClassVar[str]
    owned: ClassVar[tuple[str, ...]] = ()
    """The resources whose objects this controller creates. If such an object changes, its owner is reconciled."""
    watched: ClassVar[tuple[str, ...]] = ()
    """Other resources that this controller watches. If an object of such a resource changes, all objects of this
    controller are reconciled.
    """

    def __init__(self, cluster: SimulatedCluster, failures: Failures) -> None:
        self.cluster = cluster
        self.failures = failures

    async def start(self) -> None:
        """Create the objects that this controller needs before its first reconciliation. By default, do nothing."""

    async def reconcile(self, obj: JsonObject) -> None:
        """Move an object one step towards its desired state. A write to the object triggers the next reconciliation."""
        raise NotImplementedError

    async def removed(self, namespace: str, name: str) -> None:
        """Clean up after the object with this name has been deleted. By default, do nothing."""


def owner_reference(owner: JsonObject) -> JsonObject:
    """Return the ownerReference for objects that a controller creates on behalf of `owner`."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from_template(owner: JsonObject, template: JsonObject, *, name: str = "", prefix: str = "") -> JsonObject:
    """Return a new pod from the pod template of `owner`, with the name `name` or with `prefix` as its generateName."""
    meta = copy.deepcopy(template.get("metadata") or {})
    kept = {key: meta[key] for key in ("labels", "annotations", "finalizers") if meta.get(key)}
    naming = {"name": name} if name else {"generateName": prefix or f"{owner['metadata']['name']}-"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **kept,
            **naming,
            "namespace": owner["metadata"]["namespace"],
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": copy.deepcopy(template["spec"]),
    }


def template_hash(template: JsonObject) -> str:
    """Return a hash of a pod template, for names and labels."""
    return hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]


def is_active(pod: JsonObject) -> bool:
    """True if a pod is neither finished nor being deleted."""
    return not is_terminating(pod) and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def is_terminating(obj: JsonObject) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def has_condition(obj: JsonObject, condition_type: str) -> bool:
    """True if a condition of this type has status True."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(one["type"] == condition_type and one["status"] == "True" for one in conditions)


def ready_count(pods: Sequence[JsonObject]) -> int:
    return sum(has_condition(pod, "Ready") for pod in pods)


def set_condition(status: JsonObject, condition: JsonObject, now: str, *times: str) -> None:
    """Add a condition to `status` in place, or replace the condition of the same type.

    Do nothing if the old condition has the same fields. Otherwise set the fields named in `times` to `now`. Also set
    lastTransitionTime to `now` if the status of the condition changes.
    """
    conditions = status["conditions"] = list(status.get("conditions") or ())
    index = next((i for i, one in enumerate(conditions) if one["type"] == condition["type"]), len(conditions))
    old = conditions[index] if index < len(conditions) else {}
    if all(old.get(name) == value for name, value in condition.items()):
        return
    transition = old.get("lastTransitionTime", now) if old.get("status") == condition["status"] else now
    conditions[index : index + 1] = [{**condition, "lastTransitionTime": transition, **dict.fromkeys(times, now)}]


def remove_condition(status: JsonObject, condition_type: str) -> None:
    if status.get("conditions"):
        status["conditions"] = [one for one in status["conditions"] if one["type"] != condition_type]
