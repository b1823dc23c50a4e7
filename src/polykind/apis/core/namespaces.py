"""Namespaces: where namespaced objects live. Deleting one empties it first."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core.types import NAMESPACE
from polykind.apply.ownership import SPEC_RESET, Reset
from polykind.apply.typemodel import NAMESPACE_MODEL
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import NAMESPACES
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy, BuiltinType, builtin_version, unqualified
from polykind.resources.resource import Resource, ServedVersion
from polykind.schema import metadata_validation
from polykind.selectors import field_selectors

IMMORTAL = ("default", "kube-system", "kube-public")
INITIAL = (*IMMORTAL, "kube-node-lease")
FINALIZER = "kubernetes"
_LABEL = "kubernetes.io/metadata.name"


class NamespaceResource(Resource):
    """The core resource `namespaces`."""

    status_reset = SPEC_RESET

    protected_names = frozenset(IMMORTAL)
    deletion_bumps_generation = False
    non_orphan_policy = "Foreground"
    has_deletecollection = False
    returns_deleted_object = True

    def __init__(self, cache: WatchCache) -> None:
        super().__init__(
            cache.resource("", "namespaces"),
            group="",
            plural="namespaces",
            singular="namespace",
            kind="Namespace",
            list_kind="NamespaceList",
            namespaced=False,
            storage="v1",
        )
        self.versions["v1"] = builtin_version(self, _TYPE, NamespaceStrategy(), defaults=set_defaults)

    def prepare_delete(self, obj: JsonObject) -> bool:
        """A namespace stays, Terminating, until it has been emptied."""
        obj.setdefault("status", {})["phase"] = "Terminating"
        return self.has_spec_finalizers(obj)

    def reset(self, version: ServedVersion, subresource: str) -> Reset:
        """Who finalizes does not set the status either."""
        return super().reset(version, "" if subresource == "finalize" else subresource)

    def has_spec_finalizers(self, obj: JsonObject) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))


_TYPE = BuiltinType(
    NAMESPACE,
    NAMESPACE_MODEL,
    NAMESPACES,
    "core",
    ("v1",),
    selectable=(".status.phase",),
    unknown_field_label=field_selectors.unsupported_field,
    has_status=True,
    has_finalize=True,
)


def set_defaults(obj: JsonObject) -> None:
    """Set the defaults of a Namespace, in place."""
    meta = obj["metadata"]
    if name := meta.get("name"):
        meta["labels"] = {**(meta.get("labels") or {}), _LABEL: name}
    obj["status"].setdefault("phase", "Active")


class NamespaceStrategy(BuiltinStrategy):
    """Prepares and validates Namespaces."""

    unconditional_update = True

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        obj["spec"] = {"finalizers": [*finalizers, *([] if FINALIZER in finalizers else [FINALIZER])]}
        meta = obj["metadata"]
        meta["labels"] = {**(meta.get("labels") or {}), _LABEL: meta.get("name", "")}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = metadata_validation.validate_object_meta(obj["metadata"], namespaced=False, name_rule=names.label_name)
        found += unqualified(obj["metadata"].get("finalizers"), "metadata.finalizers[{}]")
        return found + unqualified((obj.get("spec") or {}).get("finalizers"), "spec.finalizers")

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        for kept in ("spec", "status"):
            if kept in old:
                new[kept] = old[kept]
            else:
                new.pop(kept, None)
        meta = new["metadata"]
        meta["labels"] = {**(meta.get("labels") or {}), _LABEL: meta.get("name", "")}

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new) + self._changed_meta_errors(new, old)

    def _changed_meta_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old) + unqualified(new["metadata"].get("finalizers"), "metadata.finalizers[{}]")

    def prepare_finalize(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status", {})

    def finalize_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self._changed_meta_errors(new, old)
        return found + unqualified(new["spec"].get("finalizers"), "spec.finalizers[{}]")

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return {**new, "spec": old.get("spec", {})}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self._changed_meta_errors(new, old)
        phase = (new.get("status") or {}).get("phase")
        if new["metadata"].get("deletionTimestamp"):
            if phase != "Terminating":
                found.append(
                    errors.invalid(
                        "status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"
                    )
                )
        elif phase != "Active":
            found.append(errors.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty"))
        return found
