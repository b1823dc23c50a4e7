"""Certificates with their private keys, for TLS."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from polykind.pki.private_files import write_private


def load_key_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a certificate and its key, both in PEM, into a TLS context. OpenSSL reads them from files only.

    Raise ssl.SSLError or ValueError if they cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="polykind-") as folder:
        path = Path(folder) / "pair.pem"
        write_private(path, key + b"\n" + certificate, durable=False)
        context.load_cert_chain(path, password=_no_password)


def _no_password() -> str:
    """Refuse an encrypted key, for which OpenSSL would ask on the terminal."""
    raise ValueError("the key is encrypted")
