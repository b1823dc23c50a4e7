"""Signatures of JSON Web Tokens and the files that hold keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from polykind.auth import token_keys, token_parsing
from polykind.auth.key_files import TokenKeyError
from polykind.auth.token_keys import PrivateKey, SignatureError, VerificationKey

P256 = ec.generate_private_key(ec.SECP256R1())
PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8


def private_pem(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(PEM, PKCS8, serialization.NoEncryption())


def public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture(scope="module")
def rsa_key(tmp_path_factory: pytest.TempPathFactory) -> PrivateKey:
    path = tmp_path_factory.mktemp("keys") / "rsa.pem"
    path.write_bytes(token_keys.generate_key())
    return token_keys.load_private_key(path)


@pytest.mark.parametrize(
    ("curve", "algorithm", "name"),
    [(ec.SECP256R1(), "ES256", "P-256"), (ec.SECP384R1(), "ES384", "P-384"), (ec.SECP521R1(), "ES512", "P-521")],
)
def test_elliptic_curve_keys(curve: ec.EllipticCurve, algorithm: str, name: str) -> None:
    key = ec.generate_private_key(curve)
    verification = VerificationKey(key.public_key())
    token = token_keys.sign(key, {"sub": "ann"})
    token_keys.verify(token, [verification])
    assert token_parsing.read_segment(token, 0) == {"alg": algorithm, "kid": verification.id}
    assert token_parsing.read_segment(token, 1) == {"sub": "ann"}
    assert (verification.jwk()["kty"], verification.jwk()["crv"]) == ("EC", name)


def test_rsa_keys(rsa_key: PrivateKey) -> None:
    verification = VerificationKey(rsa_key.public_key())
    token_keys.verify(token_keys.sign(rsa_key, {}), [VerificationKey(P256.public_key()), verification])
    assert verification.algorithm == "RS256"
    assert list(verification.jwk()) == ["use", "kty", "kid", "alg", "n", "e"]
    assert verification.jwk()["e"] == "AQAB"


def test_wrong_signatures_are_rejected(rsa_key: PrivateKey) -> None:
    token = token_keys.sign(P256, {"sub": "ann"})
    head, claims, signature = token.split(".")
    own = [VerificationKey(P256.public_key())]
    other = token_keys.sign(P256, {"sub": "eve"}).rpartition(".")[2]
    for changed in (f"{head}.{claims}.", f"{head}.{claims}x.{signature}", f"{head}.{claims}.{other}"):
        with pytest.raises(SignatureError, match="error in cryptographic primitive"):
            token_keys.verify(changed, own)
    with pytest.raises(SignatureError):
        token_keys.verify(token, [VerificationKey(rsa_key.public_key())])


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c.d", "!.!.!", "e30.W10.x"])
def test_claims_of_other_texts(token: str) -> None:
    assert token_parsing.read_segment(token, 1) is None


def test_files_may_hold_several_keys(tmp_path: Path) -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    path = tmp_path / "keys.pem"
    path.write_bytes(public_pem(P256) + private_pem(other))
    found = token_keys.load_public_keys(path)
    assert [key.id for key in found] == [VerificationKey(key.public_key()).id for key in (P256, other)]


def test_files_without_usable_keys(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    for content in (b"", b"-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n"):
        path.write_bytes(content)
        with pytest.raises(TokenKeyError, match=r"key\.pem"):
            token_keys.load_public_keys(path)
    path.write_bytes(private_pem(ed25519.Ed25519PrivateKey.generate()))
    with pytest.raises(TokenKeyError, match="must be an RSA key or a key on the curve"):
        token_keys.load_private_key(path)
    with pytest.raises(TokenKeyError):
        token_keys.load_private_key(tmp_path / "missing.pem")
