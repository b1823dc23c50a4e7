"""The resources of role-based access control: roles, clusterroles and their bindings."""

from __future__ import annotations

from polykind import names
from polykind.apis.machinery.kinds import Kind
from polykind.apis.rbac import validation
from polykind.apis.rbac.defaults import default_binding
from polykind.apis.rbac.types import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinRepresenter, BuiltinResource, BuiltinStrategy, finalizer_errors
from polykind.schema import metadata_validation


def rbac_resources(cache: WatchCache) -> tuple[BuiltinResource, BuiltinResource, BuiltinResource, BuiltinResource]:
    """Return the resources `roles`, `rolebindings`, `clusterroles` and `clusterrolebindings`."""
    return (
        RoleResource(cache, ROLE),
        BindingResource(cache, ROLE_BINDING),
        RoleResource(cache, CLUSTER_ROLE),
        BindingResource(cache, CLUSTER_ROLE_BINDING),
    )


class RoleResource(BuiltinResource):
    """The resource `roles` or `clusterroles`."""

    creates_on_update = True

    def __init__(self, cache: WatchCache, kind: Kind) -> None:
        super().__init__(cache, kind)
        strategy = RoleStrategy(namespaced=True) if kind.namespaced else ClusterRoleStrategy()
        self.serve(kind, strategy, representer=RoleRepresenter(self, kind))


class BindingResource(BuiltinResource):
    """The resource `rolebindings` or `clusterrolebindings`."""

    creates_on_update = True

    def __init__(self, cache: WatchCache, kind: Kind) -> None:
        super().__init__(cache, kind)
        self.serve(kind, BindingStrategy(namespaced=kind.namespaced), defaults=default_binding)


class RoleRepresenter(BuiltinRepresenter):
    """Represents roles for clients and for storage."""

    async def to_storage(self, obj: JsonObject) -> JsonObject:
        # An empty list of rules and no list are the same protobuf message.
        return obj if obj["rules"] else {**obj, "rules": None}


class RbacStrategy(BuiltinStrategy):
    """Prepares and validates roles and bindings."""

    unconditional_update = True
    grants = True

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Validate the fields other than the metadata."""
        raise NotImplementedError

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self._new_meta_errors(obj) + self.content_errors(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self._new_meta_errors(new) + self.content_errors(new, old) + self.meta_errors(new, old)
        return found + finalizer_errors(new["metadata"].get("finalizers"))

    def _new_meta_errors(self, obj: JsonObject) -> list[FieldError]:
        meta = obj["metadata"]
        found = metadata_validation.validate_object_meta(meta, namespaced=self.namespaced, name_rule=names.path_segment)
        return found + finalizer_errors(meta.get("finalizers"))


class RoleStrategy(RbacStrategy):
    """Prepares and validates Roles."""

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return validation.validate_role(obj, namespaced=self.namespaced)

    def canonicalize(self, obj: JsonObject) -> None:
        _drop_empty_lists(obj)

    def for_admission(self, obj: JsonObject) -> JsonObject:
        copy = dict(obj)
        _drop_empty_lists(copy)
        return copy


def _drop_empty_lists(role: JsonObject) -> None:
    """Drop empty lists in rules after field ownership, which depends on them, has been computed."""
    rules = role["rules"]
    if any(not value for rule in rules or () for value in rule.values()):
        role["rules"] = [{key: value for key, value in rule.items() if value or key == "verbs"} for rule in rules]


class ClusterRoleStrategy(RoleStrategy):
    """Prepares and validates ClusterRoles."""

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return super().content_errors(obj, old) + validation.validate_aggregation_rule(obj, old)


class BindingStrategy(RbacStrategy):
    """Prepares and validates RoleBindings and ClusterRoleBindings."""

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return validation.validate_binding(obj, namespaced=self.namespaced)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return super().update_errors(new, old) + validation.validate_binding_update(new, old)
