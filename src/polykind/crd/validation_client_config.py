"""Validation of a webhook's clientConfig: its URL or its service."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.errors import FieldError, invalid, required
from polykind.golang.url import URLError, parse_url
from polykind.names import dns1123_subdomain

_EXPECTED_FORMAT = "; desired format: https://host[/path]"


def validate_webhook_url(text: str, path: str) -> list[FieldError]:
    """Validate the URL of a webhook."""
    try:
        url = parse_url(text)
    except URLError as error:
        return [required(path, f"url must be a valid URL: {error}{_EXPECTED_FORMAT}")]
    errors = []
    if url.scheme != "https":
        errors.append(invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_EXPECTED_FORMAT}"))
    if not url.host:
        errors.append(invalid(path, url.host, f"host must be specified{_EXPECTED_FORMAT}"))
    if url.userinfo is not None:
        errors.append(invalid(path, url.userinfo, "user information is not permitted in the URL"))
    if url.fragment:
        errors.append(invalid(path, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        errors.append(invalid(path, url.query, "query parameters are not permitted in the URL"))
    return errors


def validate_webhook_service(service: JsonObject, path: str) -> list[FieldError]:
    """Validate the service of a webhook.

    As in kube-apiserver, an error about the namespace has the path of the name, and vice versa.
    """
    errors = []
    if not service["namespace"]:
        errors.append(required(f"{path}.name"))
    if not service["name"]:
        errors.append(required(f"{path}.namespace"))
    port = service.get("port", 0)
    if not 1 <= port <= 65535:
        errors.append(invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive"))
    return errors + _validate_path(service.get("path"), f"{path}.path")


def _validate_path(url_path: str | None, path: str) -> list[FieldError]:
    if not url_path or url_path == "/":
        return []
    if url_path == "//":
        return [invalid(path, url_path, "segment[0] may not be empty")]
    errors = [] if url_path.startswith("/") else [invalid(path, url_path, "must start with a '/'")]
    for index, segment in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(path, url_path, f"segment[{index}] may not be empty"))
        errors.extend(
            invalid(path, url_path, f"segment[{index}]: {message}") for message in dns1123_subdomain(segment) if segment
        )
    return errors
