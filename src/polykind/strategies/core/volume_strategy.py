"""The strategies of PersistentVolumes and PersistentVolumeClaims: rules for creates and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind import errors
from polykind.apis.core.defaults import default_volume_claim
from polykind.apis.core.node_labels import node_selector_term_warnings
from polykind.apis.core.persistent_volume_defaults import default_persistent_volume
from polykind.apis.core.persistent_volume_validation import validate_volume_spec, validate_volume_update
from polykind.apis.core.volume_claim_validation import (
    STORAGE_CLASS_ANNOTATION,
    validate_volume_claim_spec,
    validate_volume_claim_status,
    validate_volume_claim_update,
)
from polykind.contract import JsonObject, copy_json
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.quantity import parse_quantity
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy

if TYPE_CHECKING:
    from polykind.operations.operation import Operation
    from polykind.resources.resource import Finish

_MOUNT_OPTIONS_ANNOTATION = "volume.beta.kubernetes.io/mount-options"
_MOUNT_OPTION_SOURCES = (
    *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs"),
    *("azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
)
_DEPRECATED_ANNOTATIONS = {
    STORAGE_CLASS_ANNOTATION: 'deprecated since v1.8; use "storageClassName" attribute instead',
    _MOUNT_OPTIONS_ANNOTATION: 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_DEPRECATED_SOURCES = (
    ("cephfs", "spec.cephfs: deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "spec.rbd: deprecated in v1.28, non-functional in v1.31+"),
)
_SNAPSHOT_GROUP = "snapshot.storage.k8s.io"


class PersistentVolumeResource(BuiltinResource):
    """The resource `persistentvolumes`. A status update that changes the phase of a volume records the time."""

    has_effects = True

    async def begin_update(self, op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> Finish | None:
        if op.subresource == "status":
            _set_transition_time(new["status"], old.get("status") or {}, op.now())
        return None


def _set_transition_time(status: JsonObject, old_status: JsonObject, now: str) -> None:
    field = "lastPhaseTransitionTime"
    is_stated = status.get(field) is not None and status[field] != old_status.get(field)
    if status.get("phase") != old_status.get("phase"):
        if not is_stated:
            status[field] = now
    elif status.get(field) is None and field in old_status:
        status[field] = old_status[field]


class PersistentVolumeStrategy(BuiltinStrategy):
    """Prepares PersistentVolumes for storage and validates them."""

    resource_class = PersistentVolumeResource
    unconditional_update = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        default_persistent_volume(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": obj["metadata"]["creationTimestamp"]}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self.meta_errors(obj, None)
        found += validate_volume_spec(obj["spec"], obj["metadata"].get("name") or "", "spec")
        return found + _mount_option_errors(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        name = new["metadata"].get("name") or ""
        found = self.meta_errors(new, None) + validate_volume_spec(new["spec"], name, "spec", old_spec=old["spec"])
        found += _mount_option_errors(new)
        return found + self.meta_errors(new, None) + validate_volume_update(new, old)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        spec = new["spec"]
        found = _annotation_warnings(new, _DEPRECATED_ANNOTATIONS)
        if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
            found.append(
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
                "Instead, the recommended approach is to use dynamic provisioning."
            )
        required = (spec.get("nodeAffinity") or {}).get("required") or {}
        for index, term in enumerate(required.get("nodeSelectorTerms") or ()):
            at = f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]"
            found += node_selector_term_warnings(term, at)
        return found + [text for field, text in _DEPRECATED_SOURCES if spec.get(field) is not None]


def _mount_option_errors(volume: JsonObject) -> list[FieldError]:
    annotations = volume["metadata"].get("annotations") or {}
    if _MOUNT_OPTIONS_ANNOTATION not in annotations or any(volume["spec"].get(f) for f in _MOUNT_OPTION_SOURCES):
        return []
    reason = "may not specify mount options for this volume type"
    return [errors.forbidden(f"metadata.annotations.{_MOUNT_OPTIONS_ANNOTATION}", reason)]


def _annotation_warnings(obj: JsonObject, deprecated: dict[str, str]) -> list[str]:
    annotations = obj["metadata"].get("annotations") or {}
    return [f"metadata.annotations[{key}]: {text}" for key, text in deprecated.items() if key in annotations]


class PersistentVolumeClaimStrategy(BuiltinStrategy):
    """Prepares PersistentVolumeClaims for storage and validates them."""

    unconditional_update = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        default_volume_claim(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Pending"}
        prepare_data_sources(obj["spec"], {})

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_volume_claim_spec(obj["spec"], "spec")

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        prepare_data_sources(new["spec"], old["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        old = {**old, "spec": copy_json(old["spec"])}
        _complete_data_sources(old["spec"])
        found = self.meta_errors(new, old) + self.meta_errors(new, None)
        return found + validate_volume_claim_update(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_volume_claim_status(new)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        text = _DEPRECATED_ANNOTATIONS[STORAGE_CLASS_ANNOTATION]
        found = _annotation_warnings(new, {STORAGE_CLASS_ANNOTATION: text})
        return found + volume_claim_spec_warnings(new["spec"], "spec")


def volume_claim_spec_warnings(spec: JsonObject, at: str) -> list[str]:
    """Return warnings about storage sizes that are not whole numbers of bytes."""
    found = []
    for field in ("requests", "limits"):
        text = ((spec.get("resources") or {}).get(field) or {}).get("storage")
        if text is not None and parse_quantity(text).milli_value() % 1000:
            reason = f"fractional byte value {go_quote(text)} is invalid, must be an integer"
            found.append(f"{at}.resources.{field}[storage]: {reason}")
    return found


def prepare_data_sources(spec: JsonObject, old_spec: JsonObject) -> None:
    """Remove data sources that kube-apiserver ignores. Then set `dataSource` and `dataSourceRef` to the same source."""
    reference = spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and old_spec.get("dataSourceRef") is None:
        # References to other namespaces need the feature gate CrossNamespaceVolumeDataSource, which is off.
        del spec["dataSourceRef"]
    has_old_source = old_spec.get("dataSource") is not None or old_spec.get("dataSourceRef") is not None
    source = spec.get("dataSource")
    if source is not None and spec.get("dataSourceRef") is None and not has_old_source:
        kind = (source.get("apiGroup") or "", source.get("kind"))
        if kind not in (("", "PersistentVolumeClaim"), (_SNAPSHOT_GROUP, "VolumeSnapshot")):
            del spec["dataSource"]
    _complete_data_sources(spec)


def _complete_data_sources(spec: JsonObject) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}
