"""The strategies of LimitRanges and ResourceQuotas: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.core import quota_validation
from polykind.apis.core.defaults import default_limit_range, default_quota
from polykind.apis.core.limit_range_validation import validate_limit_range
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class LimitRangeStrategy(BuiltinStrategy):
    """Prepares LimitRanges for storage and validates them."""

    unconditional_update = True
    creates_on_update = True

    def default(self, obj: JsonObject) -> None:
        default_limit_range(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        meta = obj["metadata"]
        if not meta.get("name"):
            meta["name"] = meta["uid"]

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_limit_range(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new)


class ResourceQuotaStrategy(BuiltinStrategy):
    """Prepares ResourceQuotas for storage and validates them."""

    unconditional_update = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        default_quota(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + quota_validation.validate_quota_spec(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + quota_validation.validate_quota_update(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + quota_validation.validate_quota_status(new)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return quota_validation.quota_warnings(new) if old is None else []
