"""The TLS context of the server's socket, and the renewal of its generated certificate."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.contract import Clock
from polykind.http.client_handshake import accept_client_certificates
from polykind.http.protocol_choice import HTTP1_PROTOCOLS, HTTP2_PROTOCOLS
from polykind.pki import serving_certificates
from polykind.server.network_identity import serving_names
from polykind.server.settings import Settings, SettingsError
from polykind.server.tls_options import apply_tls_options

if TYPE_CHECKING:
    from polykind.server.sni_certificates import SniCertificates

log = logging.getLogger("polykind")

_CHECK_SECONDS = 3600.0


class ServingTls:
    """The serving certificate, from --tls-cert-file or generated, and the context that presents it to clients.

    A generated certificate is renewed a month before it expires, and when the host has a new name or address. Open
    connections keep the certificate with which they started.
    """

    def __init__(self, settings: Settings, clock: Clock, *, interval: float = _CHECK_SECONDS) -> None:
        """Raise SettingsError if the certificate cannot be loaded."""
        self._settings = settings
        self._clock = clock
        self._interval = interval
        self._task: asyncio.Task[None] | None = None
        self.is_generated = not (settings.tls_cert_file and settings.tls_private_key_file)
        self.certificate, self.key, self._ca = self._ensure()
        self._requests_certificates = False
        try:
            self.context = self._new_context(self.certificate, self.key)
        except OSError as error:
            problem = f"cannot load the certificate {self.certificate} and its key {self.key}: {error}"
            raise SettingsError(problem) from None
        self._sni = self._sni_certificates()

    def _new_context(self, certificate: Path, key: Path) -> ssl.SSLContext:
        """Return a context that presents a certificate. Raise OSError if it cannot be loaded."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        apply_tls_options(context, self._settings.tls_min_version, self._settings.tls_cipher_suites)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(HTTP1_PROTOCOLS if self._settings.disable_http2_serving else HTTP2_PROTOCOLS)
        if self._requests_certificates:
            accept_client_certificates(context)
        return context

    def _sni_certificates(self) -> SniCertificates | None:
        """Load the certificates of --tls-sni-cert-key. Raise SettingsError if one of them cannot be loaded."""
        if not self._settings.tls_sni_cert_key:
            return None
        from polykind.server.sni_certificates import SniCertificates, parse_sni_flag

        try:
            flags = [parse_sni_flag(value) for value in self._settings.tls_sni_cert_key]
            sni = SniCertificates(flags, self.certificate, self._settings.bind_address, self._new_context)
        except (OSError, ValueError) as error:
            raise SettingsError(f"--tls-sni-cert-key: failed to load SNI cert and key: {error}") from None
        self.context.sni_callback = sni.on_handshake
        return sni

    @property
    def files(self) -> list[Path]:
        """The files that `reload` reads."""
        return [self.certificate, self.key, *(self._sni.files if self._sni is not None else ())]

    def request_client_certificates(self) -> None:
        """Request certificates from new clients from now on."""
        if not self._requests_certificates:
            self._requests_certificates = True
            for context in (self.context, *(self._sni.contexts if self._sni is not None else ())):
                accept_client_certificates(context)

    def authority(self) -> bytes:
        """Return the certificate that clients must trust, in PEM."""
        return self._ca.read_bytes()

    def reload(self) -> None:
        """Read the certificates and their keys again. Raise OSError and keep the previous ones if that fails."""
        # If the key does not belong to the certificate, a context is left with neither. Check the files elsewhere.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
        self.context.load_cert_chain(self.certificate, self.key)
        if self._sni is not None:
            self._sni.reload()

    def start(self, renewed: Callable[[], None]) -> None:
        """Renew a generated certificate when it is due, and call `renewed` afterwards."""
        if self.is_generated:
            self._task = asyncio.create_task(self._renew_forever(renewed))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def renew(self) -> bool:
        """Renew the generated certificate if it is due. Return True if there is a new one."""
        before = self.certificate.read_bytes()
        # Creating keys takes longer than a request may hold the event loop.
        self.certificate, self.key, self._ca = await asyncio.to_thread(self._ensure)
        if self.certificate.read_bytes() == before:
            return False
        self.reload()
        return True

    async def _renew_forever(self, renewed: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(self._interval)
            try:
                if await self.renew():
                    log.info("server: renewed the serving certificate %s", self.certificate)
                    renewed()
            except (OSError, ValueError) as error:
                retry = f"retrying in {self._interval:.0f} s"
                log.error("server: cannot renew the serving certificate %s, %s: %s", self.certificate, retry, error)

    def _ensure(self) -> tuple[Path, Path, Path]:
        return ensure_certificates(self._settings, self._clock)


def ensure_certificates(settings: Settings, clock: Clock) -> tuple[Path, Path, Path]:
    """Return the paths of the certificate, of its key and of the certificate that clients must trust.

    Create the files if the settings name none and if they are missing.
    """
    if settings.tls_cert_file and settings.tls_private_key_file:
        return settings.tls_cert_file, settings.tls_private_key_file, settings.tls_cert_file
    names = serving_names(settings.bind_address, settings.advertise_address, settings.tls_san)
    return serving_certificates.ensure(_directory(settings), names, clock.now(), durable=not settings.ephemeral)


def lacks_certificates(settings: Settings) -> bool:
    """True if the settings name no certificate and none has been created yet."""
    named = settings.tls_cert_file and settings.tls_private_key_file
    return not named and not (_directory(settings) / "apiserver.crt").exists()


def _directory(settings: Settings) -> Path:
    """Return the directory of generated certificates."""
    return settings.cert_dir or settings.data_dir / "pki"
