"""Simulated provisioner: PersistentVolumeClaims are bound to new PersistentVolumes."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import SimulatedController, is_terminating

_BOUND = "pv.kubernetes.io/bind-completed"
_PROVISIONER = "pv.kubernetes.io/provisioned-by"
_PROTECTION = ("kubernetes.io/pvc-protection", "kubernetes.io/pv-protection")
"""Finalizers that admission plugins add to claims and volumes. In a real cluster, controllers remove them."""


class SimulatedVolumeClaims(SimulatedController):
    """Binds each claim to a new volume, or to the volume that the claim names.

    When a claim is deleted, the volume that was created for it is deleted, too.
    """

    plural = "persistentvolumeclaims"

    async def reconcile(self, claim: JsonObject) -> None:
        if is_terminating(claim):
            await self._release(self.plural, claim)
            return
        if self.failures.find(self.plural, claim) is not None:
            return
        name = claim["spec"].get("volumeName") or f"pvc-{claim['metadata']['uid']}"
        volume = await self.cluster.get("persistentvolumes", "", name)
        if volume is None:
            if claim["spec"].get("volumeName"):
                return
            volume = await self.cluster.create("persistentvolumes", _volume(claim, name))
        elif (volume["spec"].get("claimRef") or {}).get("uid") != claim["metadata"]["uid"]:
            reference = _claim_reference(claim)
            await self.cluster.update("persistentvolumes", volume, lambda obj: obj["spec"].update(claimRef=reference))
        await self.cluster.update_status("persistentvolumes", volume, lambda status: status.update(phase="Bound"))

        def bind(obj: JsonObject) -> None:
            obj["spec"]["volumeName"] = name
            obj["metadata"]["annotations"] = {**(obj["metadata"].get("annotations") or {}), _BOUND: "yes"}

        await self.cluster.update(self.plural, claim, bind)
        bound = {
            "phase": "Bound",
            "accessModes": volume["spec"]["accessModes"],
            "capacity": volume["spec"]["capacity"],
        }
        await self.cluster.update_status(self.plural, claim, lambda status: status.update(bound))

    async def removed(self, namespace: str, name: str) -> None:
        for volume in await self.cluster.list_objects("persistentvolumes"):
            reference = volume["spec"].get("claimRef") or {}
            if (reference.get("namespace"), reference.get("name")) == (namespace, name) and _is_own(volume):
                if not is_terminating(volume):
                    await self.cluster.delete("persistentvolumes", volume)
                await self._release("persistentvolumes", volume)

    async def _release(self, plural: str, obj: JsonObject) -> None:
        """Remove the protection finalizers of a claim or volume, so that its deletion can complete."""

        def remove(new: JsonObject) -> None:
            finalizers = new["metadata"].get("finalizers") or ()
            new["metadata"]["finalizers"] = [one for one in finalizers if one not in _PROTECTION]

        await self.cluster.update(plural, obj, remove)


def _is_own(volume: JsonObject) -> bool:
    return (volume["metadata"].get("annotations") or {}).get(_PROVISIONER) == "polykind-simulation"


def _claim_reference(claim: JsonObject) -> JsonObject:
    meta = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        **{key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion")},
    }


def _volume(claim: JsonObject, name: str) -> JsonObject:
    spec = claim["spec"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {_PROVISIONER: "polykind-simulation"}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "storageClassName": spec.get("storageClassName", ""),
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": _claim_reference(claim),
            "hostPath": {"path": f"/simulated/{name}"},
        },
    }
