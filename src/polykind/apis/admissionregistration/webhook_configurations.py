"""Configurations of webhooks as resources: who is asked before something is written."""

from __future__ import annotations

from polykind.admission import webhook_rules as rules
from polykind.admission.matcher import GROUP, name_warnings
from polykind.apis.admissionregistration.types import MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION
from polykind.apply.typemodel import MUTATING_WEBHOOK_CONFIGURATION_MODEL, VALIDATING_WEBHOOK_CONFIGURATION_MODEL
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import WEBHOOK_CONFIGURATIONS
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy, BuiltinType
from polykind.schema import metadata_validation
from polykind.schema.equality import deep_equal


class WebhookConfigurationResource(BuiltinResource):
    """The resource `mutatingwebhookconfigurations` or `validatingwebhookconfigurations`."""

    def __init__(self, cache: WatchCache, *, mutating: bool) -> None:
        struct = MUTATING_WEBHOOK_CONFIGURATION if mutating else VALIDATING_WEBHOOK_CONFIGURATION
        model = MUTATING_WEBHOOK_CONFIGURATION_MODEL if mutating else VALIDATING_WEBHOOK_CONFIGURATION_MODEL
        super().__init__(
            cache,
            GROUP,
            BuiltinType(struct, model, WEBHOOK_CONFIGURATIONS, "admissionregistration", ("v1", "v1beta1")),
            WebhookConfigurationStrategy(),
            defaults=lambda obj: rules.fill_in(obj.get("webhooks") or (), mutating=mutating),
        )


class WebhookConfigurationStrategy(BuiltinStrategy):
    """Prepares and validates webhook configurations."""

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self._meta_errors(obj, None) + rules.problems(obj.get("webhooks") or ())

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        changed = not deep_equal(new.get("webhooks") or [], old.get("webhooks") or [])
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + changed
        if not new["metadata"]["generation"]:
            del new["metadata"]["generation"]

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = metadata_validation.validate_object_meta(new["metadata"], namespaced=False)
        return found + rules.problems(new.get("webhooks") or (), old.get("webhooks") or ())

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return name_warnings(new["metadata"].get("name", ""))
