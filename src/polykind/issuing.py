"""A CA of our own and a serving certificate signed by it: made, and looked at when they are not known to be good."""

from __future__ import annotations

import ipaddress
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from polykind.files import write_private

_YEARS = timedelta(days=3650)
_SERVING = timedelta(days=365)
_RENEW = timedelta(days=30)


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _make_ca(folder: Path, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_name("polykind-ca"))
        .issuer_name(_name("polykind-ca"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _YEARS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_private(folder / "ca.key", _private_pem(key))
    write_private(folder / "ca.crt", certificate.public_bytes(serialization.Encoding.PEM))


def _make_serving(folder: Path, names: list[str], now: datetime) -> None:
    ca_key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), None)
    ca = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
    if not isinstance(ca_key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{folder / 'ca.key'} is not a key that this program made: remove the folder to begin anew")
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_name("polykind"))
        .issuer_name(ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + _SERVING)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general_name(n) for n in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    write_private(folder / "apiserver.key", _private_pem(key))
    write_private(folder / "apiserver.crt", certificate.public_bytes(serialization.Encoding.PEM))


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pair(folder: Path, name: str, now: datetime) -> x509.Certificate | None:
    """A certificate that lasts, with its key beside it; None where that is not so: a start may have been cut short."""
    try:
        certificate = x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())
        key = serialization.load_pem_private_key((folder / f"{name}.key").read_bytes(), None)
    except (OSError, ValueError):
        return None
    fits = certificate.public_key() == key.public_key() and certificate.not_valid_after_utc > now + _RENEW
    return certificate if fits else None


def _good(certificate: x509.Certificate, ca: x509.Certificate, names: list[str]) -> bool:
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
    if ca is None or serving is None or not _good(serving, ca, names):
        if ca is None:
            _make_ca(folder, now)
        _make_serving(folder, names, now)
        ca, serving = _pair(folder, "ca", now), _pair(folder, "apiserver", now)
    if ca is None or serving is None:
        raise ValueError(f"the certificates in {folder} have changed while they were made: start again")
    return min(ca.not_valid_after_utc, serving.not_valid_after_utc) - _RENEW
