"""The certificates that a host serves with: its own, made and renewed by itself, or those that somebody else keeps.

Whoever keeps them, a new authority is served only after its certificate is known to those who call. A host says so by
`published`, having put `ca_bundle` into the definitions; until then the old certificate is served.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from polykind.clock import SystemClock
from polykind.contract import Clock
from polykind.pki.private_files import write_private
from polykind.toolkit.hosting import bundle

if TYPE_CHECKING:
    from polykind.pki.authority import KeyPair
    from polykind.toolkit.hosting.authority import Kept
    from polykind.toolkit.hosting.shelves import Files, Shelf

SETTLE = timedelta(days=1)
"""How long a new authority is in the bundle before it is served, where nobody says that it was published."""

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

    @property
    def makeshift(self) -> bool:
        """Whether they only serve until those that are kept elsewhere can be reached; nobody should trust them."""

    async def refresh(self) -> bool:
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
    """An authority and a serving certificate that the host makes and renews itself: on a shelf, or in memory."""

    def __init__(self, names: Sequence[str], *, shelf: Shelf | None = None, clock: Clock | None = None) -> None:
        """`names` are the host names and IP addresses that the host is called by."""
        if not names:
            raise ValueError("a certificate needs at least one name")
        from polykind.toolkit.hosting.shelves import MemoryShelf

        self.names = list(dict.fromkeys(names))
        self.waits = self.makeshift = False
        self._shelf = shelf or MemoryShelf()
        self._clock = clock or SystemClock()
        self._trusted = b""
        self._rotate = False
        self._kept: Kept | None = None
        self._context: ssl.SSLContext | None = None

    @property
    def context(self) -> ssl.SSLContext:
        assert self._context is not None, "refresh comes first"
        return self._context

    @property
    def ca_bundle(self) -> bytes:
        return self._kept.ca_bundle if self._kept else b""

    @property
    def retired(self) -> bytes:
        return self._kept.retired if self._kept else b""

    @property
    def expires(self) -> datetime:
        assert self._kept is not None, "refresh comes first"
        return self._kept.serving.certificate.not_valid_after_utc

    def published(self, pem: bytes) -> None:
        self._trusted = pem

    def rotate(self) -> None:
        """Have the next refresh begin to replace the authority, whatever time it has left."""
        self._rotate = True

    async def refresh(self) -> bool:
        from polykind.toolkit.hosting.shelves import MemoryShelf

        out: list[Kept] = []

        def change(files: Files) -> Files:
            out.append(self._changed(files))
            return out[-1].files

        try:
            await self._shelf.update(change)
            self.makeshift = False
        except OSError as error:
            if self._kept is not None:
                raise
            log.warning("certificates that nobody knows are served meanwhile: %s", error)
            await MemoryShelf().update(change)
            self.makeshift = True
        self._rotate = False
        return await asyncio.to_thread(self._take, out[-1])

    def _changed(self, files: Files) -> Kept:
        from polykind.toolkit.hosting.authority import kept

        return kept(files, self.names, self._clock.now(), settled=self._settled, rotate=self._rotate)

    def _take(self, kept: Kept) -> bool:
        before, self._kept = self._kept, kept
        if before is not None and before.serving.certificate == kept.serving.certificate:
            return before.ca_bundle != kept.ca_bundle
        self._context = server_context(kept.serving.certificate_pem, kept.serving.key_pem)
        log.info("serving with a certificate that is good until %s", f"{self.expires:%Y-%m-%d}")
        return True

    def _settled(self, following: KeyPair) -> bool:
        if bundle.contains(self._trusted, following.certificate_pem):
            return True
        return not self.waits and self._clock.now() > following.certificate.not_valid_before_utc + SETTLE


class KeptCertificates:
    """A certificate, its key and, if that is there, its authority in files that somebody else keeps: cert-manager, say.

    They are read again whenever they change, and never written.
    """

    def __init__(self, certificate: Path, key: Path, ca: Path | None = None) -> None:
        self.paths = (certificate, key, ca)
        self.waits = self.makeshift = False
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

    async def refresh(self) -> bool:
        return await asyncio.to_thread(self._refresh)

    def _refresh(self) -> bool:
        changed = False
        seen = self._files()
        if seen != self._seen:
            changed = self._look(*seen)
            self._seen = seen
        if self._pending is None:
            return changed
        if self._context is None or not self.waits or bundle.contains(self._trusted, self._due):
            self._context, self._pending, self._served = self._pending, None, self._due
            log.info("serving with a certificate that is good until %s", f"{self.expires:%Y-%m-%d}")
            changed = True
        return changed

    def _files(self) -> tuple[bytes, bytes, bytes]:
        certificate, key, ca = self.paths
        return certificate.read_bytes(), key.read_bytes(), ca.read_bytes() if ca and ca.exists() else b""

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


def in_folder(names: Sequence[str], folder: Path, clock: Clock | None = None) -> Certificates:
    """The certificates in a folder: somebody else's if it has `tls.crt`, else our own."""
    if (folder / "tls.crt").exists():
        return KeptCertificates(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")
    from polykind.toolkit.hosting.shelves import FolderShelf

    return OwnCertificates(names, shelf=FolderShelf(folder), clock=clock)
