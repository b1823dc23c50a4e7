"""The resources of admission control: webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from typing import Any

from polykind.apis.admissionregistration import defaults, types
from polykind.apis.admissionregistration.validation import validate_webhooks
from polykind.apis.machinery.kinds import Kind
from polykind.cache.watch_cache import WatchCache
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, builtin_resource, only_status_changed
from polykind.schema import metadata_validation
from polykind.schema.equality import deep_equal

_STATIC_SUFFIX = ".static.k8s.io"


def validating_policies(cache: WatchCache) -> tuple[BuiltinResource, BuiltinResource]:
    """Return the resources of validating policies and of their bindings."""
    policies = builtin_resource(
        cache, types.VALIDATING_ADMISSION_POLICY, ValidatingPolicyStrategy(), defaults=defaults.default_policy
    )
    return policies, _bindings(cache, types.VALIDATING_ADMISSION_POLICY_BINDING)


def mutating_policies(cache: WatchCache) -> tuple[BuiltinResource, BuiltinResource]:
    """Return the resources of mutating policies and of their bindings."""
    strategy = PolicyStrategy(types.MUTATING_ADMISSION_POLICY, "matchConstraints")
    policies = builtin_resource(cache, types.MUTATING_ADMISSION_POLICY, strategy, defaults=defaults.default_policy)
    return policies, _bindings(cache, types.MUTATING_ADMISSION_POLICY_BINDING)


def _bindings(cache: WatchCache, kind: Kind) -> BuiltinResource:
    return builtin_resource(cache, kind, PolicyStrategy(kind, "matchResources"), defaults=defaults.default_binding)


def webhook_configurations(cache: WatchCache, *, mutating: bool) -> BuiltinResource:
    """Return the resource of mutating or of validating webhook configurations."""
    kind = types.MUTATING_WEBHOOK_CONFIGURATION if mutating else types.VALIDATING_WEBHOOK_CONFIGURATION
    set_defaults = defaults.default_mutating_webhooks if mutating else defaults.default_validating_webhooks
    return builtin_resource(cache, kind, WebhookConfigurationStrategy(), defaults=set_defaults)


class AdmissionStrategy(BuiltinStrategy):
    """Prepares and validates the kinds of admission control, which count their generations."""

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Validate the fields other than the metadata."""
        raise NotImplementedError

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + self.content_errors(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = metadata_validation.validate_object_meta(new["metadata"], namespaced=False)
        return found + self.content_errors(new, old)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return name_warnings(new["metadata"].get("name", ""))


def name_warnings(name: str) -> list[str]:
    """Return a warning if the name has the suffix that kube-apiserver reserves for static configurations."""
    if not name.endswith(_STATIC_SUFFIX):
        return []
    return [
        f'metadata.name: names ending with "{_STATIC_SUFFIX}" are reserved for static manifest-based configurations '
        "and cannot be managed via the API"
    ]


class WebhookConfigurationStrategy(AdmissionStrategy):
    """Prepares and validates webhook configurations."""

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return validate_webhooks(obj.get("webhooks") or (), None if old is None else old.get("webhooks") or ())

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        changed = not deep_equal(new.get("webhooks") or [], old.get("webhooks") or [])
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + changed
        if not new["metadata"]["generation"]:
            del new["metadata"]["generation"]


class PolicyStrategy(AdmissionStrategy):
    """Prepares and validates policies or bindings, whose spec has its MatchResources in `match_field`."""

    reads_params = True

    def __init__(self, kind: Kind, match_field: str) -> None:
        super().__init__()
        self._kind = kind
        self._match_field = match_field

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        # The validation of policies compiles CEL, so it is imported when the first policy is written.
        from polykind.apis.admissionregistration.policy_validation import VALIDATION

        return VALIDATION[self._kind](obj, old)

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        _drop_empty_names(obj["spec"].get(self._match_field))

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        _drop_empty_names(new["spec"].get(self._match_field))
        generation = old["metadata"].get("generation", 0)
        new["metadata"]["generation"] = generation + (new["spec"] != old["spec"])


def _drop_empty_names(match: Any) -> None:
    """Drop empty lists of resource names after field ownership, which depends on them, has been computed."""
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in (match or {}).get(name) or ():
            if rule.get("resourceNames") == []:
                del rule["resourceNames"]


class ValidatingPolicyStrategy(PolicyStrategy):
    """Prepares and validates validating policies, which have a status."""

    def __init__(self) -> None:
        super().__init__(types.VALIDATING_ADMISSION_POLICY, "matchConstraints")

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        obj["status"] = {}

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        new["status"] = old.get("status") or {}

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return only_status_changed(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        from polykind.apis.admissionregistration.policy_validation import validate_policy_status

        return validate_policy_status(new.get("status") or {})
