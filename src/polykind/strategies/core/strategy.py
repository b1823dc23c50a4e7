"""The strategies of ConfigMaps and ServiceAccounts, which every namespace has: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.core import validation
from polykind.apis.core.defaults import default_config_map
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy

_MOUNTABLE_SECRETS = "kubernetes.io/enforce-mountable-secrets"


class ConfigMapStrategy(BuiltinStrategy):
    """Sets the defaults of ConfigMaps and validates them."""

    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        default_config_map(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_config_map(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + validation.validate_config_map_update(new, old)
        return found + self.create_errors(new)


class ServiceAccountStrategy(BuiltinStrategy):
    """Prepares ServiceAccounts for storage and validates them."""

    unconditional_update = True
    returns_deleted_object = True

    def prepare_create(self, obj: JsonObject) -> None:
        _keep_secret_names(obj)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        _keep_secret_names(new)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + self.meta_errors(new, None)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if _has_annotation(old, _MOUNTABLE_SECRETS) or not _has_annotation(new, _MOUNTABLE_SECRETS):
            return []
        reason = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"metadata.annotations[{_MOUNTABLE_SECRETS}]: {reason}"]


def _keep_secret_names(account: JsonObject) -> None:
    """Remove all fields except the name from the references to secrets, in place."""
    if account.get("secrets"):
        account["secrets"] = [{"name": s["name"]} if s.get("name") else {} for s in account["secrets"]]


def _has_annotation(obj: JsonObject | None, key: str) -> bool:
    return obj is not None and key in (obj["metadata"].get("annotations") or {})
