"""Creation, renewal and rotation of a host's CA and serving certificate, as a pure function over files.

The files are `authority.pem` and `serving.pem` (each with key and certificate, so that neither is ever incomplete),
`next-authority.pem` and `former-authority.crt` during a CA rotation, and `ca.crt`, the bundle for callers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from polykind.pki.authority import KeyPair, make_authority, make_serving, read_pair, serves
from polykind.toolkit.hosting import trust_bundle

CA_LIFETIME = timedelta(days=5 * 365)
CA_ROTATE_BEFORE = timedelta(days=365)
"""Time before a CA's expiry at which its successor is created."""
SERVING_LIFETIME = timedelta(days=90)
RENEW_BEFORE = timedelta(days=30)
"""Time before the serving certificate's expiry at which it is renewed."""
KEEP_PREVIOUS_CA = timedelta(days=2)
"""Time that the previous CA stays in the bundle after a rotation, because other replicas may still serve with it."""

FILES = ("former-authority.crt", "authority.pem", "next-authority.pem", "serving.pem", "ca.crt")
"""File names in writing order, chosen so that an interrupted write leaves a usable state."""


@dataclass(frozen=True, slots=True)
class CertificateSet:
    """A serving certificate, the CA bundle that callers must trust, and the files that hold them."""

    files: Mapping[str, bytes]
    serving: KeyPair
    ca_bundle: bytes
    retired: bytes
    """The previous CA, once callers need not trust it any more. Empty before that."""


def renew_certificates(
    files: Mapping[str, bytes],
    names: Sequence[str],
    now: datetime,
    *,
    is_trusted: Callable[[KeyPair], bool],
    rotate: bool = False,
) -> CertificateSet:
    """Return the files as they should be at `now`, based on the existing files.

    `is_trusted` tells whether all callers trust a new CA, so that its certificates may be served. `rotate` starts a CA
    rotation at once.
    """
    ca, next_ca = _read_pair(files, "authority.pem"), _read_pair(files, "next-authority.pem")
    previous_ca = files.get("former-authority.crt", b"")
    if ca is not None and next_ca is not None and next_ca.certificate == ca.certificate:
        next_ca = None  # The rotation was interrupted before this file was removed.
    if ca is None or not ca.outlasts(now + RENEW_BEFORE):
        # This is the first start, or the CA expires so soon that an orderly rotation is impossible.
        ca, next_ca = next_ca or make_authority(trust_bundle.HOST_CA_NAME, now, CA_LIFETIME), None
    elif next_ca is None and (rotate or not ca.outlasts(now + CA_ROTATE_BEFORE)):
        next_ca = make_authority(trust_bundle.HOST_CA_NAME, now, CA_LIFETIME)
    if next_ca is not None and is_trusted(next_ca):
        previous_ca, ca, next_ca = ca.certificate_pem, next_ca, None
    serving = _read_pair(files, "serving.pem")
    if serving is None or not serving.outlasts(now + RENEW_BEFORE) or not _is_valid_serving(ca, serving, names):
        life = min(SERVING_LIFETIME, ca.certificate.not_valid_after_utc - now)
        serving = make_serving(ca, names, now, life)
    previous_expired = now > ca.certificate.not_valid_before_utc + KEEP_PREVIOUS_CA
    ca_bundle = ca.certificate_pem + (next_ca.certificate_pem if next_ca else b"")
    if not previous_expired:
        ca_bundle += previous_ca
    new_files = {
        "former-authority.crt": previous_ca,
        "authority.pem": _pem(ca),
        "next-authority.pem": _pem(next_ca) if next_ca else b"",
        "serving.pem": _pem(serving),
        "ca.crt": ca_bundle,
    }
    return CertificateSet(
        {name: data for name, data in new_files.items() if data},
        serving,
        ca_bundle,
        previous_ca if previous_expired else b"",
    )


def _is_valid_serving(ca: KeyPair, serving: KeyPair, names: Sequence[str]) -> bool:
    return serves(serving.certificate, ca.certificate, names)


def _read_pair(files: Mapping[str, bytes], name: str) -> KeyPair | None:
    data = files.get(name)
    return read_pair(data, data) if data else None


def _pem(pair: KeyPair) -> bytes:
    return pair.key_pem + pair.certificate_pem
