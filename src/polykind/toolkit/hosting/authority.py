"""An authority and a serving certificate, kept as files by name: made, renewed and replaced as time goes on. Pure.

The files are `authority.pem` and `serving.pem` (key and certificate in one, so that neither is ever without the other),
while an authority is replaced `next-authority.pem` and `former-authority.crt`, and `ca.crt`, the bundle for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from polykind.pki.authority import KeyPair, make_authority, make_serving, read_pair, serves
from polykind.toolkit.hosting import bundle

AUTHORITY_LIFE = timedelta(days=5 * 365)
ROTATE = timedelta(days=365)
"""How long before its end an authority gets a successor."""
SERVING_LIFE = timedelta(days=90)
RENEW = timedelta(days=30)
"""How long before its end a serving certificate is renewed."""
DROP = timedelta(days=2)
"""How long after a new authority was made its predecessor stays in the bundle: other replicas may still serve it."""

FILES = ("former-authority.crt", "authority.pem", "next-authority.pem", "serving.pem", "ca.crt")
"""In the order in which they are written, so that whoever is cut short can go on from what there is."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is served, what is to be trusted, and the files of it."""

    files: Mapping[str, bytes]
    serving: KeyPair
    ca_bundle: bytes
    retired: bytes
    """An authority that was in the bundle and need not be trusted any more."""


def kept(
    files: Mapping[str, bytes],
    names: Sequence[str],
    now: datetime,
    *,
    settled: Callable[[KeyPair], bool],
    rotate: bool = False,
) -> Kept:
    """The files as they should be by now, made from those there are.

    `settled` says whether a new authority is known to all who call, and may be served; `rotate` makes one at any time.
    """
    authority, following = _pair(files, "authority.pem"), _pair(files, "next-authority.pem")
    former = files.get("former-authority.crt", b"")
    if authority is not None and following is not None and following.certificate == authority.certificate:
        following = None  # whoever replaced it was cut short before this was removed
    if authority is None or not authority.outlasts(now + RENEW):
        # The first start, or one after so long that nobody trusts what was here much longer.
        authority, following = following or make_authority(bundle.OURS, now, AUTHORITY_LIFE), None
    elif following is None and (rotate or not authority.outlasts(now + ROTATE)):
        following = make_authority(bundle.OURS, now, AUTHORITY_LIFE)
    if following is not None and settled(following):
        former, authority, following = authority.certificate_pem, following, None
    serving = _pair(files, "serving.pem")
    if serving is None or not serving.outlasts(now + RENEW) or not _of(authority, serving, names):
        life = min(SERVING_LIFE, authority.certificate.not_valid_after_utc - now)
        serving = make_serving(authority, names, now, life)
    dropped = now > authority.certificate.not_valid_before_utc + DROP
    trusted = authority.certificate_pem + (following.certificate_pem if following else b"")
    if not dropped:
        trusted += former
    after = {
        "former-authority.crt": former,
        "authority.pem": _pem(authority),
        "next-authority.pem": _pem(following) if following else b"",
        "serving.pem": _pem(serving),
        "ca.crt": trusted,
    }
    return Kept({name: data for name, data in after.items() if data}, serving, trusted, former if dropped else b"")


def _of(authority: KeyPair, serving: KeyPair, names: Sequence[str]) -> bool:
    return serves(serving.certificate, authority.certificate, names)


def _pair(files: Mapping[str, bytes], name: str) -> KeyPair | None:
    data = files.get(name)
    return read_pair(data, data) if data else None


def _pem(pair: KeyPair) -> bytes:
    return pair.key_pem + pair.certificate_pem
