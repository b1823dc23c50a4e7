"""Where the API server finds a host, and what a definition's `spec.conversion` says of it. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from polykind.contract import JsonObject
from polykind.toolkit.hosting import bundle

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_service = re.compile(rf"({_LABEL})/({_LABEL})(?::([0-9]{{1,5}}))?(/[^?#\s]*)?").fullmatch


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A service in the cluster, or a URL."""

    namespace: str = ""
    name: str = ""
    port: int = 443
    path: str = "/convert"
    url: str = ""

    @classmethod
    def of_service(cls, text: str) -> Endpoint:
        """The service that namespace/name[:port][/path] names. Raises ValueError."""
        found = _service(text)
        port = int(found[3] or 443) if found else 0
        if found is None or not 0 < port < 65536:
            raise ValueError(f"--service {text}: must be namespace/name, or namespace/name:port/path")
        return cls(found[1], found[2], port, found[4] or "/convert")

    @classmethod
    def of_url(cls, text: str) -> Endpoint:
        """Raises ValueError for what the API server would refuse."""
        try:
            parts = urlsplit(text)
            port = parts.port or 443
        except ValueError as error:
            raise ValueError(f"--url {text}: {error}") from None
        if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"--url {text}: must be https://host[:port][/path], without a user, a query or a fragment")
        return cls(port=port, url=text)

    @property
    def names(self) -> list[str]:
        """What a certificate must be for, the name that is called first."""
        if self.url:
            host = urlsplit(self.url).hostname
            return [host] if host else []
        called = f"{self.name}.{self.namespace}.svc"
        return [called, f"{called}.cluster.local", f"{self.name}.{self.namespace}", self.name]

    @property
    def client_config(self) -> JsonObject:
        if self.url:
            return {"url": self.url}
        service = {"namespace": self.namespace, "name": self.name, "port": self.port, "path": self.path}
        return {"service": service}

    def conversion(self, ca_bundle: bytes) -> JsonObject:
        """A definition's `spec.conversion`."""
        config = self.client_config
        if ca_bundle:
            config["caBundle"] = base64.b64encode(ca_bundle).decode()
        return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}}

    def changes(self, conversion: JsonObject, ours: bytes, retired: bytes, now: datetime) -> JsonObject:
        """What to merge into a definition's `spec.conversion`, and no more; empty if it is as it should be.

        The bundle is compared by itself, and ours is appended to what is valid in it.
        """
        webhook = _object(conversion.get("webhook"))
        present = _object(webhook.get("clientConfig"))
        wanted = self.client_config
        config: JsonObject = {key: wanted.get(key) for key in ("service", "url") if present.get(key) != wanted.get(key)}
        before = _decoded(present.get("caBundle"))
        after = bundle.merged(before, ours, retired, now) if ours else before
        if after != before:
            config["caBundle"] = base64.b64encode(after).decode()
        out: JsonObject = {"clientConfig": config} if config else {}
        if "v1" not in (webhook.get("conversionReviewVersions") or ()):
            out["conversionReviewVersions"] = ["v1"]
        changed: JsonObject = {"webhook": out} if out else {}
        if conversion.get("strategy") != "Webhook":
            changed["strategy"] = "Webhook"
        return changed


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _decoded(value: Any) -> bytes:
    try:
        return base64.b64decode(value or "")
    except (binascii.Error, TypeError, ValueError):
        return b""
