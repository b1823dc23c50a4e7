"""Certificate requests for tests."""

from __future__ import annotations

import base64
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@cache
def certificate_request(organization: str = "acme") -> str:
    """Return the base64 of a PEM certificate request."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, "ann"), x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)]
    )
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def with_broken_signature(encoded: str) -> str:
    """Return a request whose last byte, which belongs to the signature, is changed."""
    request = x509.load_pem_x509_csr(base64.b64decode(encoded))
    der = bytearray(request.public_bytes(serialization.Encoding.DER))
    der[-1] ^= 1
    return encode_block("CERTIFICATE REQUEST", bytes(der))


def encode_block(kind: str, der: bytes) -> str:
    """Return the base64 of a PEM block."""
    pem = f"-----BEGIN {kind}-----\n{base64.b64encode(der).decode()}\n-----END {kind}-----\n"
    return base64.b64encode(pem.encode()).decode()
