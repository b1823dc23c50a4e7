"""Certificates of a webhook host: created and renewed by the host itself, or managed by another program.

In both cases, the host serves a certificate of a new CA only after the API servers trust the CA. The host puts
`ca_bundle` into the CRDs and then calls `mark_published`. Until then, it serves the old certificate.
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
    from polykind.toolkit.hosting.certificate_store import CertificateSet, CertificateStore, Files

PROPAGATION_DELAY = timedelta(days=1)
"""Time between adding a new CA to the bundle and serving its certificates, if nothing calls `mark_published`."""

log = logging.getLogger(__name__)


class Certificates(Protocol):
    """The certificates of a host."""

    wait_for_publication: bool
    """True if a new CA is used only after `mark_published`. Set by a host that registers itself in CRDs."""

    @property
    def context(self) -> ssl.SSLContext:
        """The TLS context for new connections."""

    @property
    def ca_bundle(self) -> bytes:
        """The CAs that API servers must trust, in PEM. Empty if the host does not know them."""

    @property
    def retired(self) -> bytes:
        """CAs in PEM that were in an earlier bundle and that API servers no longer need to trust."""

    @property
    def expires(self) -> datetime:
        """The expiry of the serving certificate."""

    @property
    def temporary(self) -> bool:
        """True while the store is unreachable and the host serves temporary certificates.

        The CA of temporary certificates must not be put into CRDs.
        """

    async def refresh(self) -> bool:
        """Renew the certificates that expire soon. Return True if the bundle or the served certificate changed.

        Raise OSError if the store cannot be used, or ValueError if its files are invalid.
        """

    def mark_published(self, pem: bytes) -> None:
        """Record that all API servers now trust the CAs in `pem`, because the CRDs contain them."""


def server_context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    """Return a server's TLS context for a certificate and key in PEM. Raise ssl.SSLError if they do not match."""
    out = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    out.minimum_version = ssl.TLSVersion.TLSv1_2
    out.set_alpn_protocols(["http/1.1"])
    # Python's ssl module reads certificates only from files, so write a temporary file.
    with tempfile.TemporaryDirectory(prefix="polykind-") as folder:
        path = Path(folder) / "pair.pem"
        write_private(path, key + b"\n" + certificate)
        out.load_cert_chain(path)
    return out


class ManagedCertificates:
    """A CA and a serving certificate that the host itself creates and renews. They are kept in a store or in memory."""

    def __init__(
        self, names: Sequence[str], *, store: CertificateStore | None = None, clock: Clock | None = None
    ) -> None:
        """`names` are the host names and IP addresses by which API servers reach the host."""
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
        """Request a CA rotation. The next refresh starts the rotation."""
        self._rotate = True

    async def refresh(self) -> bool:
        from polykind.toolkit.hosting.certificate_store import MemoryStore, renew_certificates

        out: list[CertificateSet] = []

        def change(files: Files) -> Files:
            now = self._clock.now()
            out.append(renew_certificates(files, self.names, now, is_trusted=self._is_trusted, rotate=self._rotate))
            return out[-1].files

        try:
            await self._store.update(change)
            self.temporary = False
        except OSError as error:
            if self._current is not None:
                raise
            log.warning("host certificates: the store is unreachable, serving a temporary certificate: %s", error)
            await MemoryStore().update(change)
            self.temporary = True
        self._rotate = False
        return await asyncio.to_thread(self._activate, out[-1])

    def _activate(self, certificates: CertificateSet) -> bool:
        before, self._current = self._current, certificates
        if before is not None and before.serving.certificate == certificates.serving.certificate:
            return before.ca_bundle != certificates.ca_bundle
        self._context = server_context(certificates.serving.certificate_pem, certificates.serving.key_pem)
        log.info("host certificates: serving a certificate that expires on %s", f"{self.expires:%Y-%m-%d}")
        return True

    def _is_trusted(self, next_ca: KeyPair) -> bool:
        if trust_bundle.contains(self._trusted, next_ca.certificate_pem):
            return True
        return (
            not self.wait_for_publication
            and self._clock.now() > next_ca.certificate.not_valid_before_utc + PROPAGATION_DELAY
        )


class ExternalCertificates:
    """Certificate files that another program manages, such as cert-manager: certificate, key and optionally the CA.

    The host reads the files again when they change, and never writes them.
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
            log.info("host certificates: serving a certificate that expires on %s", f"{self.expires:%Y-%m-%d}")
            changed = True
        return changed

    def _read_files(self) -> tuple[bytes, bytes, bytes]:
        certificate, key, ca = self.paths
        return certificate.read_bytes(), key.read_bytes(), ca.read_bytes() if ca and ca.exists() else b""

    def _load(self, certificate: bytes, key: bytes, ca: bytes) -> bool:
        """Load the files. If the key does not match the certificate, keep the previous certificate and return False."""
        try:
            leaf = trust_bundle.parse_certificates(certificate)
            if not leaf:
                raise ValueError("the certificate file has no certificate")
            self._next, self._next_ca = (server_context(certificate, key), leaf[0].not_valid_after_utc), ca
        except (ValueError, ssl.SSLError) as error:
            message = f"{self.paths[0]} and {self.paths[1]} cannot be served: {error}"
            if self._context is None:
                raise ValueError(message) from None
            log.warning("host certificates: %s; serving the previous certificate until the files change", message)
            return False
        return True


def in_folder(names: Sequence[str], folder: Path, clock: Clock | None = None) -> Certificates:
    """Return ExternalCertificates if the folder contains `tls.crt`, else ManagedCertificates stored in the folder."""
    if (folder / "tls.crt").exists():
        return ExternalCertificates(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")
    from polykind.toolkit.hosting.certificate_store import FolderStore

    return ManagedCertificates(names, store=FolderStore(folder), clock=clock)
