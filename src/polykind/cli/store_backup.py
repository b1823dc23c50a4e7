"""`polykind store check`, `backup` and `restore`: verify, save and restore the content of a store."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import add_etcd_flags
from polykind.cli.store_copy import open_store, read_transformer
from polykind.contract import StoreError
from polykind.server.settings import SettingsError

if TYPE_CHECKING:
    from polykind.store.value_check import ValueCheck

_DATA_DIR = Path(".polykind")


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = actions.add_parser(
        "check",
        help="verify a store and name what is damaged",
        description="Verify every stored value of a data directory, or of the keys of an etcd cluster, and name what "
        "is damaged. A server may run meanwhile. Exit codes: 0 no damage; 1 damage; 2 the store cannot be read.",
    )
    _add_data_dir(check)
    check.add_argument("--etcd-servers", default="", metavar="URL,URL", help="verify the keys in this etcd cluster")
    check.add_argument(
        "--repair",
        action="store_true",
        help="rebuild a damaged index, and accept the commits before the damage in the write-ahead log; stop the "
        "server first",
    )
    add_etcd_flags(check)
    check.add_argument(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="decrypt values with the keys of this EncryptionConfiguration, to verify them",
    )
    check.set_defaults(run=_guarded("check", _check))
    backup = actions.add_parser(
        "backup",
        help="write a verified backup",
        description="Write a consistent backup of a data directory into one file, and verify it. A server may run "
        "meanwhile. Certificates and tokens are not part of the backup.",
    )
    _add_data_dir(backup)
    backup.add_argument("file", type=Path, metavar="FILE", help="the file to write; it must not exist")
    backup.set_defaults(run=_guarded("backup", _backup))
    restore = actions.add_parser(
        "restore",
        help="restore a backup",
        description="Make the content of a store equal to a backup. If a server uses the data directory, it restores "
        "the backup by ordinary writes, so that clients see the changes. Otherwise the database file is replaced; the "
        "old one is kept with the suffix .replaced.",
    )
    _add_data_dir(restore)
    restore.add_argument("file", type=Path, metavar="FILE", help="the backup file to restore")
    restore.set_defaults(run=_guarded("restore", _restore))


def _add_data_dir(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data-dir",
        type=Path,
        default=_DATA_DIR,
        metavar="DIR",
        help="directory with the server's data (default: %(default)s)",
    )


def _guarded(action: str, run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Wrap `run` in a function that prints a StoreError or SettingsError to stderr instead of raising it."""

    def guarded(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except (SettingsError, StoreError) as error:
            print(f"polykind store {action}: {error}", file=sys.stderr)
            return 2

    return guarded


def _check(args: argparse.Namespace) -> int:
    from polykind.store.sqlite import backup
    from polykind.store.value_check import ValueCheck

    values = ValueCheck(read_transformer(args), protobuf=bool(args.etcd_servers))
    if args.etcd_servers:
        damage = asyncio.run(_etcd_damage(args, values))
    else:
        if args.repair:
            backup.repair(args.data_dir)
        damage = list(backup.find_damage(args.data_dir, values))
    for line in damage:
        print(line)
    if values.undecrypted:
        print(f"{values.undecrypted} values are encrypted: --encryption-provider-config FILE verifies them, too")
    print(f"{len(damage)} problems found" if damage else "no damage found")
    return 1 if damage else 0


async def _etcd_damage(args: argparse.Namespace, values: ValueCheck) -> list[str]:
    """Return a line for each key in etcd whose value is neither a JSON object nor a Kubernetes protobuf object."""
    from polykind.store.copier import public_keys

    store = open_store(f"etcd:{args.etcd_servers}", args)
    await store.start()
    try:
        prefix = args.etcd_prefix.rstrip("/") + "/"
        return [
            f"{item.key}: {problem}"
            async for item in public_keys(store, prefix)
            if (problem := values.problem(item.key, item.value)) is not None
        ]
    finally:
        await store.close()


def _backup(args: argparse.Namespace) -> int:
    from polykind.store.sqlite.backup import write_backup

    summary = write_backup(args.data_dir, args.file)
    print(f"{args.file}: {summary.keys} keys at revision {summary.revision}, verified")
    return 0


def _restore(args: argparse.Namespace) -> int:
    from polykind.store.sqlite.backup import install_backup, verify
    from polykind.store.sqlite.database_file import DatabaseFile

    file = DatabaseFile(args.data_dir)
    try:
        file.claim()
    except StoreError:
        summary = verify(args.file)
        keys = _restore_running(args.data_dir, args.file)
        print(f"{keys} keys of revision {summary.revision} restored by the running server")
        return 0
    finally:
        file.release()
    summary = install_backup(args.file, args.data_dir)
    print(f"{summary.keys} keys of revision {summary.revision} restored; start the server")
    return 0


def _restore_running(data_dir: Path, backup: Path) -> int:
    """Let the server that runs on `data_dir` restore the backup, and wait for it. Return the number of keys."""
    import uvloop

    from polykind.cluster.cluster_access import KubeconfigError, find_access
    from polykind.cluster.cluster_client import ClusterClient, ClusterError
    from polykind.server.store_restore import DIRECTORY
    from polykind.store.sqlite.backup import BackupError

    directory = data_dir / DIRECTORY
    directory.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(directory / "polykind.db", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as out, backup.open("rb") as data:
        shutil.copyfileobj(data, out)

    async def request() -> int:
        async with ClusterClient(find_access(data_dir / "admin.kubeconfig", os.environ, Path.home())) as cluster:
            answer = await cluster.create("/polykind/restore", {})
            return int(answer["keys"])

    try:
        return uvloop.run(request())
    except (KubeconfigError, ClusterError, ValueError) as error:
        raise BackupError(f"the server that uses {data_dir} has not restored the backup: {error}") from None
