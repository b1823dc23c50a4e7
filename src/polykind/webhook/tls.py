"""TLS to webhooks: whom the server trusts, with what it signs in, and what a failed handshake tells."""

from __future__ import annotations

import base64
import binascii
import ssl
from typing import Any, NamedTuple

from polykind.golang.pem import pem_blocks
from polykind.pki.key_pairs import load_key_pair


class CABundleError(ValueError):
    """A caBundle contains no valid certificate."""


class KeyPair(NamedTuple):
    """A client certificate with its chain, and its private key, in PEM."""

    certificate: bytes
    key: bytes


class HandshakeError(ssl.SSLError):
    """A TLS handshake failed for another reason than the certificate of the webhook."""

    def __init__(self, error: ssl.SSLError, unread: bytes) -> None:
        super().__init__(*error.args)
        self.name = error.reason or ""
        """OpenSSL's name of the error."""
        self.unread = unread
        """The bytes from the webhook that follow the first five, if it does not speak TLS."""


class CertificateRejectedError(ssl.SSLCertVerificationError):
    """The certificate of a webhook failed verification."""

    def __init__(self, error: ssl.SSLCertVerificationError, certificate: bytes | None) -> None:
        super().__init__(*error.args)
        self.number = error.verify_code
        """OpenSSL's number of the error."""
        self.certificate = certificate
        """The rejected certificate in DER. None if it is unknown."""


class _Connection(ssl.SSLObject):
    """The TLS of one connection. It says more about a failed handshake than Python does."""

    context: WebhookTLS
    incoming: ssl.MemoryBIO

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLSyscallError):
            raise
        except ssl.SSLCertVerificationError as error:
            self.context.handshakes -= 1
            raise CertificateRejectedError(error, self._received_certificate()) from error
        except ssl.SSLError as error:
            self.context.handshakes -= 1
            raise HandshakeError(error, self.incoming.read(16)) from error
        self.context.handshakes -= 1

    def _received_certificate(self) -> bytes | None:
        """Return the certificate that the webhook has sent, although it could not be verified."""
        # Python 3.13 makes this a public method, which returns bytes.
        chain = self._sslobj.get_unverified_chain()  # type: ignore[attr-defined]
        if not chain:
            return None
        leaf = chain[0]
        return leaf if isinstance(leaf, bytes) else next(pem_blocks(leaf.public_bytes().encode())).data


class WebhookTLS(ssl.SSLContext):
    """The TLS settings for one webhook."""

    sslobject_class = _Connection
    handshakes = 0
    """The number of handshakes that have begun and not ended."""

    def wrap_bio(self, incoming: ssl.MemoryBIO, *args: Any, **more: Any) -> ssl.SSLObject:
        connection = super().wrap_bio(incoming, *args, **more)
        assert isinstance(connection, _Connection)
        connection.incoming = incoming
        self.handshakes += 1
        return connection


def decode_ca_bundle(encoded: str | None) -> bytes:
    """Decode a caBundle from base64 to PEM. Return b"" if it is missing or blank.

    Raise CABundleError if it is not base64.
    """
    if not encoded:
        return b""
    try:
        return base64.b64decode(encoded, validate=True).strip()
    except (binascii.Error, ValueError):
        raise CABundleError("unable to load root certificates: unable to parse bytes as PEM block") from None


def build_ssl_context(pem: bytes, client: KeyPair | None = None) -> WebhookTLS:
    """Return a TLS context that trusts the CAs in `pem`, or the CAs of the operating system if `pem` is empty.

    As in kube-apiserver, every certificate of the bundle is trusted, even if it is not self-signed, and a bundle is
    valid if one of its certificates is valid. The common name of a server's certificate is never compared with the host
    name. `client` is the certificate with which this server signs in. Raise ValueError if it cannot be used.
    """
    context = WebhookTLS(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if pem:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        _load_ca_bundle(context, pem)
    else:
        context.load_default_certs()
    if client is not None:
        try:
            load_key_pair(context, client.certificate, client.key)
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(f"tls: the client certificate or its key cannot be used: {error}") from None
    return context


def _load_ca_bundle(context: ssl.SSLContext, pem: bytes) -> None:
    blocks = list(pem_blocks(pem))
    if not blocks:
        raise CABundleError("unable to load root certificates: unable to parse bytes as PEM block")
    loaded = False
    for block in blocks:
        if block.type != "CERTIFICATE" or block.headers:
            continue
        try:
            context.load_verify_locations(cadata=block.data)
        except (ssl.SSLError, ValueError):
            if not loaded and len(blocks) == 1:
                error = "failed to parse certificate: x509: malformed certificate"
                raise CABundleError(f"unable to load root certificates: {error}") from None
        else:
            loaded = True
    if not loaded:
        raise CABundleError("unable to load root certificates: no valid certificate authority data seen")
