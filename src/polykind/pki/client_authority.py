"""The client CA of the data directory, and the client certificates that it signs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from polykind.pki.authority import KeyPair, make_authority, make_client, read_pair
from polykind.pki.private_files import write_private
from polykind.pki.user_registry import IssuedCertificate, UserRegistry

_CA_NAME = "polykind-client-ca"


def issue_user(directory: Path, name: str, groups: Sequence[str], now: datetime, lifetime: timedelta) -> KeyPair:
    """Issue a client certificate for a user and add it to the registry.

    The first call creates the CA. Raise ValueError if the CA's key or the registry is unusable.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    registry = UserRegistry(directory)
    with registry.locked():
        certificates = registry.read()
        pair = make_client(_client_authority(directory, now, lifetime), name, groups, now, lifetime)
        issued = IssuedCertificate(
            name,
            tuple(groups),
            f"{pair.certificate.serial_number:040x}",
            pair.certificate.fingerprint(hashes.SHA256()).hex(),
            now.isoformat(timespec="seconds"),
            pair.certificate.not_valid_after_utc.isoformat(timespec="seconds"),
        )
        registry.write([*certificates, issued])
    return pair


def _client_authority(directory: Path, now: datetime, lifetime: timedelta) -> KeyPair:
    """Return the client CA. Create a CA if there is none that outlasts a certificate with this lifetime.

    The certificates of earlier CAs stay in the file until they expire, so that the users keep access.
    """
    certificate, key = directory / "client-ca.crt", directory / "client-ca.key"
    trusted = certificate.read_bytes() if certificate.exists() else b""
    if trusted:
        if not key.exists():
            raise ValueError(f"{key} is missing: run this command where the client CA was created")
        pair = read_pair(trusted, key.read_bytes())
        if pair is None:
            raise ValueError(f"{certificate} and {key} are damaged or do not belong together: restore them")
        if pair.outlasts(now + lifetime):
            return pair
    # Names of CAs differ, so that each certificate has exactly one possible issuer.
    pair = make_authority(f"{_CA_NAME}-{now:%Y%m%d%H%M%S}", now, max(timedelta(days=3650), 2 * lifetime))
    earlier = [ca for ca in x509.load_pem_x509_certificates(trusted) if ca.not_valid_after_utc > now] if trusted else []
    write_private(key, pair.key_pem)
    write_private(
        certificate, b"".join([pair.certificate_pem, *(KeyPair(ca, pair.key).certificate_pem for ca in earlier)])
    )
    return pair
