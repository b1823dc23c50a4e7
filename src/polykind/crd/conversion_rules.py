"""The rules of spec.conversion: a strategy, and for a webhook where and how to call it."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.crd.cabundle import bundle_problem
from polykind.crd.gourl import URLError, parse_url
from polykind.crd.options import REVIEW_VERSIONS, Options
from polykind.errors import FieldError, forbidden, invalid, not_supported, required
from polykind.schema.names import dns1035_label, dns1123_subdomain

_AT = "spec.conversion"
_FORM = "; desired format: https://host[/path]"


def conversion_problems(conversion: JsonObject | None, options: Options) -> list[FieldError]:
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


def _client_problems(client: JsonObject | None, options: Options) -> list[FieldError]:
    at = f"{_AT}.webhookClientConfig"
    if client is None:
        return [required(at, "required when strategy is set to Webhook")]
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        errors = [required(at, "exactly one of url or service is required")]
    elif url is not None:
        errors = _url_problems(url, f"{at}.url")
    else:
        errors = _service_problems(client["service"], f"{at}.service")
    bundle = client.get("caBundle")
    if bundle and not options.bad_bundle_allowed:
        problem = bundle_problem(bundle)
        if problem is not None:
            errors.append(invalid(f"{at}.caBundle", bundle, problem))
    return errors


def _url_problems(text: str, at: str) -> list[FieldError]:
    try:
        url = parse_url(text)
    except URLError as error:
        return [required(at, f"url must be a valid URL: {error}{_FORM}")]
    errors = []
    if url.scheme != "https":
        errors.append(invalid(at, url.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not url.host:
        errors.append(invalid(at, url.host, f"host must be specified{_FORM}"))
    if url.userinfo is not None:
        errors.append(invalid(at, url.userinfo, "user information is not permitted in the URL"))
    if url.fragment:
        errors.append(invalid(at, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        errors.append(invalid(at, url.query, "query parameters are not permitted in the URL"))
    return errors


def _service_problems(service: JsonObject, at: str) -> list[FieldError]:
    """The reference hands name and namespace over in the wrong order, so each is reported as the other."""
    errors = []
    if not service["namespace"]:
        errors.append(required(f"{at}.name"))
    if not service["name"]:
        errors.append(required(f"{at}.namespace"))
    port = service.get("port", 0)
    if not 1 <= port <= 65535:
        errors.append(invalid(f"{at}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    return errors + _path_problems(service.get("path"), f"{at}.path")


def _path_problems(path: str | None, at: str) -> list[FieldError]:
    if not path or path == "/":
        return []
    if path == "//":
        return [invalid(at, path, "segment[0] may not be empty")]
    errors = [] if path.startswith("/") else [invalid(at, path, "must start with a '/'")]
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(at, path, f"segment[{index}] may not be empty"))
        errors.extend(invalid(at, path, f"segment[{index}]: {why}") for why in dns1123_subdomain(segment) if segment)
    return errors


def _review_problems(reviews: list[str] | None, options: Options) -> list[FieldError]:
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
