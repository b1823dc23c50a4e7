"""The certificates that a host serves with: its own, made and renewed by itself, or those that somebody else keeps.

Whoever keeps them, a new authority is served only after its certificate is known to those who call. A host says so by
`published`, having put `ca_bundle` into the definitions; until then the old certificate is served.
"""

from __future__ import annotations

import fcntl
import logging
import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from polykind.clock import SystemClock
from polykind.contract import Clock
from polykind.convert import bundle
from polykind.files import write_private

if TYPE_CHECKING:
    from polykind.issuing import Pair

AUTHORITY_LIFE = timedelta(days=5 * 365)
ROTATE = timedelta(days=365)
"""How long before its end an authority gets a successor."""
SERVING_LIFE = timedelta(days=90)
RENEW = timedelta(days=30)
"""How long before its end a serving certificate is renewed."""
SETTLE = timedelta(days=1)
"""How long a new authority is in the bundle before it is served, where nobody says that it was published."""
DROP = timedelta(days=2)
"""How long after a new authority was made its predecessor stays in the bundle: other replicas may still serve it."""

log = logging.getLogger(__name__)


class Certificates(Protocol):
    """What a host asks of its certificates."""

    waits: bool
    """Whether a new authority is served only once it was published; set by a host that publishes."""

    @property
    def context(self) -> ssl.SSLContext:
        """What new connections are served with."""

    @property
    def ca_bundle(self) -> bytes:
        """The authorities to be trusted, in PEM; empty if that is nobody's business here."""

    @property
    def retired(self) -> bytes:
        """Authorities that were in the bundle once and need not be trusted any more."""

    @property
    def expires(self) -> datetime:
        """The end of the certificate that is served."""

    def refresh(self) -> bool:
        """Do what is due by now; whether the bundle or what is served has changed. Raises OSError or ValueError."""

    def published(self, pem: bytes) -> None:
        """These authorities are now trusted by all who call."""


def server_context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """A server's TLS settings with a certificate and its key, in PEM. Raises ssl.SSLError if they do not fit."""
    out = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    out.minimum_version = ssl.TLSVersion.TLSv1_2
    out.set_alpn_protocols(["http/1.1"])
    # Python reads them from files only.
    with tempfile.TemporaryDirectory(prefix="polykind-") as folder:
        path = Path(folder) / "pair.pem"
        write_private(path, key + b"\n" + certificate)
        out.load_cert_chain(path)
    return out


class OwnCertificates:
    """An authority and a serving certificate that the host makes itself, in a folder or, without one, in memory.

    The folder has `authority.pem` and `serving.pem` (key and certificate in one file, so that neither is ever without
    the other), while an authority is replaced `next-authority.pem` and `former-authority.crt`, and `ca.crt`, the bundle
    for others to read.
    """

    def __init__(self, names: Sequence[str], *, folder: Path | None = None, clock: Clock | None = None) -> None:
        """`names` are the host names and IP addresses that the host is called by."""
        if not names:
            raise ValueError("a certificate needs at least one name")
        self.names = list(dict.fromkeys(names))
        self.folder = folder
        self.waits = False
        self._clock = clock or SystemClock()
        self._files: dict[str, bytes] = {}
        self._trusted = b""
        self._serving: Pair | None = None
        self._context: ssl.SSLContext | None = None
        self._ca_bundle = self._retired = b""

    @property
    def context(self) -> ssl.SSLContext:
        assert self._context is not None, "refresh comes first"
        return self._context

    @property
    def ca_bundle(self) -> bytes:
        return self._ca_bundle

    @property
    def retired(self) -> bytes:
        return self._retired

    @property
    def expires(self) -> datetime:
        assert self._serving is not None, "refresh comes first"
        return self._serving.certificate.not_valid_after_utc

    def published(self, pem: bytes) -> None:
        self._trusted = pem

    def rotate(self) -> None:
        """Begin to replace the authority now, whatever time it has left."""
        from polykind.issuing import make_authority

        with self._locked():
            if self._read("next-authority.pem") is None:
                self._write("next-authority.pem", make_authority(bundle.OURS, self._clock.now(), AUTHORITY_LIFE))

    def refresh(self) -> bool:
        with self._locked():
            return self._refresh(self._clock.now())

    def _refresh(self, now: datetime) -> bool:
        from polykind.issuing import make_authority, make_serving, serves

        authority, following = self._read("authority.pem"), self._read("next-authority.pem")
        if authority is None or not authority.outlasts(now + RENEW):
            # The first start, or one after so long that there is nobody left who could trust what was here.
            authority = following or make_authority(bundle.OURS, now, AUTHORITY_LIFE)
            following = None
            self._write("authority.pem", authority)
            self._remove("next-authority.pem")
        elif following is None and not authority.outlasts(now + ROTATE):
            following = make_authority(bundle.OURS, now, AUTHORITY_LIFE)
            self._write("next-authority.pem", following)
            log.info("the authority expires on %s: a new one joins the bundle", f"{_end(authority):%Y-%m-%d}")
        if following is not None and self._settled(following, now):
            self._save("former-authority.crt", authority.certificate_pem)
            self._write("authority.pem", following)
            self._remove("next-authority.pem")
            authority, following = following, None
            log.info("the new authority is trusted: it is served from now on")
        serving = self._read("serving.pem")
        fits = serving is not None and serves(serving.certificate, authority.certificate, self.names)
        if serving is None or not fits or not serving.outlasts(now + RENEW):
            end = min(SERVING_LIFE, _end(authority) - now)
            serving = make_serving(authority, self.names, now, end)
            self._write("serving.pem", serving)
        return self._take(serving, authority, following, now)

    def _take(self, serving: Pair, authority: Pair, following: Pair | None, now: datetime) -> bool:
        former = self._load("former-authority.crt") or b""
        dropped = now > authority.certificate.not_valid_before_utc + DROP
        trusted = authority.certificate_pem + (following.certificate_pem if following else b"")
        if former and not dropped:
            trusted += former
        anew = self._serving is None or serving.certificate != self._serving.certificate
        changed = anew or trusted != self._ca_bundle
        if trusted != self._load("ca.crt"):
            self._save("ca.crt", trusted)
        if anew:
            self._context = server_context(serving.certificate_pem, serving.key_pem)
            self._serving = serving
        self._ca_bundle, self._retired = trusted, former if dropped else b""
        return changed

    def _settled(self, following: Pair, now: datetime) -> bool:
        if bundle.contains(self._trusted, following.certificate_pem):
            return True
        return not self.waits and now > following.certificate.not_valid_before_utc + SETTLE

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Replicas may share the folder: one at a time looks and writes."""
        if self.folder is None:
            yield
            return
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _read(self, name: str) -> Pair | None:
        from polykind.issuing import read_pair

        data = self._load(name)
        return read_pair(data, data) if data is not None else None

    def _write(self, name: str, pair: Pair) -> None:
        self._save(name, pair.key_pem + pair.certificate_pem)

    def _load(self, name: str) -> bytes | None:
        if self.folder is None:
            return self._files.get(name)
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def _save(self, name: str, data: bytes) -> None:
        if self.folder is None:
            self._files[name] = data
        else:
            write_private(self.folder / name, data)

    def _remove(self, name: str) -> None:
        self._files.pop(name, None)
        if self.folder is not None:
            (self.folder / name).unlink(missing_ok=True)


class KeptCertificates:
    """A certificate, its key and perhaps its authority in files that somebody else keeps, such as cert-manager.

    They are read again whenever they change, and never written.
    """

    def __init__(self, certificate: Path, key: Path, ca: Path | None = None) -> None:
        self.paths = (certificate, key, ca)
        self.waits = False
        self._seen: tuple[bytes, bytes, bytes] | None = None
        self._served = self._due = b""
        self._pending: tuple[ssl.SSLContext, datetime] | None = None
        self._context: tuple[ssl.SSLContext, datetime] | None = None
        self._trusted = b""

    @property
    def context(self) -> ssl.SSLContext:
        assert self._context is not None, "refresh comes first"
        return self._context[0]

    @property
    def expires(self) -> datetime:
        assert self._context is not None, "refresh comes first"
        return self._context[1]

    @property
    def ca_bundle(self) -> bytes:
        return bundle.encoded(bundle.certificates(self._due + self._served))

    @property
    def retired(self) -> bytes:
        return b""

    def published(self, pem: bytes) -> None:
        self._trusted = pem

    def refresh(self) -> bool:
        changed = False
        seen = self._files()
        if seen != self._seen:
            changed = self._look(*seen)
            self._seen = seen
        if self._pending is None:
            return changed
        if self._context is None or not self.waits or bundle.contains(self._trusted, self._due):
            self._context, self._pending, self._served = self._pending, None, self._due
            changed = True
        return changed

    def _files(self) -> tuple[bytes, bytes, bytes]:
        certificate, key, ca = self.paths
        return certificate.read_bytes(), key.read_bytes(), ca.read_bytes() if ca else b""

    def _look(self, certificate: bytes, key: bytes, ca: bytes) -> bool:
        """Take up what the files have; when they do not fit, what is served goes on, if there is anything."""
        try:
            leaf = bundle.certificates(certificate)
            if not leaf:
                raise ValueError("there is no certificate in it")
            self._pending, self._due = (server_context(certificate, key), leaf[0].not_valid_after_utc), ca
        except (ValueError, ssl.SSLError) as error:
            said = f"{self.paths[0]} and {self.paths[1]} cannot be served: {error}"
            if self._context is None:
                raise ValueError(said) from None
            log.warning("%s; the certificate of before is served, until they have changed again", said)
            return False
        return True


def found(
    names: Sequence[str], *, folder: Path | None = None, certificate: Path | None = None, key: Path | None = None,
    clock: Clock | None = None,
) -> Certificates:  # fmt: skip
    """The certificates that flags name: two files, a folder that somebody else keeps, or one of our own.

    Raises ValueError.
    """
    if (certificate is None) != (key is None):
        raise ValueError("--tls-cert-file and --tls-private-key-file go together: one of them is missing")
    if certificate is not None and key is not None:
        ca = folder / "ca.crt" if folder is not None and (folder / "ca.crt").exists() else None
        return KeptCertificates(certificate, key, ca)
    if folder is not None and (folder / "tls.crt").exists():
        ca = folder / "ca.crt"
        return KeptCertificates(folder / "tls.crt", folder / "tls.key", ca if ca.exists() else None)
    return OwnCertificates(names, folder=folder, clock=clock)


def _end(pair: Pair) -> datetime:
    return pair.certificate.not_valid_after_utc
