"""Certificate requests (PKCS #10) and certificates in PEM, checked with the error messages of Go's crypto/x509."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind.golang.asn1 import struct_error
from polykind.golang.base64 import decode_base64
from polykind.golang.fmt import go_quote
from polykind.golang.pem import decode_pem, pem_blocks

if TYPE_CHECKING:
    from cryptography.x509 import CertificateSigningRequest

_REQUEST = "CERTIFICATE REQUEST"
_CERTIFICATE = "CERTIFICATE"


_MD5_WITH_RSA = "1.2.840.113549.1.1.4"
_SHA1_ALGORITHMS = frozenset(("1.2.840.113549.1.1.5", "1.2.840.10045.4.1"))
_GO_ALGORITHMS = _SHA1_ALGORITHMS | {
    *(f"1.2.840.113549.1.1.{number}" for number in (10, 11, 12, 13)),
    *(f"1.2.840.10045.4.3.{number}" for number in (2, 3, 4)),
    "1.3.101.112",
}
"""The signature algorithms that Go verifies: RSA, RSA-PSS and ECDSA with SHA-1 (not PSS), SHA-256, SHA-384 or SHA-512,
and Ed25519.
"""


class RequestError(ValueError):
    """A text that is not a certificate request. The error message is that of Go's crypto/x509."""


def parse_request(encoded: str) -> CertificateSigningRequest:
    """Parse a certificate request in base64-encoded PEM.

    Raise RequestError if the text is not a certificate request.
    """
    from cryptography import x509  # The import takes tens of milliseconds.

    block, _ = decode_pem(decode_base64(encoded) if encoded else b"")
    if block is None or block.type != _REQUEST:
        raise RequestError(f"PEM block type must be {_REQUEST}")
    error = struct_error(block.data, "certificateRequest")
    if error:
        raise RequestError(error)
    try:
        return x509.load_der_x509_csr(block.data)
    except (ValueError, TypeError):
        raise RequestError("asn1: structure error: sequence tag mismatch") from None


def request_error(encoded: str) -> str:
    """Return the reason why a certificate request is malformed or not signed with its own key.

    Return "" if the request is valid.
    """
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        request = parse_request(encoded)
    except RequestError as error:
        return str(error)
    algorithm = request.signature_algorithm_oid.dotted_string
    if algorithm == _MD5_WITH_RSA:
        return "x509: cannot verify signature: insecure algorithm MD5-RSA"
    try:
        if algorithm in _GO_ALGORITHMS:
            valid = _is_sha1_valid(request) if algorithm in _SHA1_ALGORITHMS else request.is_signature_valid
            return "" if valid else _signature_error(request)
    except (UnsupportedAlgorithm, ValueError):
        pass
    return "x509: cannot verify signature: algorithm unimplemented"


def _is_sha1_valid(request: CertificateSigningRequest) -> bool:
    """True if a request that is signed with SHA-1 is signed with its own key. Go accepts SHA-1 in requests only."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA1

    key, signature, signed = request.public_key(), request.signature, request.tbs_certrequest_bytes
    sha1 = SHA1()  # noqa: S303
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, signed, padding.PKCS1v15(), sha1)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, signed, ec.ECDSA(sha1))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _signature_error(request: CertificateSigningRequest) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    key = request.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey):
        return "x509: ECDSA verification failure"
    if isinstance(key, ed25519.Ed25519PublicKey):
        return "x509: Ed25519 verification failure"
    return "crypto/rsa: verification error"


def organizations(request: CertificateSigningRequest) -> list[str]:
    """Return the organizations in the subject of a request.

    In a client certificate, they are the groups of the user.
    """
    from cryptography.x509.oid import NameOID

    values = (attribute.value for attribute in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    return [value if isinstance(value, str) else value.decode(errors="replace") for value in values]


def certificate_error(encoded: str) -> str:
    """Return the reason why a chain of certificates in base64-encoded PEM is invalid.

    Return "" if it is valid or empty.
    """
    from cryptography import x509

    text, blocks = decode_base64(encoded) if encoded else b"", 0
    if not text:
        return ""
    for block in pem_blocks(text):
        if block.type != _CERTIFICATE:
            return f"only {_CERTIFICATE} PEM blocks are allowed, found {go_quote(block.type)}"
        if block.headers:
            return "no PEM block headers are permitted"
        blocks += 1
        if not block.data:
            return f"found {_CERTIFICATE} PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(block.data)
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else f"must contain at least one {_CERTIFICATE} PEM block"
