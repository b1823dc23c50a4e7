"""The address of a webhook host, and the `spec.conversion` of a CRD whose objects this host converts."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from polykind.contract import JsonObject
from polykind.toolkit.hosting import trust_bundle

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_service = re.compile(rf"({_LABEL})/({_LABEL})(?::([0-9]{{1,5}}))?(/[^?#\s]*)?").fullmatch


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """The address of a webhook: a Service in the cluster, or a URL."""

    namespace: str = ""
    name: str = ""
    port: int = 443
    path: str = "/convert"
    url: str = ""

    @classmethod
    def of_service(cls, text: str) -> WebhookEndpoint:
        """Parse namespace/name[:port][/path]. Raise ValueError if the text has another format."""
        match = _service(text)
        port = int(match[3] or 443) if match else 0
        if match is None or not 0 < port < 65536:
            raise ValueError(f"--service {text}: must be namespace/name, or namespace/name:port/path")
        return cls(match[1], match[2], port, match[4] or "/convert")

    @classmethod
    def of_url(cls, text: str) -> WebhookEndpoint:
        """Parse a URL. Raise ValueError for a URL that the API server would reject."""
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
        """The names that the host's certificate must have. The API server connects to the first name."""
        if self.url:
            host = urlsplit(self.url).hostname
            return [host] if host else []
        service_host = f"{self.name}.{self.namespace}.svc"
        return [service_host, f"{service_host}.cluster.local", f"{self.name}.{self.namespace}", self.name]

    @property
    def client_config(self) -> JsonObject:
        """The webhook's `clientConfig` for a CRD, without a caBundle."""
        if self.url:
            return {"url": self.url}
        service = {"namespace": self.namespace, "name": self.name, "port": self.port, "path": self.path}
        return {"service": service}

    def conversion(self, ca_bundle: bytes) -> JsonObject:
        """Return the `spec.conversion` for a CRD whose objects this host converts."""
        config = self.client_config
        if ca_bundle:
            config["caBundle"] = base64.b64encode(ca_bundle).decode()
        return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": config}}

    def conversion_patch(self, conversion: JsonObject, ca_bundle: bytes, retired: bytes, now: datetime) -> JsonObject:
        """Return the smallest merge patch that makes `conversion`, a CRD's `spec.conversion`, point to this host.

        Return an empty patch if the CRD needs no change. The CAs in `ca_bundle` are added to the CRD's caBundle, and
        those in `retired` are removed.
        """
        webhook = _as_object(conversion.get("webhook"))
        present_config = _as_object(webhook.get("clientConfig"))
        client_config = self.client_config
        config: JsonObject = {
            key: client_config.get(key)
            for key in ("service", "url")
            if present_config.get(key) != client_config.get(key)
        }
        before = _decode_base64(present_config.get("caBundle"))
        after = trust_bundle.merge_bundles(before, ca_bundle, retired, now) if ca_bundle else before
        if after != before:
            config["caBundle"] = base64.b64encode(after).decode()
        out: JsonObject = {"clientConfig": config} if config else {}
        if "v1" not in (webhook.get("conversionReviewVersions") or ()):
            out["conversionReviewVersions"] = ["v1"]
        patch: JsonObject = {"webhook": out} if out else {}
        if conversion.get("strategy") != "Webhook":
            patch["strategy"] = "Webhook"
        return patch


def _as_object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _decode_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(value or "")
    except (binascii.Error, TypeError, ValueError):
        return b""
