"""Whom a converter's certificate must be signed by, and what certificate we show."""

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
    """The certificate and key, as PEM files, by which converters may know us."""

    certificate: Path
    key: Path | None = None


class BadBundle(ValueError):
    """A caBundle with no certificate in it that can be used."""


def bundle(encoded: str | None) -> bytes:
    """The PEM bytes of a CRD's caBundle; nothing if it is absent or blank. Raises BadBundle if it is no base64."""
    if not encoded:
        return b""
    try:
        return base64.b64decode(encoded, validate=True).strip()
    except (binascii.Error, ValueError):
        raise BadBundle("unable to load root certificates: unable to parse bytes as PEM block") from None


def context(pem: bytes, client: ClientCertificate | None = None) -> ssl.SSLContext:
    """A client's TLS settings that always verify: against the bundle, or without one against the system's roots.

    As in the reference, any certificate of a bundle is an anchor, self-signed or not, one good certificate makes a
    bundle good, and a common name is no host name.
    """
    out = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    out.minimum_version = ssl.TLSVersion.TLSv1_2
    out.hostname_checks_common_name = False
    out.set_alpn_protocols(["http/1.1"])
    if pem:
        out.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        _load(out, pem)
    else:
        out.load_default_certs()
    if client:
        out.load_cert_chain(client.certificate, client.key)
    return out


def _load(out: ssl.SSLContext, pem: bytes) -> None:
    blocks = _block.findall(pem)
    if not blocks:
        raise BadBundle("unable to load root certificates: unable to parse bytes as PEM block")
    loaded = False
    for _, body in (b for b in blocks if b[0] == b"CERTIFICATE"):
        try:
            out.load_verify_locations(cadata=base64.b64decode(body))
        except (ssl.SSLError, binascii.Error, ValueError):
            if not loaded and len(blocks) == 1:
                fault = "failed to parse certificate: x509: malformed certificate"
                raise BadBundle(f"unable to load root certificates: {fault}") from None
        else:
            loaded = True
    if not loaded:
        raise BadBundle("unable to load root certificates: no valid certificate authority data seen")
