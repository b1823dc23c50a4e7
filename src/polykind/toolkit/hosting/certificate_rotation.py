"""An authority and a serving certificate, kept as files by name: made, renewed and replaced as time goes on. Pure.

The files are `authority.pem` and `serving.pem` (key and certificate in one, so that neither is ever without the other),
while an authority is replaced `next-authority.pem` and `former-authority.crt`, and `ca.crt`, the bundle for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from polykind.pki.authority import KeyPair, make_authority, make_serving, read_pair, serves
from polykind.toolkit.hosting import trust_bundle

CA_LIFETIME = timedelta(days=5 * 365)
CA_ROTATE_BEFORE = timedelta(days=365)
"""How long before its end an authority gets a successor."""
SERVING_LIFETIME = timedelta(days=90)
RENEW_BEFORE = timedelta(days=30)
"""How long before its end a serving certificate is renewed."""
KEEP_PREVIOUS_CA = timedelta(days=2)
"""How long after a new authority was made its predecessor stays in the bundle: other replicas may still serve it."""

FILES = ("former-authority.crt", "authority.pem", "next-authority.pem", "serving.pem", "ca.crt")
"""In the order in which they are written, so that whoever is cut short can go on from what there is."""


@dataclass(frozen=True, slots=True)
class CertificateSet:
    """What is served, what is to be trusted, and the files of it."""

    files: Mapping[str, bytes]
    serving: KeyPair
    ca_bundle: bytes
    retired: bytes
    """An authority that was in the bundle and need not be trusted any more."""


def renew_certificates(
    files: Mapping[str, bytes],
    names: Sequence[str],
    now: datetime,
    *,
    is_trusted: Callable[[KeyPair], bool],
    rotate: bool = False,
) -> CertificateSet:
    """The files as they should be by now, made from those there are.

    `settled` says whether a new authority is known to all who call, and may be served; `rotate` makes one at any time.
    """
    ca, next_ca = _read_pair(files, "authority.pem"), _read_pair(files, "next-authority.pem")
    previous_ca = files.get("former-authority.crt", b"")
    if ca is not None and next_ca is not None and next_ca.certificate == ca.certificate:
        next_ca = None  # whoever replaced it was cut short before this was removed
    if ca is None or not ca.outlasts(now + RENEW_BEFORE):
        # The first start, or one after so long that nobody trusts what was here much longer.
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
