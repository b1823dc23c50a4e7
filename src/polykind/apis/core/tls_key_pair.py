"""The check of the certificate and the key in a TLS secret, with the error messages of Go's tls.X509KeyPair."""

from __future__ import annotations

import re

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from polykind.golang.base64 import decode_base64

_blocks = re.compile(rb"-----BEGIN ([^\n-]*)-----\r?\n.*?\r?\n-----END \1-----", re.DOTALL)
_SWITCHED = "PEM inputs may have been switched"


def key_pair_error(certificate: str, key: str) -> str:
    """Return Go's error for a certificate and a key, both PEM in base64. Return "" if they belong together."""
    blocks = _pem_blocks(decode_base64(certificate))
    found = [block for name, block in blocks if name == "CERTIFICATE"]
    if not found:
        return _missing_certificate([name for name, _ in blocks])
    key_blocks = _pem_blocks(decode_base64(key))
    private = next(
        (block for name, block in key_blocks if name == "PRIVATE KEY" or name.endswith(" PRIVATE KEY")), None
    )
    if private is None:
        return _missing_key([name for name, _ in key_blocks])
    try:
        public = x509.load_pem_x509_certificate(found[0]).public_key()
    except ValueError:
        return "x509: malformed certificate"
    try:
        own = serialization.load_pem_private_key(private, None).public_key()
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    for kind in (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey):
        if isinstance(public, kind) and not isinstance(own, kind):
            return "tls: private key type does not match public key type"
    encodings = [k.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for k in (public, own)]
    return "" if encodings[0] == encodings[1] else "tls: private key does not match public key"


def _pem_blocks(text: bytes) -> list[tuple[str, bytes]]:
    return [(match[1].decode("latin-1"), match[0] + b"\n") for match in _blocks.finditer(text)]


def _missing_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith("PRIVATE KEY"):
        return f"tls: failed to find certificate PEM data in certificate input, but did find a private key; {_SWITCHED}"
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
        f"types: [{' '.join(skipped)}]"
    )


def _missing_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if len(skipped) == 1 and skipped[0] == "CERTIFICATE":
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
        f"following types: [{' '.join(skipped)}]"
    )
