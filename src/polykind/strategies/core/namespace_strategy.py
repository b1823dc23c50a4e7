"""The strategy and the resource of Namespaces."""

from __future__ import annotations

from typing import ClassVar

from polykind import errors, names
from polykind.apis.core import validation
from polykind.apis.core.defaults import NAME_LABEL, default_namespace
from polykind.apply.ownership import MAIN_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, finalizer_errors

_PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")
INITIAL_NAMESPACES = (*_PROTECTED_NAMESPACES, "kube-node-lease")
NAMESPACE_FINALIZER = "kubernetes"


class NamespaceResource(BuiltinResource):
    """The resource `namespaces`."""

    protected_names = frozenset(_PROTECTED_NAMESPACES)
    protection_reason = "this namespace may not be deleted"
    deletion_bumps_generation = False
    non_orphan_policy = "Foreground"

    def prepare_delete(self, obj: JsonObject) -> bool:
        """Set the phase Terminating. The server deletes the namespace after all objects in it."""
        obj.setdefault("status", {})["phase"] = "Terminating"
        return self.has_spec_finalizers(obj)

    def has_spec_finalizers(self, obj: JsonObject) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))


class NamespaceStrategy(BuiltinStrategy):
    """Prepares Namespaces for storage and validates them."""

    resource_class = NamespaceResource
    unconditional_update = True
    returns_deleted_object = True
    name_rule = staticmethod(names.label_name)
    reset_fields: ClassVar = {**BuiltinStrategy.reset_fields, "finalize": MAIN_RESET}

    def default(self, obj: JsonObject) -> None:
        default_namespace(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        own = [] if NAMESPACE_FINALIZER in finalizers else [NAMESPACE_FINALIZER]
        obj["spec"] = {"finalizers": [*finalizers, *own]}
        _set_name_label(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + _spec_finalizer_errors(obj, "spec.finalizers")

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        for name in ("spec", "status"):
            if name in old:
                new[name] = old[name]
            else:
                new.pop(name, None)
        _set_name_label(new)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new) + self.meta_errors(new, old)

    def prepare_subresource(self, subresource: str, new: JsonObject, old: JsonObject) -> JsonObject:
        if subresource == "finalize":
            return {**new, "status": old.get("status", {})}
        return super().prepare_subresource(subresource, new, old)

    def subresource_errors(self, subresource: str, new: JsonObject, old: JsonObject) -> list[FieldError]:
        if subresource == "finalize":
            return self.meta_errors(new, old) + _spec_finalizer_errors(new, "spec.finalizers[{}]")
        return super().subresource_errors(subresource, new, old)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return {**new, "spec": old.get("spec", {})}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_namespace_status(new)


def _spec_finalizer_errors(namespace: JsonObject, path: str) -> list[FieldError]:
    """Validate the finalizers in the spec.

    `path` is their path in errors. `{}` in it stands for the finalizer's index.
    """
    finalizers = (namespace.get("spec") or {}).get("finalizers") or []
    found: list[FieldError] = []
    for index, name in enumerate(finalizers):
        at = path.format(index)
        found += [errors.invalid(at, name, text) for text in names.qualified_name(name)] + finalizer_errors([name], at)
    return found


def _set_name_label(namespace: JsonObject) -> None:
    meta = namespace["metadata"]
    meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta.get("name", "")}
