"""The server's certificates, created on the first start and renewed when needed."""

from __future__ import annotations

import hashlib
import json
import ssl
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from polykind.pki.private_files import write_private

CA_NAME = "polykind-ca"
"""The common name of the CA that signs generated certificates."""
_FILES = ("ca.crt", "ca.key", "apiserver.crt", "apiserver.key")


def ensure(directory: Path, names: list[str], now: datetime, *, durable: bool = True) -> tuple[Path, Path, Path]:
    """Create the CA and the serving certificate in `directory` if they are missing, invalid or about to expire.

    Return the paths of the certificate, of its key and of the CA. A serving certificate that another program has put
    into the directory is used unchanged and never overwritten. If `durable` is true, wait until new files are on disk.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not _is_verified(directory, names, now):
        if _is_clearly_foreign(directory):
            return _serve_foreign(directory)
        # Import the module only here: the cryptography library takes longer to import than the rest of the start.
        from polykind.pki.authority import is_foreign, issue

        if is_foreign(directory):
            return _serve_foreign(directory)
        renew_at = issue(directory, names, now, durable=durable)
        verified = {"digest": _digest(directory), "names": names, "until": renew_at.isoformat()}
        # If the directory is read-only, known.json cannot be written, and each start verifies the certificates again.
        with suppress(OSError):
            write_private(directory / "known.json", json.dumps(verified).encode() + b"\n", durable=durable)
    return directory / "apiserver.crt", directory / "apiserver.key", directory / "ca.crt"


def _is_clearly_foreign(directory: Path) -> bool:
    """True if the directory has a valid serving certificate that never mentions the name of Polykind's own CA.

    This needs no cryptography library. False means that the certificate needs a closer look.
    """
    certificate, key = directory / "apiserver.crt", directory / "apiserver.key"
    try:
        # OpenSSL checks that the two belong together. The password is that of encrypted keys, which are not supported.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
        first = certificate.read_text("ascii").partition(ssl.PEM_FOOTER)[0] + ssl.PEM_FOOTER
        return CA_NAME.encode() not in ssl.PEM_cert_to_DER_cert(first[first.index(ssl.PEM_HEADER) :])
    except (OSError, ValueError):
        return False


def _serve_foreign(directory: Path) -> tuple[Path, Path, Path]:
    """Return the paths of the certificate, key and CA that the user has put into the directory.

    If there is no ca.crt, return the certificate as the CA, so that clients trust the certificate itself.
    """
    certificate, authority = directory / "apiserver.crt", directory / "ca.crt"
    return certificate, directory / "apiserver.key", authority if authority.exists() else certificate


def _is_verified(directory: Path, names: list[str], now: datetime) -> bool:
    """True if known.json says that an earlier start verified these files for `names`, and no renewal is due."""
    try:
        verified = json.loads((directory / "known.json").read_bytes())
        covered, renew_at = set(verified["names"]), datetime.fromisoformat(verified["until"])
        return covered.issuperset(names) and now < renew_at and verified["digest"] == _digest(directory)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _digest(directory: Path) -> str:
    digest = hashlib.sha256()
    for name in _FILES:
        data = (directory / name).read_bytes()
        digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()
