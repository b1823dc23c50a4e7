"""The verification of client certificates: chains to a certificate authority, with the rules of Go's crypto/x509."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

Extension = TypeVar("Extension", bound=x509.ExtensionType)
_MAX_CERTIFICATES = 10
_MAX_SIGNATURES = 30
"""The number of signatures that the server verifies for one client certificate."""
_MIN_RSA_BITS = 1024
_HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
_HANDLED = frozenset((
    ExtensionOID.KEY_USAGE,
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    ExtensionOID.NAME_CONSTRAINTS,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
    ExtensionOID.SUBJECT_KEY_IDENTIFIER,
))  # fmt: skip
"""The extensions that may be critical. Any other critical extension makes a certificate invalid (RFC 5280)."""
_ERRORS = (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.UnsupportedGeneralNameType)


class CertificateError(Exception):
    """A client certificate does not count. The message says why."""


class VerifiedCertificate(NamedTuple):
    """A client certificate with a valid chain, and the time in which every certificate of the chain is valid."""

    certificate: x509.Certificate
    valid_from: datetime
    valid_until: datetime


def load_authorities(pem: bytes) -> list[x509.Certificate]:
    """Parse the certificates of a CA bundle. Raise ValueError if there is none, or one is invalid."""
    return x509.load_pem_x509_certificates(pem)


def verify_client(
    chain: Sequence[bytes], authorities: Sequence[x509.Certificate], now: datetime
) -> VerifiedCertificate:
    """Verify a client certificate, which is followed by intermediate certificates, all in DER.

    A chain must lead to one of the authorities, and each of its certificates must be valid now, usable for client
    authentication and, if it signs another one, a CA. Raise CertificateError otherwise.
    """
    if len(chain) > _MAX_CERTIFICATES:
        raise CertificateError(f"the client sent more than {_MAX_CERTIFICATES} certificates")
    try:
        leaf, *intermediates = (x509.load_der_x509_certificate(der) for der in chain)
    except _ERRORS as error:
        raise CertificateError(f"cannot parse the certificate: {error}") from None
    return _Search(intermediates, authorities, now).find(leaf)


def find_issuer(der: bytes, authorities: Sequence[x509.Certificate]) -> x509.Certificate | None:
    """Return the authority that has signed a certificate, or is this certificate. Return None if there is none.

    Raise CertificateError if the certificate cannot be parsed.
    """
    if not authorities:
        return None
    try:
        certificate = x509.load_der_x509_certificate(der)
        issuer = certificate.issuer
    except _ERRORS as error:
        raise CertificateError(f"cannot parse the certificate: {error}") from None
    signers = (ca for ca in authorities if ca.subject == issuer and _is_signed_by(certificate, ca))
    return next(signers, None)


class _Search:
    """A search for a valid chain, with a bounded number of signatures."""

    def __init__(
        self, intermediates: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate], now: datetime
    ) -> None:
        self._intermediates = intermediates
        self._authorities = authorities
        self._now = now
        self._signatures = 0

    def find(self, leaf: x509.Certificate) -> VerifiedCertificate:
        self._check(leaf)
        found = [leaf] if leaf in self._authorities else self._extend([leaf])
        if found is None:
            raise CertificateError("certificate signed by unknown authority")
        start = max(certificate.not_valid_before_utc for certificate in found)
        return VerifiedCertificate(leaf, start, min(certificate.not_valid_after_utc for certificate in found))

    def _extend(self, chain: list[x509.Certificate]) -> list[x509.Certificate] | None:
        """Return the chain with its issuers up to an authority. Return None if there is no valid chain."""
        for issuers, are_authorities in ((self._authorities, True), (self._intermediates, False)):
            for issuer in issuers:
                if issuer.subject != chain[-1].issuer or issuer in chain:
                    continue
                if not self._may_issue(issuer, chain, is_authority=are_authorities):
                    continue
                longer = [*chain, issuer]
                found = longer if are_authorities else self._extend(longer)
                if found is not None:
                    return found
        return None

    def _may_issue(self, issuer: x509.Certificate, chain: list[x509.Certificate], *, is_authority: bool) -> bool:
        """True if the issuer is a valid CA, allows a chain of this length, and has signed its last certificate."""
        try:
            self._check(issuer)
            _check_issuer(issuer, chain, is_authority=is_authority)
        except CertificateError:
            return False
        self._signatures += 1
        if self._signatures > _MAX_SIGNATURES:
            raise CertificateError("the certificates of the client have too many possible chains")
        return _is_signed_by(chain[-1], issuer)

    def _check(self, certificate: x509.Certificate) -> None:
        """Raise CertificateError unless the certificate is valid now, and may be in a chain of client certificates."""
        if not certificate.not_valid_before_utc <= self._now <= certificate.not_valid_after_utc:
            raise CertificateError("certificate has expired or is not yet valid")
        try:
            extensions = certificate.extensions
        except _ERRORS as error:
            raise CertificateError(f"cannot parse the extensions of the certificate: {error}") from None
        for extension in extensions:
            if extension.critical and extension.oid not in _HANDLED:
                raise CertificateError(f"unhandled critical extension {extension.oid.dotted_string}")
            usages = extension.value
            if isinstance(usages, x509.ExtendedKeyUsage) and not (
                ExtendedKeyUsageOID.CLIENT_AUTH in usages or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usages
            ):
                raise CertificateError("certificate specifies an incompatible key usage")


def _check_issuer(issuer: x509.Certificate, chain: list[x509.Certificate], *, is_authority: bool) -> None:
    """Raise CertificateError unless the issuer may sign the last certificate of the chain."""
    constraints = _extension(issuer, x509.BasicConstraints)
    usage = _extension(issuer, x509.KeyUsage)
    # Certificates of X.509 version 1 have no extensions. Such an authority is trusted, such an intermediate is not.
    if not (constraints.ca if constraints is not None else is_authority and issuer.version is x509.Version.v1):
        raise CertificateError("the issuer is not a certificate authority")
    if usage is not None and not usage.key_cert_sign:
        raise CertificateError("the issuer may not sign certificates")
    if constraints is not None and constraints.path_length is not None and len(chain) - 1 > constraints.path_length:
        raise CertificateError("too many intermediates for path length constraint")
    has_names = any(_alternative_names(certificate) for certificate in chain)
    if has_names and _extension(issuer, x509.NameConstraints) is not None:
        # Users are named by the subject, to which name constraints on DNS names and addresses do not apply.
        raise CertificateError("the issuer constrains names, which the server cannot check")


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    """Return an extension of a certificate, or None if the certificate does not have it."""
    found = (extension.value for extension in certificate.extensions)
    return next((value for value in found if isinstance(value, kind)), None)


def _alternative_names(certificate: x509.Certificate) -> bool:
    """True if the certificate has subject alternative names."""
    return any(extension.oid == ExtensionOID.SUBJECT_ALTERNATIVE_NAME for extension in certificate.extensions)


def _is_signed_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        key = issuer.public_key()
        if isinstance(key, rsa.RSAPublicKey) and key.key_size < _MIN_RSA_BITS:
            return False
        if not (isinstance(key, ed25519.Ed25519PublicKey) or isinstance(certificate.signature_hash_algorithm, _HASHES)):
            return False  # such as SHA-1, which is not secure
        certificate.verify_directly_issued_by(issuer)
    except _ERRORS:
        return False
    return True
