"""Certificate authorities, and the serving and client certificates they sign."""

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
from polykind.pki.serving_certificates import CA_NAME

_CA_LIFETIME = timedelta(days=3650)
_SERVING_LIFETIME = timedelta(days=365)
_RENEW_BEFORE = timedelta(days=30)


class KeyPair(NamedTuple):
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
        """True if the certificate expires after `moment`."""
        return self.certificate.not_valid_after_utc > moment


def read_pair(certificate: bytes, key: bytes) -> KeyPair | None:
    """Parse a PEM certificate and its key. Return None if either is invalid or they do not belong together."""
    try:
        parsed = x509.load_pem_x509_certificate(certificate)
        private = serialization.load_pem_private_key(key, None)
    except ValueError:
        return None
    return KeyPair(parsed, private) if parsed.public_key() == private.public_key() else None


def make_authority(common_name: str, now: datetime, lifetime: timedelta = _CA_LIFETIME) -> KeyPair:
    """Create a self-signed certificate authority."""
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
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(certificate, key)


def make_serving(
    authority: KeyPair, names: Sequence[str], now: datetime, lifetime: timedelta = _SERVING_LIFETIME
) -> KeyPair:
    """Sign a serving certificate for host names and IP addresses. Raise ValueError if the CA's key is not EC."""
    alternative_names = x509.SubjectAlternativeName([_general_name(n) for n in names])
    return _sign(authority, _name("polykind"), now, lifetime, ExtendedKeyUsageOID.SERVER_AUTH, alternative_names)


def make_client(authority: KeyPair, user: str, groups: Sequence[str], now: datetime, lifetime: timedelta) -> KeyPair:
    """Sign a client certificate for a user and its groups. Raise ValueError if the CA's key is not EC."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    return _sign(authority, subject, now, lifetime, ExtendedKeyUsageOID.CLIENT_AUTH)


def _sign(
    authority: KeyPair,
    subject: x509.Name,
    now: datetime,
    lifetime: timedelta,
    usage: x509.ObjectIdentifier,
    *extensions: x509.ExtensionType,
) -> KeyPair:
    if not isinstance(authority.key, ec.EllipticCurvePrivateKey):
        raise ValueError("this key was not created by polykind: remove the directory to create a new CA")
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return KeyPair(builder.sign(authority.key, hashes.SHA256()), key)


def serves(certificate: x509.Certificate, ca: x509.Certificate, names: Sequence[str]) -> bool:
    """True if this CA signed the serving certificate and the certificate covers the names."""
    try:
        covered = set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
        certificate.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return all(_general_name(n) in covered for n in names)


def issue(directory: Path, names: list[str], now: datetime, *, durable: bool = True) -> datetime:
    """Create the CA and the serving certificate in `directory` if they are missing, invalid or about to expire.

    `names` are the host names and IP addresses of the server. If `durable` is true, wait until new files are
    on disk. Return the time of the next renewal.
    """
    ca, serving = _read(directory, "ca", now), _read(directory, "apiserver", now)
    if ca is None or serving is None or not serves(serving.certificate, ca.certificate, names):
        if ca is None:
            _write(directory, "ca", make_authority(CA_NAME, now), durable=durable)
            ca = _read(directory, "ca", now)
        if ca is not None:
            try:
                _write(directory, "apiserver", make_serving(ca, names, now), durable=durable)
            except ValueError as error:
                raise ValueError(f"{directory / 'ca.key'}: {error}") from None
        serving = _read(directory, "apiserver", now)
    if ca is None or serving is None:
        raise ValueError(f"another process changed the certificates in {directory}: start again")
    return min(ca.certificate.not_valid_after_utc, serving.certificate.not_valid_after_utc) - _RENEW_BEFORE


def is_foreign(directory: Path) -> bool:
    """True if the directory has a serving certificate of another CA than the CA that `issue` creates."""
    try:
        serving = read_pair((directory / "apiserver.crt").read_bytes(), (directory / "apiserver.key").read_bytes())
    except OSError:
        return False
    return serving is not None and serving.certificate.issuer != _name(CA_NAME)


def _write(directory: Path, name: str, pair: KeyPair, *, durable: bool) -> None:
    write_private(directory / f"{name}.key", pair.key_pem, durable=durable)
    write_private(directory / f"{name}.crt", pair.certificate_pem, durable=durable)


def _read(directory: Path, name: str, now: datetime) -> KeyPair | None:
    """Read a certificate and its key. Return None if they are missing, invalid or about to expire."""
    try:
        pair = read_pair((directory / f"{name}.crt").read_bytes(), (directory / f"{name}.key").read_bytes())
    except OSError:
        return None
    return pair if pair is not None and pair.outlasts(now + _RENEW_BEFORE) else None


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
