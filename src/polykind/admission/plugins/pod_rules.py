"""Small plugins for pods that are off by default: AlwaysPullImages and LimitPodHardAntiAffinityTopology."""

from __future__ import annotations

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, aggregate, forbidden, replace_spec
from polykind.contract import JsonObject

_CONTAINER_FIELDS = ("initContainers", "containers", "ephemeralContainers")
_HOSTNAME = "kubernetes.io/hostname"


class AlwaysPullImages(BuiltinPlugin):
    """Makes nodes pull all images, so that only pods with the right credentials can use private images."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        if not _has_new_image(obj, attributes.old):
            return
        spec = dict(obj.get("spec") or {})
        for field in _CONTAINER_FIELDS:
            if spec.get(field):
                spec[field] = [{**container, "imagePullPolicy": "Always"} for container in spec[field]]
        if spec.get("volumes"):
            spec["volumes"] = [
                {**volume, "image": {**volume["image"], "pullPolicy": "Always"}} if "image" in volume else volume
                for volume in spec["volumes"]
            ]
        replace_spec(attributes, spec)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        if not _has_new_image(obj, attributes.old):
            return
        spec = obj.get("spec") or {}
        policies = [
            (f"spec.{field}[{index}].imagePullPolicy", container.get("imagePullPolicy", ""))
            for field in _CONTAINER_FIELDS
            for index, container in enumerate(spec.get(field) or ())
        ]
        policies += [
            (f"spec.volumes[{index}].image.pullPolicy", volume["image"].get("pullPolicy", ""))
            for index, volume in enumerate(spec.get("volumes") or ())
            if "image" in volume
        ]
        problems = [
            forbidden(attributes, str(errors.not_supported(path, policy, ["Always"]))).message
            for path, policy in policies
            if policy != "Always"
        ]
        if problems:
            raise errors.UnknownReasonError(aggregate(problems))


def _has_new_image(pod: JsonObject, old: JsonObject | None) -> bool:
    """True if a pod uses an image that the old pod does not use."""
    images, old_images = (
        {c.get("image") for field in _CONTAINER_FIELDS for c in ((one or {}).get("spec") or {}).get(field) or ()}
        for one in (pod, old)
    )
    return old is None or not images <= old_images


class HardAntiAffinityTopology(BuiltinPlugin):
    """Rejects required anti-affinity between pods with a topology key other than kubernetes.io/hostname."""

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        affinity = ((obj.get("spec") or {}).get("affinity") or {}).get("podAntiAffinity") or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey", "")
            if key != _HOSTNAME:
                reason = f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key}"
                reason = f"{reason} but only key {_HOSTNAME} is allowed"
                raise errors.ForbiddenError("pods", "", obj["metadata"].get("name", ""), reason)
