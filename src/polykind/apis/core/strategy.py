"""The core resources: configmaps, namespaces and services."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core import validation
from polykind.apis.core.defaults import NAME_LABEL, default_namespace, default_service
from polykind.apis.core.types import CONFIG_MAP, NAMESPACE, SERVICE
from polykind.apply.ownership import SPEC_RESET, Reset
from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, builtin_resource, finalizer_errors
from polykind.resources.resource import ServedVersion
from polykind.schema import metadata_validation

_PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")
INITIAL_NAMESPACES = (*_PROTECTED_NAMESPACES, "kube-node-lease")
NAMESPACE_FINALIZER = "kubernetes"


def config_maps(cache: WatchCache) -> BuiltinResource:
    """Return the resource `configmaps`."""
    return builtin_resource(cache, CONFIG_MAP, ConfigMapStrategy(namespaced=True))


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

    status_reset = SPEC_RESET
    protected_names = frozenset(_PROTECTED_NAMESPACES)
    deletion_bumps_generation = False
    non_orphan_policy = "Foreground"
    returns_deleted_object = True

    def __init__(self, cache: WatchCache) -> None:
        super().__init__(cache, NAMESPACE)
        self.serve(NAMESPACE, NamespaceStrategy(), defaults=default_namespace)

    def prepare_delete(self, obj: JsonObject) -> bool:
        """Set the phase Terminating. The namespace stays until its objects are deleted."""
        obj.setdefault("status", {})["phase"] = "Terminating"
        return self.has_spec_finalizers(obj)

    def reset(self, version: ServedVersion, subresource: str) -> Reset:
        """Return the fields that a write must not set. A write to `finalize` must not set the status."""
        return super().reset(version, "" if subresource == "finalize" else subresource)

    def has_spec_finalizers(self, obj: JsonObject) -> bool:
        return bool((obj.get("spec") or {}).get("finalizers"))


class NamespaceStrategy(BuiltinStrategy):
    """Prepares and validates Namespaces."""

    unconditional_update = True

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Active"}
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        own = [] if NAMESPACE_FINALIZER in finalizers else [NAMESPACE_FINALIZER]
        obj["spec"] = {"finalizers": [*finalizers, *own]}
        _set_name_label(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = metadata_validation.validate_object_meta(obj["metadata"], namespaced=False, name_rule=names.label_name)
        found += finalizer_errors(obj["metadata"].get("finalizers"))
        return found + finalizer_errors((obj.get("spec") or {}).get("finalizers"), "spec.finalizers")

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        for name in ("spec", "status"):
            if name in old:
                new[name] = old[name]
            else:
                new.pop(name, None)
        _set_name_label(new)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new) + self._changed_meta_errors(new, old)

    def _changed_meta_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + finalizer_errors(new["metadata"].get("finalizers"))

    def prepare_finalize(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status", {})

    def finalize_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self._changed_meta_errors(new, old)
        return found + finalizer_errors(new["spec"].get("finalizers"), "spec.finalizers[{}]")

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return {**new, "spec": old.get("spec", {})}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._changed_meta_errors(new, old) + validation.validate_namespace_status(new)


def _set_name_label(namespace: JsonObject) -> None:
    meta = namespace["metadata"]
    meta["labels"] = {**(meta.get("labels") or {}), NAME_LABEL: meta.get("name", "")}


class ServiceResource(BuiltinResource):
    """The resource `services`. Services only give webhooks an address: nothing routes traffic to them."""

    status_reset = SPEC_RESET
    returns_deleted_object = True

    def __init__(self, cache: WatchCache) -> None:
        # A storage prefix of its own keeps them apart from the services of a Kubernetes cluster on the same etcd.
        super().__init__(cache, SERVICE, storage_group="polykind")
        self.serve(SERVICE, ServiceStrategy(namespaced=True), defaults=default_service)

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
