"""Renewal and rotation of a webhook host's CA and serving certificate, and the stores that keep them.

A store is memory, a folder, or a Secret that replicas share. It contains the files `authority.pem` (the CA) and
`serving.pem`, each with key and certificate in one file, so that they always match. During a CA rotation it also
contains `next-authority.pem` and `former-authority.crt`. `ca.crt` is the CA bundle that API servers must trust.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import fcntl
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from polykind.cluster.cluster_client import ClusterClient, ClusterError, StatusError
from polykind.contract import JsonObject
from polykind.pki.authority import KeyPair, make_authority, make_serving, read_pair, serves
from polykind.pki.private_files import write_private
from polykind.toolkit.hosting import trust_bundle

CA_LIFETIME = timedelta(days=5 * 365)
CA_ROTATE_BEFORE = timedelta(days=365)
"""Time before the expiry of a CA at which the next CA is created."""
SERVING_LIFETIME = timedelta(days=90)
RENEW_BEFORE = timedelta(days=30)
"""Time before the expiry of the serving certificate at which the certificate is renewed."""
KEEP_PREVIOUS_CA = timedelta(days=2)
"""Time that the previous CA stays in the bundle after a rotation, because other replicas may still use it."""

FILES = ("former-authority.crt", "authority.pem", "next-authority.pem", "serving.pem", "ca.crt")
"""File names in writing order. If a write is interrupted, the files written so far are still usable."""
Files = Mapping[str, bytes]
Change = Callable[[Files], Files]
_MAX_CONFLICTS = 5


@dataclass(frozen=True, slots=True)
class CertificateSet:
    """A serving certificate, the CA bundle that API servers must trust, and the files that contain both."""

    files: Mapping[str, bytes]
    serving: KeyPair
    ca_bundle: bytes
    retired: bytes
    """The previous CA in PEM if API servers no longer need to trust it, else empty."""


def renew_certificates(
    files: Mapping[str, bytes],
    names: Sequence[str],
    now: datetime,
    *,
    is_trusted: Callable[[KeyPair], bool],
    rotate: bool = False,
) -> CertificateSet:
    """Return the certificates at the time `now`: those in `files` if they are still good, else new ones.

    `names` are the names in the serving certificate. `is_trusted` returns True if all API servers trust a new CA, so
    that the host may serve its certificates. If `rotate` is true, a CA rotation starts even if the CA does not expire
    soon.
    """
    ca, next_ca = _renew_authorities(files, now, rotate=rotate)
    previous_ca = files.get("former-authority.crt", b"")
    if next_ca is not None and is_trusted(next_ca):
        previous_ca, ca, next_ca = ca.certificate_pem, next_ca, None
    serving = _renew_serving(files, names, now, ca)
    previous_expired = now > ca.certificate.not_valid_before_utc + KEEP_PREVIOUS_CA
    ca_bundle = ca.certificate_pem + (next_ca.certificate_pem if next_ca else b"")
    if not previous_expired:
        ca_bundle += previous_ca
    new_files = {
        "former-authority.crt": previous_ca,
        "authority.pem": _pem(ca),
        "next-authority.pem": _pem(next_ca) if next_ca else b"",
        "serving.pem": _pem(serving),
        "ca.crt": ca_bundle,
    }
    return CertificateSet(
        {name: data for name, data in new_files.items() if data},
        serving,
        ca_bundle,
        previous_ca if previous_expired else b"",
    )


def _renew_authorities(files: Mapping[str, bytes], now: datetime, *, rotate: bool) -> tuple[KeyPair, KeyPair | None]:
    """Return the current CA, and the CA of a rotation that has begun."""
    ca, next_ca = _read_pair(files, "authority.pem"), _read_pair(files, "next-authority.pem")
    if ca is not None and next_ca is not None and next_ca.certificate == ca.certificate:
        next_ca = None  # The rotation to this CA was interrupted after the CA had already become the current one.
    if ca is None or not ca.outlasts(now + RENEW_BEFORE):
        # This is the first start, or the CA expires too soon to wait until API servers trust a new CA.
        return next_ca or make_authority(trust_bundle.HOST_CA_NAME, now, CA_LIFETIME), None
    if next_ca is None and (rotate or not ca.outlasts(now + CA_ROTATE_BEFORE)):
        next_ca = make_authority(trust_bundle.HOST_CA_NAME, now, CA_LIFETIME)
    return ca, next_ca


def _renew_serving(files: Mapping[str, bytes], names: Sequence[str], now: datetime, ca: KeyPair) -> KeyPair:
    """Return the serving certificate in `files` if it is still good, else a new one."""
    serving = _read_pair(files, "serving.pem")
    if (
        serving is not None
        and serving.outlasts(now + RENEW_BEFORE)
        and serves(serving.certificate, ca.certificate, names)
    ):
        return serving
    return make_serving(ca, names, now, min(SERVING_LIFETIME, ca.certificate.not_valid_after_utc - now))


def _read_pair(files: Mapping[str, bytes], name: str) -> KeyPair | None:
    data = files.get(name)
    return read_pair(data, data) if data else None


def _pem(pair: KeyPair) -> bytes:
    return pair.key_pem + pair.certificate_pem


class CertificateStore(Protocol):
    """Stores the certificate files of a host. Only one writer at a time can change the files."""

    async def update(self, change: Change) -> None:
        """Replace the files by `change(files)`. Raise OSError if the store cannot be read or written."""


class MemoryStore:
    """Keeps the files in memory until the process ends."""

    def __init__(self) -> None:
        self._files: Files = {}

    async def update(self, change: Change) -> None:
        self._files = await asyncio.to_thread(change, self._files)


class FolderStore:
    """Keeps the files in a folder that only its owner can read. Processes that share the folder use a lock file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def update(self, change: Change) -> None:
        await asyncio.to_thread(self._update, change)

    def _update(self, change: Change) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = {name: data for name in FILES if (data := self._read(name))}
            after = change(before)
            for name in FILES:
                if name not in after:
                    (self._folder / name).unlink(missing_ok=True)
                elif after[name] != before.get(name):
                    write_private(self._folder / name, after[name])
        finally:
            os.close(lock)

    def _read(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return b""


class SecretStore:
    """Keeps the files in a Secret. All replicas share the CA in it, so API servers trust a new replica at once."""

    def __init__(self, cluster: ClusterClient, secret: str) -> None:
        """`secret` is namespace/name. Raise ValueError if it has another format."""
        self.namespace, _, self.name = secret.partition("/")
        if not (self.namespace and self.name) or "/" in self.name:
            raise ValueError(f"--cert-secret {secret}: must be namespace/name")
        self._cluster = cluster
        self._collection = f"/api/v1/namespaces/{self.namespace}/secrets"

    async def update(self, change: Change) -> None:
        try:
            await self._update(change)
        except ClusterError as error:
            raise OSError(f"the Secret {self.namespace}/{self.name} cannot be used: {error}") from error

    async def _update(self, change: Change) -> None:
        for attempt in range(_MAX_CONFLICTS):
            current = await self._read_secret()
            before = _decode_secret(current) if current else {}
            after = await asyncio.to_thread(change, before)
            if after == before:
                return
            try:
                await self._write(current, after)
                return
            except StatusError as error:
                # Another replica wrote first. Read its files and try again.
                if error.status != 409 or attempt + 1 == _MAX_CONFLICTS:
                    raise

    async def _read_secret(self) -> JsonObject | None:
        try:
            return await self._cluster.get(f"{self._collection}/{self.name}")
        except StatusError as error:
            if error.status == 404:
                return None
            raise

    async def _write(self, current: JsonObject | None, after: Files) -> None:
        data = {name: base64.b64encode(after[name]).decode() if name in after else None for name in FILES}
        if current is None:
            metadata = {"name": self.name, "namespace": self.namespace}
            data = {name: encoded for name, encoded in data.items() if encoded is not None}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
            await self._cluster.create(self._collection, secret)
        else:
            version = current["metadata"]["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version}, "data": data}
            await self._cluster.patch(f"{self._collection}/{self.name}", patch)


def _decode_secret(secret: JsonObject) -> Files:
    out = {}
    for name, encoded in (secret.get("data") or {}).items():
        if name in FILES:
            try:
                out[name] = base64.b64decode(encoded)
            except (binascii.Error, TypeError):
                continue
    return out
