"""Keys that sign and verify the tokens of service accounts, as JSON Web Tokens (RFC 7515 and 7518)."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.x509 import load_pem_x509_certificate

from polykind.auth.key_files import TokenKeyError
from polykind.auth.token_parsing import decode_segment, read_header
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.base64 import decode_base64_url

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_KEY_BITS = 2048
_CURVES: dict[str, tuple[str, str, hashes.HashAlgorithm]] = {
    "secp256r1": ("ES256", "P-256", hashes.SHA256()),
    "secp384r1": ("ES384", "P-384", hashes.SHA384()),
    "secp521r1": ("ES512", "P-521", hashes.SHA512()),
}


_HASHES: dict[str, hashes.HashAlgorithm] = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
ALGORITHMS = tuple(sorted(f"{family}{size}" for family in ("ES", "PS", "RS") for size in _HASHES))
"""The algorithms of signatures that can be verified (RFC 7518)."""


class SignatureError(ValueError):
    """The signature of a token is wrong. The message is that of kube-apiserver's JOSE library."""


@dataclass(frozen=True)
class VerificationKey:
    """A public key that verifies tokens. Its id and algorithm are computed from the key."""

    public: PublicKey

    @property
    def id(self) -> str:
        encoded = self.public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return _encode_segment(hashlib.sha256(encoded).digest())

    @property
    def algorithm(self) -> str:
        return "RS256" if isinstance(self.public, rsa.RSAPublicKey) else _CURVES[self.public.curve.name][0]

    def verify(self, signed: bytes, signature: bytes) -> bool:
        """True if the private key of this public key has made the signature of the bytes `signed`."""
        return verify_signature(self.public, self.algorithm, signed, signature)

    def jwk(self) -> JsonObject:
        """Return the key as a JSON Web Key (RFC 7517)."""
        if isinstance(self.public, rsa.RSAPublicKey):
            numbers = self.public.public_numbers()
            values = {"n": _encode_number(numbers.n), "e": _encode_number(numbers.e)}
            return {"use": "sig", "kty": "RSA", "kid": self.id, "alg": self.algorithm, **values}
        point, size = self.public.public_numbers(), (self.public.key_size + 7) // 8
        curve = _CURVES[self.public.curve.name][1]
        values = {"crv": curve, "x": _encode_number(point.x, size), "y": _encode_number(point.y, size)}
        return {"use": "sig", "kty": "EC", "kid": self.id, **values, "alg": self.algorithm}


def verify_signature(public: PublicKey, algorithm: str, signed: bytes, signature: bytes) -> bool:
    """True if the private key of `public` has made the signature with the algorithm, one of ALGORITHMS."""
    family, hash_algorithm = algorithm[:2], _HASHES[algorithm[2:]]
    try:
        if isinstance(public, rsa.RSAPublicKey):
            if family == "ES":
                return False
            pss = padding.PSS(padding.MGF1(hash_algorithm), padding.PSS.DIGEST_LENGTH)
            scheme = pss if family == "PS" else padding.PKCS1v15()
            public.verify(signature, signed, scheme, hash_algorithm)
        else:
            size = (public.key_size + 7) // 8
            if _CURVES[public.curve.name][0] != algorithm or len(signature) != 2 * size:
                return False
            r, s = int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
            public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hash_algorithm))
    except (InvalidSignature, ValueError):
        return False
    return True


def public_key_of_jwk(jwk: JsonObject) -> PublicKey | None:
    """Return the public key in a JSON Web Key (RFC 7517). Return None if its type is not supported.

    Raise ValueError if a number of the key is missing or invalid.
    """
    if jwk.get("kty") == "RSA":
        return rsa.RSAPublicNumbers(_decode_number(jwk, "e"), _decode_number(jwk, "n")).public_key()
    if jwk.get("kty") == "EC":
        curves: dict[str, ec.EllipticCurve] = {
            "P-256": ec.SECP256R1(),
            "P-384": ec.SECP384R1(),
            "P-521": ec.SECP521R1(),
        }
        curve = curves.get(str(jwk.get("crv")))
        if curve is not None:
            x, y = _decode_number(jwk, "x"), _decode_number(jwk, "y")
            return ec.EllipticCurvePublicNumbers(x, y, curve).public_key()
    return None


def _decode_number(jwk: JsonObject, name: str) -> int:
    text = jwk.get(name)
    encoded = decode_base64_url(text.rstrip("=")) if isinstance(text, str) else b""
    if not encoded:
        raise ValueError(f"the number {name} of the key is missing or is not base64")
    return int.from_bytes(encoded, "big")


def sign(key: PrivateKey, claims: JsonObject) -> str:
    """Return a token with the claims, signed by the key."""
    verification = VerificationKey(key.public_key())
    header = json_codec.encode({"alg": verification.algorithm, "kid": verification.id})
    signed = f"{_encode_segment(header)}.{_encode_segment(json_codec.encode(claims))}".encode()
    if isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    else:
        r, s = decode_dss_signature(key.sign(signed, ec.ECDSA(_CURVES[key.curve.name][2])))
        size = (key.key_size + 7) // 8
        signature = r.to_bytes(size, "big") + s.to_bytes(size, "big")
    return f"{signed.decode()}.{_encode_segment(signature)}"


def verify(token: str, keys: list[VerificationKey]) -> None:
    """Raise SignatureError if none of the keys has signed the token, and MalformedTokenError if it is no token."""
    header = read_header(token)
    signed, _, encoded = token.rpartition(".")
    signature = decode_segment(encoded)
    candidates = [key for key in keys if key.id == header.key_id] if header.key_id else keys
    if not candidates:
        raise SignatureError("invalid signature, no keys found")
    for key in candidates if header.supported else ():
        if header.algorithm == key.algorithm and key.verify(signed.encode(), signature):
            return
    raise SignatureError("go-jose/go-jose: error in cryptographic primitive")


def _encode_segment(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _encode_number(number: int, size: int = 0) -> str:
    return _encode_segment(number.to_bytes(max(size, (number.bit_length() + 7) // 8), "big"))


def load_private_key(path: Path) -> PrivateKey:
    """Load a private key from a PEM file. Raise TokenKeyError if the file contains no private key."""
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise TokenKeyError(f"{path}: {error}") from None
    if isinstance(key, rsa.RSAPrivateKey) or (
        isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in _CURVES
    ):
        return key
    raise TokenKeyError(f"{path}: the key must be an RSA key or a key on the curve P-256, P-384 or P-521")


def load_public_keys(path: Path) -> list[VerificationKey]:
    """Load all keys of a PEM file, which may be public keys, private keys or certificates."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise TokenKeyError(f"{path}: {error}") from None
    keys = []
    for block in _pem_blocks(text):
        try:
            keys.append(_load_public_key(block))
        except (ValueError, TypeError) as error:
            raise TokenKeyError(f"{path}: {error}") from None
    if not keys:
        raise TokenKeyError(f"{path}: data does not contain any valid RSA or ECDSA public keys")
    return keys


def _pem_blocks(text: bytes) -> list[bytes]:
    parts = text.split(b"-----BEGIN ")[1:]
    return [b"-----BEGIN " + part for part in parts if b"-----END " in part]


def _load_public_key(block: bytes) -> VerificationKey:
    if block.startswith(b"-----BEGIN CERTIFICATE"):
        public: object = load_pem_x509_certificate(block).public_key()
    elif b"PRIVATE KEY-----" in block.partition(b"\n")[0]:
        public = serialization.load_pem_private_key(block, None).public_key()
    else:
        public = serialization.load_pem_public_key(block)
    if isinstance(public, rsa.RSAPublicKey) or (
        isinstance(public, ec.EllipticCurvePublicKey) and public.curve.name in _CURVES
    ):
        return VerificationKey(public)
    raise ValueError("not an RSA or ECDSA public key")


def generate_key() -> bytes:
    """Return a new private key in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
