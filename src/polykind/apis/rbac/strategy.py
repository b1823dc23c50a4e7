"""The resources of role-based access control: roles, clusterroles and their bindings."""

from __future__ import annotations

from polykind import names
from polykind.apis.rbac import validation
from polykind.apis.rbac.defaults import default_binding
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class RbacStrategy(BuiltinStrategy):
    """Prepares and validates roles and bindings."""

    unconditional_update = True
    creates_on_update = True
    grants = True
    name_rule = staticmethod(names.path_segment)

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Return the errors in the fields other than the metadata."""
        raise NotImplementedError

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + self.content_errors(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, None) + self.content_errors(new, old) + self.meta_errors(new, old)


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
    """Drop empty lists in rules. Call this after the computation of field ownership, which depends on the lists."""
    rules = role["rules"]
    if any(not value for rule in rules or () for value in rule.values()):
        role["rules"] = [{key: value for key, value in rule.items() if value or key == "verbs"} for rule in rules]


class ClusterRoleStrategy(RoleStrategy):
    """Prepares and validates ClusterRoles."""

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return super().content_errors(obj, old) + validation.validate_aggregation_rule(obj, old)


class BindingStrategy(RbacStrategy):
    """Prepares and validates RoleBindings and ClusterRoleBindings."""

    def default(self, obj: JsonObject) -> None:
        default_binding(obj)

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return validation.validate_binding(obj, namespaced=self.namespaced)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return super().update_errors(new, old) + validation.validate_binding_update(new, old)
