"""The quick check of key files agrees with the cryptography library."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from polykind.auth.key_files import is_key_file
from polykind.pki.authority import make_authority

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = serialization.Encoding.PEM
FORMATS = (serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL)


def private_pem(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey,
    format_: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> bytes:
    return key.private_bytes(PEM, format_, serialization.NoEncryption())


def public_pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("key", [RSA, *map(ec.generate_private_key, (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()))])
def test_supported_keys_pass(tmp_path: Path, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
    path = tmp_path / "key.pem"
    for format_ in FORMATS:
        path.write_bytes(private_pem(key, format_))
        assert is_key_file(path)
        assert is_key_file(path, private=True)
    path.write_bytes(public_pem(key) + make_authority("other", datetime.now(UTC)).certificate_pem)
    assert is_key_file(path)
    assert not is_key_file(path, private=True)


def test_all_other_files_need_a_closer_look(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    valid = private_pem(RSA)
    lines = valid.splitlines(keepends=True)
    encrypted = RSA.private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    for content in (
        b"",
        b"\xff",
        b"".join([*lines[:5], *lines[6:]]),
        valid.replace(b"-----END", b"-----FIN"),
        valid.replace(b"M", b"!", 1),
        valid + b"-----BEGIN GARBAGE-----\n",
        encrypted,
        private_pem(ed25519.Ed25519PrivateKey.generate()),
        private_pem(ec.generate_private_key(ec.SECP256K1())),
    ):
        path.write_bytes(content)
        assert not is_key_file(path), content
    assert not is_key_file(tmp_path / "missing.pem")
