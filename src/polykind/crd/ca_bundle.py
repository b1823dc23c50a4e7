"""Validation of the CA bundle of a conversion webhook. It must contain at least one certificate."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.golang.base64 import Base64Error, decode_base64
from polykind.golang.pem import pem_blocks


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
    end = 0
    for block in pem_blocks(data):
        end = block.end
        if block.type != "CERTIFICATE" or block.headers:
            continue
        error = _certificate_error(block.data)
        if error is None:
            return None
        message = _first_error(message, f"failed to parse certificate: {error}")
    if end < len(data):
        message = _first_error(message, "unable to parse bytes as PEM block")
    return f"unable to load root certificates: {message}"


def _first_error(current: str, new: str) -> str:
    return new if current.startswith("no valid") else current


def _certificate_error(der: bytes) -> str | None:
    from cryptography import x509  # Imported here, because it takes tens of milliseconds and few CRDs have a bundle.

    try:
        x509.load_der_x509_certificate(der)
    except ValueError:
        return "x509: malformed certificate"
    return None
