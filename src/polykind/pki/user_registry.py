"""The registry of the client certificates that `polykind user add` has issued.

A certificate of the data directory's client CA counts only while the registry lists it and does not mark it as revoked.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from polykind.pki.private_files import write_private

_VERSION = 1


class RegistryError(ValueError):
    """The registry file is invalid. The message names the file and the remedy."""


class IssuedCertificate(NamedTuple):
    """One client certificate. `serial` and `sha256`, the digest of its DER, are in hexadecimal, times in RFC 3339."""

    name: str
    groups: tuple[str, ...]
    serial: str
    sha256: str
    issued: str
    expires: str
    revoked: str = ""
    """The time of the revocation. Empty if the certificate is not revoked."""

    def state(self, now: datetime) -> str:
        """Return `revoked`, `expired` or `active`."""
        if self.revoked:
            return "revoked"
        return "expired" if datetime.fromisoformat(self.expires) < now else "active"


class UserRegistry:
    """The issued certificates in `users.json`, beside the client CA in the directory `pki` of the data directory."""

    def __init__(self, directory: Path) -> None:
        self.authority = directory / "client-ca.crt"
        self.file = directory / "users.json"
        self._lock = directory / "users.lock"

    def read(self) -> tuple[IssuedCertificate, ...]:
        """Return all issued certificates. A missing file is an empty registry. Raise RegistryError if it is invalid."""
        try:
            content = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return ()
        except ValueError as error:
            raise RegistryError(f"{self.file} is damaged: {error}; restore it from a backup") from None
        try:
            if content["version"] != _VERSION:
                raise RegistryError(f"{self.file} has version {content['version']}: upgrade polykind")
            return tuple(_parse(entry) for entry in content["users"])
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, RegistryError):
                raise
            raise RegistryError(f"{self.file} is damaged: {error!r}; restore it from a backup") from None

    def accepted_digests(self) -> frozenset[str]:
        """Return the digests of the certificates that are not revoked. Raise RegistryError as `read` does.

        A stolen CA key can sign certificates with the serial number of a valid one, but not with its digest.
        """
        return frozenset(issued.sha256 for issued in self.read() if not issued.revoked)

    def write(self, certificates: Sequence[IssuedCertificate]) -> None:
        """Replace the registry. The caller holds `locked`."""
        content = {"version": _VERSION, "users": [issued._asdict() for issued in certificates]}
        write_private(self.file, json.dumps(content, indent=2).encode() + b"\n")

    def revoke(self, name_or_serial: str, now: str) -> list[IssuedCertificate]:
        """Revoke the certificates of a user, or the one with a serial number. Return those that were not revoked yet.

        Raise KeyError if the registry has no such certificate.
        """
        with self.locked():
            certificates = self.read()
            serial = name_or_serial.lower()
            selected = [issued for issued in certificates if name_or_serial == issued.name or serial == issued.serial]
            if not selected:
                raise KeyError(name_or_serial)
            revoked = {issued.serial: issued._replace(revoked=now) for issued in selected if not issued.revoked}
            self.write([revoked.get(issued.serial, issued) for issued in certificates])
            return list(revoked.values())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other process changes the registry, and keep it so."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _parse(entry: dict[str, object]) -> IssuedCertificate:
    """Return one certificate of the file. Raise KeyError, TypeError or ValueError if it is invalid."""
    groups = entry["groups"]
    if not isinstance(groups, list):
        raise TypeError("groups must be a list")
    names = ("name", "serial", "sha256", "issued", "expires", "revoked")
    values = {name: entry[name] for name in names}
    for value in (*values.values(), *groups):
        if not isinstance(value, str):
            raise TypeError(f"{value!r} must be a text")
    issued = IssuedCertificate(groups=tuple(groups), **{name: str(value) for name, value in values.items()})
    datetime.fromisoformat(issued.expires)
    return issued
