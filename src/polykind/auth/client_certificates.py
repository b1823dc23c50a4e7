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
from polykind.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from polykind.pki.certificate_chain import VerifiedCertificate
    from polykind.pki.user_registry import UserRegistry

log = logging.getLogger("polykind.auth")

_CACHED_BYTES = 8 * 1024 * 1024
_MAX_KEY_BYTES = 64 * 1024
"""The longest chain whose verification is cached."""
_REJECTED_FOR = timedelta(seconds=10)
"""The time after which a rejected certificate is verified again. It may have become valid."""
_UID = "1.3.6.1.4.1.57683.2"
"""The attribute of the subject that kube-apiserver reads as the user's uid."""

_Verification = tuple[datetime, datetime, "User | str | None"]
"""The result of a verification: since when and until when it counts, and the user or the reason of the rejection."""


class RejectedCertificateError(Exception):
    """A client certificate that does not count. Without other valid credentials, the request is unauthorized."""


class ClientCertificates:
    """Verifies client certificates against the CA bundle of --client-ca-file and the client CA of the data directory.

    The client CA signs what `polykind user add` issues. Its certificates count only if the registry accepts
    them, even if the bundle contains the client CA too.
    """

    def __init__(self, bundle: Path | None, registry: UserRegistry, now: Callable[[], datetime]) -> None:
        """Raise OSError or ValueError if the bundle or the registry cannot be read."""
        self._bundle = bundle
        self._registry = registry
        self._now = now
        self.reload()

    def reload(self) -> None:
        """Read the CAs and the registry again. Raise OSError or ValueError and keep the previous ones if that fails."""
        pem = self._bundle.read_bytes() if self._bundle is not None else b""
        issuers, accepted = b"", frozenset[str]()
        if self._registry.authority.exists():
            issuers, accepted = self._registry.authority.read_bytes(), self._registry.accepted_digests()
        for bundle in filter(None, (pem, issuers)):
            # Only check the bundle for now. Parsing it needs a large library, which the first certificate imports.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=bundle.decode("ascii", "replace"))
        self._pem, self._issuers_pem, self._accepted = pem, issuers, accepted
        self._authorities: list[Certificate] = []
        self._issuers: list[Certificate] = []
        self._cache: BoundedCache[tuple[bytes, ...], _Verification] = BoundedCache(
            _CACHED_BYTES, max_key_bytes=_MAX_KEY_BYTES
        )

    @property
    def is_used(self) -> bool:
        """True if there is a CA, so that the server must request certificates from clients."""
        return bool(self._pem or self._issuers_pem)

    def user(self, chain: tuple[bytes, ...]) -> User | None:
        """Return the user of a certificate, which its intermediates follow. Return None if it names no user.

        Raise RejectedCertificateError if the certificate is not valid.
        """
        now = self._now()
        cached = self._cache[chain]
        if cached is None or not cached[0] <= now <= cached[1]:
            cached = self._cache[chain] = self._verify(chain, now)
        if isinstance(cached[2], str):
            raise RejectedCertificateError(cached[2])
        return cached[2]

    def _verify(self, chain: tuple[bytes, ...], now: datetime) -> _Verification:
        from polykind.pki.certificate_chain import CertificateError

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about names of an unusual length
                verified = self._verify_chain(chain, now)
                return verified.valid_from, verified.valid_until, _user(verified.certificate, chain[0])
        except (CertificateError, ValueError) as error:
            digest = hashlib.sha256(chain[0]).hexdigest()
            log.info("authentication: ignoring the client certificate with SHA-256 %s: %s", digest, error)
            return now, now + _REJECTED_FOR, str(error)

    def _verify_chain(self, chain: tuple[bytes, ...], now: datetime) -> VerifiedCertificate:
        """Verify a chain. Raise CertificateError if it is not valid, or the certificate is revoked."""
        from polykind.pki.certificate_chain import CertificateError, find_issuer, load_authorities, verify_client

        if self._pem and not self._authorities:
            self._authorities = load_authorities(self._pem)
        if self._issuers_pem and not self._issuers:
            self._issuers = load_authorities(self._issuers_pem)
        issuer = find_issuer(chain[0], self._issuers)
        if issuer is None:
            return verify_client(chain, self._authorities, now)
        verified = verify_client(chain[:1], [issuer], now)
        if hashlib.sha256(chain[0]).hexdigest() not in self._accepted:
            raise CertificateError("the certificate is revoked or not in the registry of issued certificates")
        return verified


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
