"""Stores for a host's certificates: memory, a folder, or a Secret that replicas share."""

from __future__ import annotations

import asyncio
import base64
import binascii
import fcntl
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from polykind.contract import JsonObject
from polykind.pki.private_files import write_private
from polykind.toolkit.hosting.certificate_rotation import FILES
from polykind.toolkit.hosting.cluster_client import ClusterClient, ClusterError, StatusError

Files = Mapping[str, bytes]
Change = Callable[[Files], Files]
_MAX_CONFLICTS = 5


class CertificateStore(Protocol):
    """A set of files that is changed by one writer at a time."""

    async def update(self, change: Change) -> None:
        """Replace the files by `change(files)`. Raises OSError."""


class MemoryStore:
    """Keeps the files in memory until the process ends."""

    def __init__(self) -> None:
        self._files: Files = {}

    async def update(self, change: Change) -> None:
        self._files = await asyncio.to_thread(change, self._files)


class FolderStore:
    """Keeps the files in a folder that only the owner can read. A lock serializes the processes that share it."""

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
    """Keeps the files in a Secret, so that all replicas share a CA and callers trust a new replica at once."""

    def __init__(self, cluster: ClusterClient, secret: str) -> None:
        """`secret` is namespace/name. Raises ValueError."""
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
