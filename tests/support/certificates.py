"""Certificates of every kind, valid and invalid, for tests of client authentication."""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime.now(UTC).replace(microsecond=0)
CLIENT, SERVER, ANY = (
    ExtendedKeyUsageOID.CLIENT_AUTH,
    ExtendedKeyUsageOID.SERVER_AUTH,
    ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
)
_UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")
UNKNOWN_EXTENSION = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


class Issued(NamedTuple):
    """A certificate with its key."""

    certificate: x509.Certificate
    key: Any

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def name(common_name: str | None, *organizations: str, uids: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, value) for value in organizations]
    if common_name is not None:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name, _validate=False))
    attributes += [x509.NameAttribute(_UID, uid) for uid in uids]
    return x509.Name(attributes)


def issue(
    subject: x509.Name | str,
    issuer: Issued | None = None,
    *extensions: tuple[x509.ExtensionType, bool],
    ca: bool | None = None,
    path_length: int | None = None,
    usages: Sequence[x509.ObjectIdentifier] = (),
    days: tuple[float, float] = (-1, 1),
    key: Any = None,
    digest: hashes.SHA256 | hashes.SHA512 = hashes.SHA256(),  # noqa: B008
) -> Issued:
    """Sign a certificate, by its own key if there is no issuer. `days` is its validity, relative to NOW."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about an empty name
        subject = name(subject) if isinstance(subject, str) else subject
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + timedelta(days=days[0]))
        .not_valid_after(NOW + timedelta(days=days[1]))
    )
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca, path_length), critical=True)
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return Issued(builder.sign(issuer.key if issuer else key, digest), key)


def key_usage(*, cert_sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=cert_sign, crl_sign=False, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip


def client_context(folder: Path, *chain: Issued, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """Return a client context that presents these certificates, and accepts any server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = version
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    if chain:
        path = folder / "client.pem"
        key = chain[0].key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(b"".join(issued.pem for issued in chain) + key)
        context.load_cert_chain(path)
    return context
