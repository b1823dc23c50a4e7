"""The resources of role-based access control: roles, clusterroles and their bindings."""

from __future__ import annotations

from polykind import names
from polykind.apis.rbac import validation
from polykind.apis.rbac.defaults import default_binding
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class RbacStrategy(BuiltinStrategy):
    """Prepares roles and role bindings for storage and validates them."""

    unconditional_update = True
    creates_on_update = True
    grants = True
    name_rule = staticmethod(names.path_segment)

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Return the errors outside of the metadata."""
        raise NotImplementedError

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + self.content_errors(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, None) + self.content_errors(new, old) + self.meta_errors(new, old)


class RoleStrategy(RbacStrategy):
    """Prepares Roles for storage and validates them."""

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return validation.validate_role(obj, namespaced=self.namespaced)

    def canonicalize(self, obj: JsonObject) -> None:
        _drop_empty_lists(obj)

    def for_admission(self, obj: JsonObject) -> JsonObject:
        copy = dict(obj)
        _drop_empty_lists(copy)
        return copy


def _drop_empty_lists(role: JsonObject) -> None:
    """Remove empty lists from rules. Callers do this after they have computed field ownership from the lists."""
    rules = role["rules"]
    if any(not value for rule in rules or () for value in rule.values()):
        role["rules"] = [{key: value for key, value in rule.items() if value or key == "verbs"} for rule in rules]


class ClusterRoleStrategy(RoleStrategy):
    """Prepares ClusterRoles for storage and validates them."""

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return super().content_errors(obj, old) + validation.validate_aggregation_rule(obj, old)


class BindingStrategy(RbacStrategy):
    """Prepares RoleBindings and ClusterRoleBindings for storage and validates them."""

    def default(self, obj: JsonObject) -> None:
        default_binding(obj)

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return validation.validate_binding(obj, namespaced=self.namespaced)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return super().update_errors(new, old) + validation.validate_binding_update(new, old)
