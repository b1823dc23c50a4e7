"""Authorities of our own and serving certificates signed by them: made, and looked at when not known to be good."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from polykind.pki.private_files import write_private

_YEARS = timedelta(days=3650)
_SERVING = timedelta(days=365)
_RENEW = timedelta(days=30)


class Pair(NamedTuple):
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: PrivateKeyTypes

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def outlasts(self, moment: datetime) -> bool:
        return self.certificate.not_valid_after_utc > moment


def read_pair(certificate: bytes, key: bytes) -> Pair | None:
    """The pair that PEM has; None if it is none."""
    try:
        found = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, None)
    except ValueError:
        return None
    return Pair(found, private) if found.public_key() == private.public_key() else None


def make_authority(common_name: str, now: datetime, life: timedelta = _YEARS) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_name(common_name))
        .issuer_name(_name(common_name))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate, key)


def make_serving(authority: Pair, names: Sequence[str], now: datetime, life: timedelta = _SERVING) -> Pair:
    """A certificate for some names. Raises ValueError if the authority's key is not of the kind that is made here."""
    alternatives = x509.SubjectAlternativeName([_general_name(n) for n in names])
    return _issued(authority, _name("polykind"), now, life, ExtendedKeyUsageOID.SERVER_AUTH, alternatives)


def make_client(authority: Pair, user: str, groups: Sequence[str], now: datetime, life: timedelta) -> Pair:
    """A certificate by which a user of some groups can be told. Raises ValueError as above."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    return _issued(authority, subject, now, life, ExtendedKeyUsageOID.CLIENT_AUTH)


def _issued(
    authority: Pair,
    subject: x509.Name,
    now: datetime,
    life: timedelta,
    usage: x509.ObjectIdentifier,
    *extensions: x509.ExtensionType,
) -> Pair:
    if not isinstance(authority.key, ec.EllipticCurvePrivateKey):
        raise ValueError("not a key that this program made: remove the folder to begin anew")
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return Pair(builder.sign(authority.key, hashes.SHA256()), key)


def serves(certificate: x509.Certificate, ca: x509.Certificate, names: Sequence[str]) -> bool:
    """Whether a serving certificate is of this CA and covers the names."""
    try:
        covered = set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return all(_general_name(n) in covered for n in names)


def issue(folder: Path, names: list[str], now: datetime) -> datetime:
    """Make what is missing, unfit or about to expire; until when that will be fit."""
    ca, serving = _pair(folder, "ca", now), _pair(folder, "apiserver", now)
    if ca is None or serving is None or not serves(serving.certificate, ca.certificate, names):
        if ca is None:
            _write(folder, "ca", make_authority("polykind-ca", now))
            ca = _pair(folder, "ca", now)
        if ca is not None:
            try:
                _write(folder, "apiserver", make_serving(ca, names, now))
            except ValueError as error:
                raise ValueError(f"{folder / 'ca.key'}: {error}") from None
        serving = _pair(folder, "apiserver", now)
    if ca is None or serving is None:
        raise ValueError(f"the certificates in {folder} have changed while they were made: start again")
    return min(ca.certificate.not_valid_after_utc, serving.certificate.not_valid_after_utc) - _RENEW


def _write(folder: Path, name: str, pair: Pair) -> None:
    write_private(folder / f"{name}.key", pair.key_pem)
    write_private(folder / f"{name}.crt", pair.certificate_pem)


def _pair(folder: Path, name: str, now: datetime) -> Pair | None:
    """A certificate that lasts, with its key beside it; None where that is not so: a start may have been cut short."""
    try:
        pair = read_pair((folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes())
    except OSError:
        return None
    return pair if pair is not None and pair.outlasts(now + _RENEW) else None


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
