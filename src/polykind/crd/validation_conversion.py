"""The rules of spec.conversion: a strategy, and for a webhook where and how to call it."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.crd.ca_bundle import ca_bundle_error
from polykind.crd.ratcheting import REVIEW_VERSIONS, ValidationOptions
from polykind.crd.validation_client_config import validate_webhook_service, validate_webhook_url
from polykind.errors import FieldError, forbidden, invalid, not_supported, required
from polykind.names import dns1035_label

_AT = "spec.conversion"


def validate_conversion(conversion: JsonObject | None, options: ValidationOptions) -> list[FieldError]:
    if conversion is None:
        return []
    strategy = conversion["strategy"]
    errors: list[FieldError] = []
    if not strategy:
        errors.append(required(f"{_AT}.strategy"))
    elif strategy not in ("None", "Webhook"):
        errors.append(not_supported(f"{_AT}.strategy", strategy, ("None", "Webhook")))
    client, reviews = conversion.get("webhookClientConfig"), conversion.get("conversionReviewVersions")
    if strategy == "Webhook":
        return errors + _client_problems(client, options) + _review_problems(reviews, options)
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        errors.append(forbidden(f"{_AT}.webhookClientConfig", detail))
    if reviews:
        errors.append(forbidden(f"{_AT}.conversionReviewVersions", detail))
    return errors


def _client_problems(client: JsonObject | None, options: ValidationOptions) -> list[FieldError]:
    at = f"{_AT}.webhookClientConfig"
    if client is None:
        return [required(at, "required when strategy is set to Webhook")]
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        errors = [required(at, "exactly one of url or service is required")]
    elif url is not None:
        errors = validate_webhook_url(url, f"{at}.url")
    else:
        errors = validate_webhook_service(client["service"], f"{at}.service")
    bundle = client.get("caBundle")
    if bundle and not options.bad_bundle_allowed:
        problem = ca_bundle_error(bundle)
        if problem is not None:
            errors.append(invalid(f"{at}.caBundle", bundle, problem))
    return errors


def _review_problems(reviews: list[str] | None, options: ValidationOptions) -> list[FieldError]:
    at = f"{_AT}.conversionReviewVersions"
    if not reviews:
        return [required(at)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, name in enumerate(reviews):
        if name in seen:
            errors.append(invalid(f"{at}[{index}]", name, "duplicate version"))
            continue
        seen.add(name)
        errors.extend(invalid(f"{at}[{index}]", name, why) for why in dns1035_label(name))
    if options.review_version_required and REVIEW_VERSIONS.isdisjoint(reviews):
        known = ", ".join(sorted(REVIEW_VERSIONS))
        errors.append(invalid(at, reviews, f"must include at least one of {known}"))
    return errors
