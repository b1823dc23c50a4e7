"""Certificate bundles of conversion webhooks: whether they hold at least one certificate."""

from __future__ import annotations

import re

from polykind.contract import JsonObject
from polykind.golang.base64 import Base64Error, decode_base64

_BLOCK = re.compile(
    rb"(?:^|\n)-----BEGIN ([^\r\n]*?)-----[ \t]*\r?\n(.*?)(?:\n|^)-----END \1-----[ \t]*(?:\r?\n|$)", re.DOTALL
)


def has_invalid_ca_bundle(spec: JsonObject) -> bool:
    """Whether a definition's converter cannot be called, since nobody knows whom to trust."""
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    return ca_bundle_error((webhook.get("clientConfig") or {}).get("caBundle")) is not None


def ca_bundle_error(bundle: str | None) -> str | None:
    """Why a bundle (in base64) cannot be used, in the reference's words; None if it can, or is empty."""
    if not bundle:
        return None
    try:
        data = decode_base64(bundle)
    except Base64Error:
        data = b""
    why = "no valid certificate authority data seen"
    position = 0
    while position < len(data):
        block = _BLOCK.search(data, position)
        if block is None:
            return f"unable to load root certificates: {_first(why, 'unable to parse bytes as PEM block')}"
        position = block.end()
        if block[1] != b"CERTIFICATE" or b":" in block[2]:
            continue
        problem = _certificate_problem(block[2])
        if problem is None:
            return None
        why = _first(why, f"failed to parse certificate: {problem}")
    return f"unable to load root certificates: {why}"


def _first(known: str, new: str) -> str:
    return new if known.startswith("no valid") else known


def _certificate_problem(body: bytes) -> str | None:
    from cryptography import x509  # costs tens of milliseconds, and few definitions have a bundle

    try:
        der = decode_base64(b"".join(body.split()).decode("ascii", "replace"))
        x509.load_der_x509_certificate(der)
    except (Base64Error, ValueError):
        return "x509: malformed certificate"
    return None
