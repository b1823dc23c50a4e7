"""The resources of admission control: webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from typing import Any, ClassVar

from polykind.apis.admissionregistration import defaults, types
from polykind.apis.admissionregistration.validation import validate_webhooks
from polykind.apply.ownership import MAIN_RESET, STATUS_RESET
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy, only_status_changed
from polykind.schema import metadata_validation
from polykind.schema.equality import deep_equal

_STATIC_SUFFIX = ".static.k8s.io"


class AdmissionStrategy(BuiltinStrategy):
    """Prepares the kinds of admission control for storage and validates them. It sets their metadata.generation."""

    checks_finalizer_names = False

    def prepare_create(self, obj: JsonObject) -> None:
        obj["metadata"]["generation"] = 1

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Return the errors outside of the metadata."""
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

    def default(self, obj: JsonObject) -> None:
        if self.kind is types.MUTATING_WEBHOOK_CONFIGURATION:
            defaults.default_mutating_webhooks(obj)
        else:
            defaults.default_validating_webhooks(obj)

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return validate_webhooks(obj.get("webhooks") or (), None if old is None else old.get("webhooks") or ())

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        changed = not deep_equal(new.get("webhooks") or [], old.get("webhooks") or [])
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + changed
        if not new["metadata"]["generation"]:
            del new["metadata"]["generation"]


class PolicyStrategy(AdmissionStrategy):
    """Prepares admission policies for storage and validates them."""

    expensive = True
    reads_params = True
    match_field = "matchConstraints"
    """The field of the spec that holds the MatchResources."""

    def default(self, obj: JsonObject) -> None:
        defaults.default_policy(obj)

    def content_errors(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        # The validation of policies compiles CEL, so it is imported when the first policy is written.
        from polykind.apis.admissionregistration.policy_validation import VALIDATION

        return VALIDATION[self.kind](obj, old)

    def prepare_create(self, obj: JsonObject) -> None:
        super().prepare_create(obj)
        _drop_empty_names(obj["spec"].get(self.match_field))

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        _drop_empty_names(new["spec"].get(self.match_field))
        generation = old["metadata"].get("generation", 0)
        new["metadata"]["generation"] = generation + (new["spec"] != old["spec"])


def _drop_empty_names(match: Any) -> None:
    """Remove empty lists of resource names. Callers do this after they have computed field ownership from the lists."""
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in (match or {}).get(name) or ():
            if rule.get("resourceNames") == []:
                del rule["resourceNames"]


class PolicyBindingStrategy(PolicyStrategy):
    """Prepares the bindings of admission policies for storage and validates them."""

    match_field = "matchResources"

    def default(self, obj: JsonObject) -> None:
        defaults.default_binding(obj)


class ValidatingPolicyStrategy(PolicyStrategy):
    """Prepares ValidatingAdmissionPolicies, which have a status, for storage and validates them."""

    reset_fields: ClassVar = {"": MAIN_RESET, "status": STATUS_RESET}

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
