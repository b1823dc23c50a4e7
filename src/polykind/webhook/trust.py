"""TLS trust of webhook calls: CA bundles and the client certificate."""

from __future__ import annotations

import base64
import binascii
import re
import ssl
from dataclasses import dataclass
from pathlib import Path

_block = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s+(.*?)-----END \1-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The PEM files of the certificate and key that this server presents to webhooks."""

    certificate: Path
    key: Path | None = None


class CABundleError(ValueError):
    """A caBundle without a usable certificate."""


def decode_ca_bundle(encoded: str | None) -> bytes:
    """Return the PEM bytes of a caBundle, b"" if it is absent or blank. Raise CABundleError if it is not base64."""
    if not encoded:
        return b""
    try:
        return base64.b64decode(encoded, validate=True).strip()
    except (binascii.Error, ValueError):
        raise CABundleError("unable to load root certificates: unable to parse bytes as PEM block") from None


def build_ssl_context(pem: bytes, client: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return TLS client settings that verify against the bundle, or against the system's roots without a bundle.

    As in kube-apiserver, any certificate of a bundle is a trust anchor, self-signed or not, one valid certificate makes
    a bundle valid, and the common name is not checked against the host name.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if pem:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        _load_ca_bundle(context, pem)
    else:
        context.load_default_certs()
    if client:
        context.load_cert_chain(client.certificate, client.key)
    return context


def _load_ca_bundle(context: ssl.SSLContext, pem: bytes) -> None:
    blocks = _block.findall(pem)
    if not blocks:
        raise CABundleError("unable to load root certificates: unable to parse bytes as PEM block")
    loaded = False
    for _, body in (b for b in blocks if b[0] == b"CERTIFICATE"):
        try:
            context.load_verify_locations(cadata=base64.b64decode(body))
        except (ssl.SSLError, binascii.Error, ValueError):
            if not loaded and len(blocks) == 1:
                error = "failed to parse certificate: x509: malformed certificate"
                raise CABundleError(f"unable to load root certificates: {error}") from None
        else:
            loaded = True
    if not loaded:
        raise CABundleError("unable to load root certificates: no valid certificate authority data seen")
