"""The rules of a clientConfig: how a webhook may be named, by its URL or by its service."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.errors import FieldError, invalid, required
from polykind.golang.url import URLError, parse_url
from polykind.names import dns1123_subdomain

_FORM = "; desired format: https://host[/path]"


def validate_webhook_url(text: str, at: str) -> list[FieldError]:
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


def validate_webhook_service(service: JsonObject, at: str) -> list[FieldError]:
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
