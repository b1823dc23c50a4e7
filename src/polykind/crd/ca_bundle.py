"""Validation of the CA bundle of a conversion webhook. It must contain at least one certificate."""

from __future__ import annotations

import re

from polykind.contract import JsonObject
from polykind.golang.base64 import Base64Error, decode_base64

_BLOCK = re.compile(
    rb"(?:^|\n)-----BEGIN ([^\r\n]*?)-----[ \t]*\r?\n(.*?)(?:\n|^)-----END \1-----[ \t]*(?:\r?\n|$)", re.DOTALL
)


def has_invalid_ca_bundle(spec: JsonObject) -> bool:
    """True if the CA bundle of a CRD's conversion webhook is invalid, so that the server cannot call the webhook."""
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    return ca_bundle_error((webhook.get("clientConfig") or {}).get("caBundle")) is not None


def ca_bundle_error(bundle: str | None) -> str | None:
    """Return kube-apiserver's message for an invalid base64 CA bundle. Return None if the bundle is valid or empty."""
    if not bundle:
        return None
    try:
        data = decode_base64(bundle)
    except Base64Error:
        data = b""
    message = "no valid certificate authority data seen"
    position = 0
    while position < len(data):
        block = _BLOCK.search(data, position)
        if block is None:
            return f"unable to load root certificates: {_first_error(message, 'unable to parse bytes as PEM block')}"
        position = block.end()
        if block[1] != b"CERTIFICATE" or b":" in block[2]:
            continue
        error = _certificate_error(block[2])
        if error is None:
            return None
        message = _first_error(message, f"failed to parse certificate: {error}")
    return f"unable to load root certificates: {message}"


def _first_error(current: str, new: str) -> str:
    return new if current.startswith("no valid") else current


def _certificate_error(body: bytes) -> str | None:
    from cryptography import x509  # Imported here, because it takes tens of milliseconds and few CRDs have a bundle.

    try:
        der = decode_base64(b"".join(body.split()).decode("ascii", "replace"))
        x509.load_der_x509_certificate(der)
    except (Base64Error, ValueError):
        return "x509: malformed certificate"
    return None
