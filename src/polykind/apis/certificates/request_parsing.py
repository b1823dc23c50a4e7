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
    try:
        if request.is_signature_valid:
            return ""
    except (UnsupportedAlgorithm, ValueError):
        return "x509: cannot verify signature: algorithm unimplemented"
    return _signature_error(request)


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
