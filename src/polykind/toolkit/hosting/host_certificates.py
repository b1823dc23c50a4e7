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
from polykind.toolkit.hosting import trust_bundle

if TYPE_CHECKING:
    from polykind.pki.authority import KeyPair
    from polykind.toolkit.hosting.certificate_rotation import CertificateSet
    from polykind.toolkit.hosting.certificate_store import CertificateStore, Files

PROPAGATION_DELAY = timedelta(days=1)
"""How long a new authority is in the bundle before it is served, where nobody says that it was published."""

log = logging.getLogger(__name__)


class Certificates(Protocol):
    """What a host asks of its certificates."""

    wait_for_publication: bool
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
    def temporary(self) -> bool:
        """Whether they only serve until those that are kept elsewhere can be reached; nobody should trust them."""

    async def refresh(self) -> bool:
        """Do what is due by now; whether the bundle or what is served has changed. Raises OSError or ValueError."""

    def mark_published(self, pem: bytes) -> None:
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


class ManagedCertificates:
    """An authority and a serving certificate that the host makes and renews itself: on a shelf, or in memory."""

    def __init__(
        self, names: Sequence[str], *, store: CertificateStore | None = None, clock: Clock | None = None
    ) -> None:
        """`names` are the host names and IP addresses that the host is called by."""
        if not names:
            raise ValueError("a certificate needs at least one name")
        from polykind.toolkit.hosting.certificate_store import MemoryStore

        self.names = list(dict.fromkeys(names))
        self.wait_for_publication = self.temporary = False
        self._store = store or MemoryStore()
        self._clock = clock or SystemClock()
        self._trusted = b""
        self._rotate = False
        self._current: CertificateSet | None = None
        self._context: ssl.SSLContext | None = None

    @property
    def context(self) -> ssl.SSLContext:
        assert self._context is not None, "refresh comes first"
        return self._context

    @property
    def ca_bundle(self) -> bytes:
        return self._current.ca_bundle if self._current else b""

    @property
    def retired(self) -> bytes:
        return self._current.retired if self._current else b""

    @property
    def expires(self) -> datetime:
        assert self._current is not None, "refresh comes first"
        return self._current.serving.certificate.not_valid_after_utc

    def mark_published(self, pem: bytes) -> None:
        self._trusted = pem

    def rotate(self) -> None:
        """Have the next refresh begin to replace the authority, whatever time it has left."""
        self._rotate = True

    async def refresh(self) -> bool:
        from polykind.toolkit.hosting.certificate_store import MemoryStore

        out: list[CertificateSet] = []

        def change(files: Files) -> Files:
            out.append(self._changed(files))
            return out[-1].files

        try:
            await self._store.update(change)
            self.temporary = False
        except OSError as error:
            if self._current is not None:
                raise
            log.warning("certificates that nobody knows are served meanwhile: %s", error)
            await MemoryStore().update(change)
            self.temporary = True
        self._rotate = False
        return await asyncio.to_thread(self._activate, out[-1])

    def _changed(self, files: Files) -> CertificateSet:
        from polykind.toolkit.hosting.certificate_rotation import renew_certificates

        return renew_certificates(
            files, self.names, self._clock.now(), is_trusted=self._is_trusted, rotate=self._rotate
        )

    def _activate(self, certificates: CertificateSet) -> bool:
        before, self._current = self._current, certificates
        if before is not None and before.serving.certificate == certificates.serving.certificate:
            return before.ca_bundle != certificates.ca_bundle
        self._context = server_context(certificates.serving.certificate_pem, certificates.serving.key_pem)
        log.info("serving with a certificate that is good until %s", f"{self.expires:%Y-%m-%d}")
        return True

    def _is_trusted(self, next_ca: KeyPair) -> bool:
        if trust_bundle.contains(self._trusted, next_ca.certificate_pem):
            return True
        return (
            not self.wait_for_publication
            and self._clock.now() > next_ca.certificate.not_valid_before_utc + PROPAGATION_DELAY
        )


class ExternalCertificates:
    """A certificate, its key and, if that is there, its authority in files that somebody else keeps: cert-manager, say.

    They are read again whenever they change, and never written.
    """

    def __init__(self, certificate: Path, key: Path, ca: Path | None = None) -> None:
        self.paths = (certificate, key, ca)
        self.wait_for_publication = self.temporary = False
        self._last_files: tuple[bytes, bytes, bytes] | None = None
        self._served_ca = self._next_ca = b""
        self._next: tuple[ssl.SSLContext, datetime] | None = None
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
        return trust_bundle.encode_certificates(trust_bundle.parse_certificates(self._next_ca + self._served_ca))

    @property
    def retired(self) -> bytes:
        return b""

    def mark_published(self, pem: bytes) -> None:
        self._trusted = pem

    async def refresh(self) -> bool:
        return await asyncio.to_thread(self._refresh)

    def _refresh(self) -> bool:
        changed = False
        current_files = self._read_files()
        if current_files != self._last_files:
            changed = self._load(*current_files)
            self._last_files = current_files
        if self._next is None:
            return changed
        if (
            self._context is None
            or not self.wait_for_publication
            or trust_bundle.contains(self._trusted, self._next_ca)
        ):
            self._context, self._next, self._served_ca = self._next, None, self._next_ca
            log.info("serving with a certificate that is good until %s", f"{self.expires:%Y-%m-%d}")
            changed = True
        return changed

    def _read_files(self) -> tuple[bytes, bytes, bytes]:
        certificate, key, ca = self.paths
        return certificate.read_bytes(), key.read_bytes(), ca.read_bytes() if ca and ca.exists() else b""

    def _load(self, certificate: bytes, key: bytes, ca: bytes) -> bool:
        """Take up what the files have; when they do not fit, what is served goes on, if there is anything."""
        try:
            leaf = trust_bundle.parse_certificates(certificate)
            if not leaf:
                raise ValueError("there is no certificate in it")
            self._next, self._next_ca = (server_context(certificate, key), leaf[0].not_valid_after_utc), ca
        except (ValueError, ssl.SSLError) as error:
            message = f"{self.paths[0]} and {self.paths[1]} cannot be served: {error}"
            if self._context is None:
                raise ValueError(message) from None
            log.warning("%s; the certificate of before is served, until they have changed again", message)
            return False
        return True


def in_folder(names: Sequence[str], folder: Path, clock: Clock | None = None) -> Certificates:
    """The certificates in a folder: somebody else's if it has `tls.crt`, else our own."""
    if (folder / "tls.crt").exists():
        return ExternalCertificates(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")
    from polykind.toolkit.hosting.certificate_store import FolderStore

    return ManagedCertificates(names, store=FolderStore(folder), clock=clock)
