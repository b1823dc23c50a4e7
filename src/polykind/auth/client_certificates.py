"""The users of client certificates. Verification results are cached, because a client sends many requests."""

from __future__ import annotations

import hashlib
import logging
import ssl
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.auth.user import User, authenticated_groups

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

log = logging.getLogger("polykind.auth")

_MAX_CACHED = 1000
_REJECTED_FOR = timedelta(seconds=10)
"""The time after which a rejected certificate is verified again. It may have become valid."""
_UID = "1.3.6.1.4.1.57683.2"
"""The attribute of the subject that kube-apiserver reads as the user's uid."""


class RejectedCertificateError(Exception):
    """A client certificate that does not count. Without other valid credentials, the request is unauthorized."""


class ClientCertificates:
    """Verifies client certificates against the CA bundle of --client-ca-file."""

    def __init__(self, bundle: Path, now: Callable[[], datetime]) -> None:
        """Raise OSError or ValueError if the bundle cannot be read."""
        self._bundle = bundle
        self._now = now
        self.reload()

    def reload(self) -> None:
        """Read the CA bundle again. Raise OSError or ValueError and keep the previous one if that fails."""
        pem = self._bundle.read_bytes()
        # Only check the bundle for now. Parsing it needs a large library, which the first certificate imports.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=pem.decode("ascii", "replace"))
        self._pem = pem
        self._authorities: list[Certificate] = []
        self._cache: dict[tuple[bytes, ...], tuple[datetime, datetime, User | RejectedCertificateError | None]] = {}

    def user(self, chain: tuple[bytes, ...]) -> User | None:
        """Return the user of a certificate, which its intermediates follow. Return None if it names no user.

        Raise RejectedCertificateError if the certificate is not valid.
        """
        now = self._now()
        cached = self._cache.get(chain)
        if cached is None or not cached[0] <= now <= cached[1]:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            cached = self._cache[chain] = self._verify(chain, now)
        if isinstance(cached[2], RejectedCertificateError):
            raise cached[2]
        return cached[2]

    def _verify(
        self, chain: tuple[bytes, ...], now: datetime
    ) -> tuple[datetime, datetime, User | RejectedCertificateError | None]:
        from polykind.pki.certificate_chain import CertificateError, load_authorities, verify_client

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about names of an unusual length
                self._authorities = self._authorities or load_authorities(self._pem)
                verified = verify_client(chain, self._authorities, now)
                return verified.valid_from, verified.valid_until, _user(verified.certificate, chain[0])
        except (CertificateError, ValueError) as error:
            digest = hashlib.sha256(chain[0]).hexdigest()
            log.info("authentication: ignoring the client certificate with SHA-256 %s: %s", digest, error)
            return now, now + _REJECTED_FOR, RejectedCertificateError(str(error))


def _user(certificate: Certificate, der: bytes) -> User | None:
    """Return the user of a verified certificate. The common name is the user name; each organization is a group.

    Raise ValueError if the subject is invalid.
    """
    values: dict[str, list[str | bytes]] = {}
    for attribute in certificate.subject:
        values.setdefault(attribute.oid.dotted_string, []).append(attribute.value)
    names = [value for value in values.get("2.5.4.3", ()) if isinstance(value, str)]
    groups = [value for value in values.get("2.5.4.10", ()) if isinstance(value, str)]
    uids = values.get(_UID, [""])
    if not names or not names[-1]:
        return None
    if len(uids) > 1 or not isinstance(uids[0], str) or (_UID in values and not uids[0]):
        raise ValueError("the subject must have at most one uid, which is a text that is not empty")
    credential = (f"X509SHA256={hashlib.sha256(der).hexdigest()}",)
    extra = {"authentication.kubernetes.io/credential-id": credential}
    return User(names[-1], uids[0], authenticated_groups(names[-1], groups), extra)
