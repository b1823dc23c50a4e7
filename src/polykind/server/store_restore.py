"""The restore of a backup into the store of a running server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from polykind import errors
from polykind.auth.user import ADMIN_GROUP, User
from polykind.contract import Store, StoreError

log = logging.getLogger("polykind.restore")

DIRECTORY = "restore"
"""The folder of the data directory in which `polykind store restore` places a verified backup."""


class StoreRestore:
    """Makes the store equal to a backup by ordinary writes, so that caches, watches and replicas see each change.

    Revisions continue to grow: every restored object gets a new resourceVersion, and watches receive the changes.
    """

    def __init__(
        self, store: Store, prefix: str, data_dir: Path, decrypted: Callable[[Store], Store] | None = None
    ) -> None:
        """`decrypted` returns a view of the backup that decrypts it. Restored values get the current key."""
        self._store = store
        self._prefix = prefix
        self._directory = data_dir / DIRECTORY
        self._decrypted = decrypted
        self._lock = asyncio.Lock()

    async def run(self, user: User) -> int:
        """Restore the backup and return the number of its keys.

        Raise APIError if the user lacks permission or the restore fails.
        """
        if ADMIN_GROUP not in user.groups:
            raise errors.ForbiddenError("", "", "", f"only members of {ADMIN_GROUP} may restore a backup")
        if self._lock.locked():
            raise errors.BadRequestError("a restore is running already")
        async with self._lock:
            if not (self._directory / "polykind.db").exists():
                raise errors.BadRequestError(
                    f"there is no backup in {self._directory}: run `polykind store restore` on the server's machine"
                )
            return await self._restore()

    async def _restore(self) -> int:
        from polykind.store.copier import KeyTransfer
        from polykind.store.sqlite import SqliteStore

        backup = SqliteStore(self._directory)
        try:
            await backup.start()
            try:
                source: Store = self._decrypted(backup) if self._decrypted is not None else backup
                transfer = KeyTransfer(source, self._store, self._prefix, _log_progress, overwrite=True)
                return await transfer.run()
            finally:
                await backup.close()
        except StoreError as error:
            raise errors.InternalError(f"the backup is not restored completely: {error}") from None
        finally:
            import shutil

            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)


def _log_progress(stage: str, done: int, total: int) -> None:
    log.info("restore: %s, %d of %d keys", stage, done, total)
