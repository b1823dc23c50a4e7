"""Namespaces: where namespaced objects live. Deleting one empties it first."""

from __future__ import annotations

from polykind import errors
from polykind.apply.typemodel import NAMESPACE_MODEL
from polykind.cache.root import WatchCache
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.registry.builtin import BuiltinVersion
from polykind.registry.kind import Kind
from polykind.schema import names
from polykind.selection import fields
from polykind.typed.core import NAMESPACE
from polykind.wire.table import NAMESPACES

IMMORTAL = ("default", "kube-system", "kube-public")
INITIAL = (*IMMORTAL, "kube-node-lease")
FINALIZER = "kubernetes"


class NamespaceKind(Kind):
    """The core resource `namespaces`."""

    def __init__(self, cache: WatchCache) -> None:
        super().__init__(
            cache.resource("", "namespaces"),
            group="",
            plural="namespaces",
            singular="namespace",
            kind="Namespace",
            list_kind="NamespaceList",
            namespaced=False,
        )
        self.storage = "v1"
        self.immortal = frozenset(IMMORTAL)
        self.returns_deleted = True
        self.versions["v1"] = NamespaceVersion(self)

    def prepare_delete(self, obj: JsonObject) -> bool:
        """A namespace stays, Terminating, until it has been emptied."""
        obj.setdefault("status", {})["phase"] = "Terminating"
        return self.lingers(obj)

    def lingers(self, obj: JsonObject) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))


class NamespaceVersion(BuiltinVersion):
    """v1."""

    package = "core"
    scheme = "pkg/api/legacyscheme/scheme.go:30"
    known = ("v1",)
    has_status = True
    model = NAMESPACE_MODEL
    table = NAMESPACES

    def __init__(self, kind: NamespaceKind) -> None:
        super().__init__(kind, "v1", NAMESPACE)

    def refuse_field(self, label: str) -> str:
        return fields.unsupported(label)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        obj["spec"] = {"finalizers": [*finalizers, *([] if FINALIZER in finalizers else [FINALIZER])]}
        meta = obj["metadata"]
        meta.pop("generation", None)
        meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta.get("name", "")}

    def validate_create(self, obj: JsonObject) -> list[FieldError]:
        found = self._meta_errors(obj, None)
        name = obj["metadata"].get("name", "")
        if name and not any(e.field == "metadata.name" for e in found):
            found += [errors.invalid("metadata.name", name, text) for text in names.dns1123_label(name)]
        return found

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        for kept in ("spec", "status"):
            if kept in old:
                new[kept] = old[kept]
            else:
                new.pop(kept, None)
        meta = new["metadata"]
        meta["labels"] = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta.get("name", "")}
        meta.pop("generation", None)

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return {**new, "spec": old.get("spec", {})}

    def validate_status(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self._meta_errors(new, old)
        phase = (new.get("status") or {}).get("phase")
        if new["metadata"].get("deletionTimestamp"):
            if phase != "Terminating":
                found.append(
                    errors.invalid(
                        "status.phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"
                    )
                )
        elif phase != "Active":
            found.append(errors.invalid("status.phase", phase, "may only be 'Active' if `deletionTimestamp` is empty"))
        return found
