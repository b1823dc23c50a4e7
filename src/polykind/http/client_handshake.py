"""TLS handshakes that accept every client certificate. `auth` verifies the certificate afterwards.

Like kube-apiserver, the server requests a certificate from each client, and a request whose certificate is not valid
may still be authenticated by its token. Python's ssl module ends the handshake if it cannot verify a certificate, so
each handshake trusts exactly the certificate that its client presents. The handshake proves that the client has the
certificate's private key, and nothing else.
"""

from __future__ import annotations

import base64
import os
import ssl
from functools import lru_cache

from polykind.bounded_cache import remember

_HANDSHAKE, _CERTIFICATE = 22, 11
"""The TLS content type and message type of a Certificate message (RFC 8446, sections 5.1 and 4)."""
_TRUST_AS_CLIENT = bytes.fromhex("300c300a06082b06010505070302")
"""The auxiliary data of an OpenSSL `TRUSTED CERTIFICATE` that any use as a client certificate is trusted."""
_LENIENT = ssl.VERIFY_X509_PARTIAL_CHAIN | 0x200000 | 0x10
"""A trusted certificate needs no issuer, X509_V_FLAG_NO_CHECK_TIME and X509_V_FLAG_IGNORE_CRITICAL."""


class ClientHandshake(ssl.SSLObject):
    """The TLS state of a connection, with the certificates that the client has presented."""

    client_chain: tuple[bytes, ...] = ()
    """The client's certificate and the intermediate certificates after it, in DER. Empty without a certificate."""


def accept_client_certificates(context: ssl.SSLContext) -> None:
    """Make a server context request client certificates and accept all of them."""
    if not hasattr(ssl.SSLContext, "_msg_callback"):
        raise RuntimeError("client certificates need CPython's ssl module: SSLContext._msg_callback is missing")
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= _LENIENT
    context.sslobject_class = ClientHandshake
    # A resumed session has no Certificate message, and its ticket lacks the intermediate certificates.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    # ssl has no callback for verification. This one receives each message before OpenSSL handles it.
    context._msg_callback = _on_message  # type: ignore[attr-defined]


def client_chain(tls: ssl.SSLObject) -> tuple[bytes, ...]:
    """Return the client's certificates after the handshake and release what only the handshake needed."""
    if not isinstance(tls, ClientHandshake):
        return ()
    leaf = tls.getpeercert(binary_form=True)
    tls.context = _empty_context()
    if leaf is None:
        return ()
    return tls.client_chain if tls.client_chain[:1] == (leaf,) else (leaf,)


def _on_message(
    tls: ClientHandshake, direction: str, version: int, content_type: int, message_type: int, data: bytes
) -> None:
    """Trust the certificate of a Certificate message, for this handshake only."""
    if content_type == _HANDSHAKE and message_type == _CERTIFICATE and direction == "read":
        tls.client_chain = parse_certificates(data, is_tls13=version == ssl.TLSVersion.TLSv1_3)
        # The new context has no callback, so that later messages, such as each record of data, cost nothing.
        tls.context = _trusting(tls.client_chain[0]) if tls.client_chain else _empty_context()


def parse_certificates(message: bytes, *, is_tls13: bool) -> tuple[bytes, ...]:
    """Return the certificates of a Certificate message in DER (RFC 8446, section 4.4.2; RFC 5246, section 7.4.2)."""
    position = 4
    if is_tls13:
        position += 1 + message[position]
    certificates = []
    position += 3
    while position < len(message):
        end = position + 3 + int.from_bytes(message[position : position + 3], "big")
        certificates.append(bytes(message[position + 3 : end]))
        position = end
        if is_tls13:
            position += 2 + int.from_bytes(message[position : position + 2], "big")
    return tuple(certificates)


@lru_cache(maxsize=1)
def _empty_context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


@remember(4 * 1024 * 1024, max_key_bytes=16 * 1024, cost=lambda _: 128 * 1024)
def _trusting(certificate: bytes) -> ssl.SSLContext:
    """Return a context that trusts one certificate as a client certificate, whatever its key and its extensions."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT@SECLEVEL=0")  # accepts short keys; the cipher of the connection is already chosen
    text = base64.encodebytes(certificate + _TRUST_AS_CLIENT)
    descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        # OpenSSL reads a TRUSTED CERTIFICATE only from a file.
        os.write(descriptor, b"-----BEGIN TRUSTED CERTIFICATE-----\n%b-----END TRUSTED CERTIFICATE-----\n" % text)
        context.load_verify_locations(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return context
