"""The address of a webhook, read from its clientConfig as the reference reads it."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from polykind.contract import JsonObject
from polykind.conversion.failure import text
from polykind.golang.fmt import go_quote
from polykind.webhook.resolver import Endpoint, Resolver

_PATH_SAFE = "/$&+,:;=@~"


class TargetError(ValueError):
    """A clientConfig from which no address can be made."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where to call: `url` without its query is what people are shown; TLS verifies `server_name`."""

    url: str
    server_name: str
    port: int
    service: tuple[str, str] | None = None

    def endpoint(self, resolver: Resolver) -> Endpoint:
        """Where to connect to."""
        if self.service is None:
            return Endpoint(self.server_name, self.port)
        return resolver.endpoint(*self.service, self.port)


def target(config: JsonObject, webhook: str) -> Target:
    """The target that the clientConfig of a webhook of that name names. Raises BadTarget."""
    service = config.get("service")
    if isinstance(service, dict):
        namespace, name = text(service.get("namespace")), text(service.get("name"))
        port = _port(service.get("port"))
        host = f"{name}.{namespace}.svc"
        return Target(f"https://{host}:{port}{_path(text(service.get('path')))}", host, port, (namespace, name))
    url = text(config.get("url"))
    if not url:
        raise TargetError(_calling(webhook, "webhook configuration must have either service or URL"))
    try:
        parts = urlsplit(url)
        given, named = parts.port, parts.hostname
    except ValueError as error:
        raise TargetError(_calling(webhook, f"Unparsable URL: parse {go_quote(url)}: {error}")) from None
    if parts.scheme != "https" or not named:
        raise TargetError(_calling(webhook, f"Unparsable URL: parse {go_quote(url)}: not an https URL with a host"))
    shown = parts.netloc.rpartition("@")[2]
    return Target(f"https://{shown}{_path(unquote(parts.path))}", named, 443 if given is None else given)


def _port(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value < 65536 else 443


def _path(path: str) -> str:
    cleaned = "/" + posixpath.normpath(f"/{path}").lstrip("/")
    return quote(cleaned.encode(errors="surrogatepass"), safe=_PATH_SAFE)


def _calling(webhook: str, why: str) -> str:
    return f"failed calling webhook {go_quote(webhook)}: {why}"
