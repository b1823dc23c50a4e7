"""Configurations of webhooks as resources: who is asked before something is written."""

from __future__ import annotations

from polykind.admission import webhook_rules as rules
from polykind.admission.rules import GROUP, name_warnings
from polykind.apis.admissionregistration.types import MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION
from polykind.apis.machinery import Struct
from polykind.apply.typemodel import MUTATING_WEBHOOK_CONFIGURATION_MODEL, VALIDATING_WEBHOOK_CONFIGURATION_MODEL
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import WEBHOOK_CONFIGURATIONS
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import LEGACY, BuiltinResource, BuiltinVersion
from polykind.schema import metadata_validation
from polykind.schema.equality import deep_equal


class WebhookConfigurationResource(BuiltinResource):
    """The resource `mutatingwebhookconfigurations` or `validatingwebhookconfigurations`."""

    def __init__(self, cache: WatchCache, *, mutating: bool) -> None:
        self.mutating = mutating
        struct = MUTATING_WEBHOOK_CONFIGURATION if mutating else VALIDATING_WEBHOOK_CONFIGURATION
        super().__init__(cache, GROUP, struct, WebhookConfigurationVersion)


class WebhookConfigurationVersion(BuiltinVersion):
    """What v1 asks of a configuration of webhooks."""

    resource: WebhookConfigurationResource
    package = "admissionregistration"
    scheme = LEGACY
    known = ("v1", "v1beta1")
    table = WEBHOOK_CONFIGURATIONS

    def __init__(self, kind: WebhookConfigurationResource, version: str, struct: Struct) -> None:
        super().__init__(kind, version, struct)
        self.model = MUTATING_WEBHOOK_CONFIGURATION_MODEL if kind.mutating else VALIDATING_WEBHOOK_CONFIGURATION_MODEL

    def decode(self, value: JsonObject, report: bool) -> tuple[JsonObject, list[str]]:
        obj, unknown = super().decode(value, report)
        rules.fill_in(obj.get("webhooks") or (), mutating=self.resource.mutating)
        return obj, unknown

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1

    def validate_create(self, obj: JsonObject) -> list[FieldError]:
        return self._meta_errors(obj, None) + rules.problems(obj.get("webhooks") or ())

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        changed = not deep_equal(new.get("webhooks") or [], old.get("webhooks") or [])
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + changed
        if not new["metadata"]["generation"]:
            del new["metadata"]["generation"]

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = metadata_validation.validate_object_meta(new["metadata"], namespaced=False)
        return found + rules.problems(new.get("webhooks") or (), old.get("webhooks") or ())

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return name_warnings(new["metadata"].get("name", ""))
