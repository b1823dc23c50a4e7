"""Plugins that give objects the cluster's default class: DefaultStorageClass and DefaultIngressClass."""

from __future__ import annotations

from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, replace_spec
from polykind.contract import JsonObject


class _DefaultClass(BuiltinPlugin):
    """Sets the class of new objects that do not name a class."""

    operations = (CREATE,)
    field = ""
    class_annotation = ""
    """The deprecated annotation that names an object's class."""
    classes = ("", "")
    """The group and plural of the resource that defines the classes, such as storageclasses."""
    default_annotations: tuple[str, ...] = ()
    """The annotations that mark a default class."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        annotations = obj["metadata"].get("annotations") or {}
        if spec.get(self.field) is not None or self.class_annotation in annotations:
            return
        defaults = [c for c in await self.services.objects.list(*self.classes) if self._is_default(c)]
        if defaults:
            newest = max(c["metadata"].get("creationTimestamp") or "" for c in defaults)
            names = [
                c["metadata"]["name"] for c in defaults if (c["metadata"].get("creationTimestamp") or "") == newest
            ]
            replace_spec(attributes, {**spec, self.field: min(names)})

    def _is_default(self, obj: JsonObject) -> bool:
        annotations = obj["metadata"].get("annotations") or {}
        return any(annotations.get(name) == "true" for name in self.default_annotations)


class DefaultStorageClass(_DefaultClass):
    """Sets the storage class of new PersistentVolumeClaims."""

    field = "storageClassName"
    class_annotation = "volume.beta.kubernetes.io/storage-class"
    classes = ("storage.k8s.io", "storageclasses")
    default_annotations = (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    )


class DefaultIngressClass(_DefaultClass):
    """Sets the class of new Ingresses."""

    field = "ingressClassName"
    class_annotation = "kubernetes.io/ingress.class"
    classes = ("networking.k8s.io", "ingressclasses")
    default_annotations = ("ingressclass.kubernetes.io/is-default-class",)
