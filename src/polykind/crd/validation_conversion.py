"""Validation of spec.conversion: the strategy, and the client configuration and review versions of a webhook."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.crd.ca_bundle import ca_bundle_error
from polykind.crd.ratcheting import REVIEW_VERSIONS, ValidationOptions
from polykind.crd.validation_client_config import validate_webhook_service, validate_webhook_url
from polykind.errors import FieldError, forbidden, invalid, not_supported, required
from polykind.names import dns1035_label

_PATH = "spec.conversion"


def validate_conversion(conversion: JsonObject | None, options: ValidationOptions) -> list[FieldError]:
    """Validate the conversion of an internal spec."""
    if conversion is None:
        return []
    strategy = conversion["strategy"]
    errors: list[FieldError] = []
    if not strategy:
        errors.append(required(f"{_PATH}.strategy"))
    elif strategy not in ("None", "Webhook"):
        errors.append(not_supported(f"{_PATH}.strategy", strategy, ("None", "Webhook")))
    client, review_versions = conversion.get("webhookClientConfig"), conversion.get("conversionReviewVersions")
    if strategy == "Webhook":
        return errors + _validate_client_config(client, options) + _validate_review_versions(review_versions, options)
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        errors.append(forbidden(f"{_PATH}.webhookClientConfig", detail))
    if review_versions:
        errors.append(forbidden(f"{_PATH}.conversionReviewVersions", detail))
    return errors


def _validate_client_config(client: JsonObject | None, options: ValidationOptions) -> list[FieldError]:
    path = f"{_PATH}.webhookClientConfig"
    if client is None:
        return [required(path, "required when strategy is set to Webhook")]
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        errors = [required(path, "exactly one of url or service is required")]
    elif url is not None:
        errors = validate_webhook_url(url, f"{path}.url")
    else:
        errors = validate_webhook_service(client["service"], f"{path}.service")
    bundle = client.get("caBundle")
    if bundle and not options.invalid_ca_bundle_allowed:
        error = ca_bundle_error(bundle)
        if error is not None:
            errors.append(invalid(f"{path}.caBundle", bundle, error))
    return errors


def _validate_review_versions(review_versions: list[str] | None, options: ValidationOptions) -> list[FieldError]:
    path = f"{_PATH}.conversionReviewVersions"
    if not review_versions:
        return [required(path)]
    errors: list[FieldError] = []
    known: set[str] = set()
    for index, name in enumerate(review_versions):
        if name in known:
            errors.append(invalid(f"{path}[{index}]", name, "duplicate version"))
            continue
        known.add(name)
        errors.extend(invalid(f"{path}[{index}]", name, message) for message in dns1035_label(name))
    if options.review_version_required and REVIEW_VERSIONS.isdisjoint(review_versions):
        supported = ", ".join(sorted(REVIEW_VERSIONS))
        errors.append(invalid(path, review_versions, f"must include at least one of {supported}"))
    return errors
