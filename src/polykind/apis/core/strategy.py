"""The strategies of small core kinds: ConfigMaps, Secrets, ServiceAccounts, Endpoints, limits, quotas and Events."""

from __future__ import annotations

from polykind import names
from polykind.addresses import ip_warnings
from polykind.apis.core import defaults, quota_validation, secret_validation, validation
from polykind.apis.core.endpoints_validation import validate_subsets
from polykind.apis.core.event_validation import validate_event
from polykind.apis.core.limit_range_validation import validate_limit_range
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy
from polykind.schema import metadata_validation

_MOUNTABLE_SECRETS = "kubernetes.io/enforce-mountable-secrets"
_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_ENDPOINTS_CONTROLLER = "endpoint-controller"


class ConfigMapStrategy(BuiltinStrategy):
    """Validates ConfigMaps."""

    unconditional_update = True

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validation.validate_config_map(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + validation.validate_config_map_update(new, old)
        return found + self.create_errors(new)


class SecretStrategy(BuiltinStrategy):
    """Prepares and validates Secrets."""

    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        defaults.default_secret(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + secret_validation.validate_secret(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + secret_validation.validate_secret_update(new, old)
        return found + self.create_errors(new)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if new.get("type") != secret_validation.TLS:
            return []
        from polykind.apis.core.tls_key_pair import key_pair_error

        data = new.get("data") or {}
        reason = key_pair_error(data.get("tls.crt") or "", data.get("tls.key") or "")
        return [reason] if reason else []


class ServiceAccountStrategy(BuiltinStrategy):
    """Prepares and validates ServiceAccounts."""

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
    """Drop everything but the names from the references to secrets."""
    if account.get("secrets"):
        account["secrets"] = [{"name": s["name"]} if s.get("name") else {} for s in account["secrets"]]


def _has_annotation(obj: JsonObject | None, key: str) -> bool:
    return obj is not None and key in (obj["metadata"].get("annotations") or {})


class EndpointsStrategy(BuiltinStrategy):
    """Validates Endpoints."""

    unconditional_update = True
    creates_on_update = True

    def default(self, obj: JsonObject) -> None:
        defaults.default_endpoints(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_subsets(obj.get("subsets") or [])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + self.meta_errors(new, None)
        # Subsets that older rules allowed stay valid until they change.
        unchanged = new.get("subsets") == old.get("subsets")
        return found if unchanged else found + validate_subsets(new.get("subsets") or [])

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if (new["metadata"].get("labels") or {}).get(_MANAGED_BY) == _ENDPOINTS_CONTROLLER:
            return []
        return [
            text
            for index, subset in enumerate(new.get("subsets") or ())
            for field in ("addresses", "notReadyAddresses")
            for position, address in enumerate(subset.get(field) or ())
            for text in ip_warnings(address.get("ip") or "", f"subsets[{index}].{field}[{position}].ip")
        ]


class LimitRangeStrategy(BuiltinStrategy):
    """Prepares and validates LimitRanges."""

    unconditional_update = True
    creates_on_update = True

    def default(self, obj: JsonObject) -> None:
        defaults.default_limit_range(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        meta = obj["metadata"]
        if not meta.get("name"):
            meta["name"] = meta["uid"]

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_limit_range(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.create_errors(new)


class ResourceQuotaStrategy(BuiltinStrategy):
    """Prepares and validates ResourceQuotas."""

    unconditional_update = True
    returns_deleted_object = True

    def default(self, obj: JsonObject) -> None:
        defaults.default_quota(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + quota_validation.validate_quota_spec(obj["spec"])

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + quota_validation.validate_quota_update(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + quota_validation.validate_quota_status(new)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return quota_validation.quota_warnings(new) if old is None else []


class EventStrategy(BuiltinStrategy):
    """Validates Events of core/v1, whose metadata has few rules, because old clients send such events."""

    unconditional_update = True
    creates_on_update = True
    default_propagation_policy = None

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return validate_event(obj, "reportingComponent") or metadata_validation.validate_object_meta(
            obj["metadata"], namespaced=True, name_rule=names.path_segment
        )

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return validate_event(new, "reportingComponent")
