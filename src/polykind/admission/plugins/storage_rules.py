"""Plugins for storage: StorageObjectInUseProtection and PersistentVolumeClaimResize."""

from __future__ import annotations

from polykind.admission.attributes import CREATE, UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden, replace_metadata
from polykind.contract import JsonObject
from polykind.quantity import Quantity, parse_quantity

_FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class StorageObjectInUseProtection(BuiltinPlugin):
    """Adds the finalizer that keeps volumes, claims and classes while they are in use."""

    operations = (CREATE,)

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        finalizer = _FINALIZERS[attributes.resource.plural]
        present = obj["metadata"].get("finalizers") or []
        if finalizer not in present:
            replace_metadata(attributes, finalizers=[*present, finalizer])


class PersistentVolumeClaimResize(BuiltinPlugin):
    """Allows a claim to grow only if it is bound and its storage class allows expansion."""

    operations = (UPDATE,)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        old = attributes.old or {}
        if _requested_storage(obj) <= _requested_storage(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        if not await self._allows_expansion(obj, old):
            reason = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc"
            raise forbidden(attributes, f"{reason} must support resize")

    async def _allows_expansion(self, claim: JsonObject, old: JsonObject) -> bool:
        name = claim_class(claim)
        if not name or name != claim_class(old):
            return False
        storage_class = await self.services.objects.get("storage.k8s.io", "storageclasses", "", name)
        return bool((storage_class or {}).get("allowVolumeExpansion"))


def claim_class(claim: JsonObject) -> str:
    """Return the storage class of a claim. The deprecated annotation takes precedence over the field."""
    annotations = claim["metadata"].get("annotations") or {}
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return str((claim.get("spec") or {}).get("storageClassName") or "")


def _requested_storage(claim: JsonObject) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return parse_quantity(requests.get("storage", "0"))
