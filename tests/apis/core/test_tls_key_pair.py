"""The check of certificates and keys in TLS secrets."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from polykind.apis.core.tls_key_pair import key_pair_error

KEY, OTHER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(public_exponent=65537, key_size=1024)


def key_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def certificate_pem() -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, KEY.public_key(), 1, now, now + timedelta(days=1))
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


CERTIFICATE = certificate_pem()
PARAMETERS = b"-----BEGIN EC PARAMETERS-----\nAA==\n-----END EC PARAMETERS-----\n"


@pytest.mark.parametrize(
    ("certificate", "key", "expected"),
    [
        (CERTIFICATE, key_pem(KEY), ""),
        (CERTIFICATE, PARAMETERS + key_pem(KEY), ""),
        (b"", b"", "tls: failed to find any PEM data in certificate input"),
        (CERTIFICATE, b"", "tls: failed to find any PEM data in key input"),
        (CERTIFICATE, key_pem(OTHER), "tls: private key does not match public key"),
        (CERTIFICATE, key_pem(RSA), "tls: private key type does not match public key type"),
        (CERTIFICATE, CERTIFICATE, "tls: found a certificate rather than a key in the PEM for the private key"),
        (
            key_pem(KEY),
            CERTIFICATE,
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched",
        ),
        (
            PARAMETERS,
            b"",
            'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
            "following types: [EC PARAMETERS]",
        ),
    ],
)
def test_errors_are_those_of_go(certificate: bytes, key: bytes, expected: str) -> None:
    assert key_pair_error(base64.b64encode(certificate).decode(), base64.b64encode(key).decode()) == expected
