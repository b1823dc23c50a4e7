"""The check of the certificate and the key in a TLS secret, with the error messages of Go's tls.X509KeyPair."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from polykind.golang.base64 import decode_base64
from polykind.golang.pem import pem_blocks

_SWITCHED = "PEM inputs may have been switched"


_KEY_KINDS = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey)


def key_pair_error(certificate: str, key: str) -> str:
    """Return Go's error for a certificate and a key, both PEM in base64. Return "" if they belong together."""
    skipped = []
    for block in pem_blocks(decode_base64(certificate)):
        if block.type == "CERTIFICATE":
            break
        skipped.append(block.type)
    else:
        return _missing_certificate(skipped)
    skipped = []
    for private in pem_blocks(decode_base64(key)):
        if private.type == "PRIVATE KEY" or private.type.endswith(" PRIVATE KEY"):
            break
        skipped.append(private.type)
    else:
        return _missing_key(skipped)
    return _compare_keys(block.data, private.data)


def _compare_keys(certificate: bytes, private: bytes) -> str:
    """Return Go's error for a certificate and a private key, both DER."""
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
    except ValueError:
        return "x509: malformed certificate"
    try:
        own = serialization.load_der_private_key(private, None).public_key()
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    if any(isinstance(public, kind) and not isinstance(own, kind) for kind in _KEY_KINDS):
        return "tls: private key type does not match public key type"
    encodings = [k.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for k in (public, own)]
    return "" if encodings[0] == encodings[1] else "tls: private key does not match public key"


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
