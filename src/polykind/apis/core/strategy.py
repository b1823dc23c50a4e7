"""The core resources: configmaps, namespaces and services."""

from __future__ import annotations

from typing import ClassVar

from polykind import errors, names
from polykind.apis.core import validation
from polykind.apis.core.defaults import NAME_LABEL, default_namespace, default_service
from polykind.apply.ownership import MAIN_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, finalizer_errors

_PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")
INITIAL_NAMESPACES = (*_PROTECTED_NAMESPACES, "kube-node-lease")
NAMESPACE_FINALIZER = "kubernetes"


class ConfigMapStrategy(BuiltinStrategy):
    """Validates ConfigMaps."""

    unconditional_update = True

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_config_map(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + validation.validate_config_map_update(new, old)
        return found + self.create_errors(new)


class NamespaceResource(BuiltinResource):
    """The resource `namespaces`."""

    protected_names = frozenset(_PROTECTED_NAMESPACES)
    protection_reason = "this namespace may not be deleted"
    deletion_bumps_generation = False
    non_orphan_policy = "Foreground"

    def prepare_delete(self, obj: JsonObject) -> bool:
        """Set the phase Terminating. The namespace stays until its objects are deleted."""
        obj.setdefault("status", {})["phase"] = "Terminating"
        return self.has_spec_finalizers(obj)

    def has_spec_finalizers(self, obj: JsonObject) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))


class NamespaceStrategy(BuiltinStrategy):
    """Prepares and validates Namespaces."""

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
        return self.meta_errors(obj, None) + finalizer_errors(
            (obj.get("spec") or {}).get("finalizers"), "spec.finalizers"
        )

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
            found = self.meta_errors(new, old)
            return found + finalizer_errors(new["spec"].get("finalizers"), "spec.finalizers[{}]")
        return super().subresource_errors(subresource, new, old)

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return {**new, "spec": old.get("spec", {})}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_namespace_status(new)


def _set_name_label(namespace: JsonObject) -> None:
    meta = namespace["metadata"]
    meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta.get("name", "")}


class ServiceResource(BuiltinResource):
    """The resource `services`. Services only give webhooks an address: nothing routes traffic to them."""

    def external_name(self, namespace: str, name: str) -> str | None:
        """Return the host name of a service of type ExternalName. Return None if there is no such service."""
        cached = self.cache.get(self.key(namespace, name))
        spec = cached.decode().get("spec") if cached is not None else None
        return (
            spec.get("externalName")
            if isinstance(spec, dict) and spec.get("type") == validation.EXTERNAL_NAME
            else None
        )


class ServiceStrategy(BuiltinStrategy):
    """Prepares and validates Services."""

    resource_class = ServiceResource
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        default_service(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"loadBalancer": {}}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self.meta_errors(obj, None)
        name = obj["metadata"].get("name", "")
        if name and not any(e.field == "metadata.name" for e in found):
            found += [errors.invalid("metadata.name", name, text) for text in names.dns1035_label(name)]
        return found + validation.validate_service_spec(obj["spec"])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status", {"loadBalancer": {}})

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validation.validate_service_spec(new["spec"])

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return {**new, "spec": old["spec"]}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old)
