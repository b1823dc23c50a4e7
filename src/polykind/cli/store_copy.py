"""`polykind store copy`: copies the content of one store into another."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TextIO

from polykind.cli.flags import add_etcd_flags
from polykind.contract import Store, StoreError, ValueTransformer
from polykind.server.settings import SettingsError
from polykind.store.copier import StoreContents, StoreCopy

WIDTH = 30


def add(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = actions.add_parser(
        "copy",
        help="copy the content of one store into another",
        description="Copy all keys of one store into another, which must be empty. Stop the servers first. "
        "Run the command again to continue an interrupted copy.",
    )
    flag = command.add_argument
    flag("--from", dest="source", required=True, metavar="STORE", help="the source store: sqlite:DIR or etcd:URL,URL")
    flag("--to", dest="target", required=True, metavar="STORE", help="the target store: sqlite:DIR or etcd:URL,URL")
    add_etcd_flags(command)
    flag(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="decrypt values with the keys of this EncryptionConfiguration, and encrypt the copies with its first keys "
        "(default: copy encrypted values as they are)",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        contents = asyncio.run(_copy(args, ProgressBar(sys.stderr)))
    except (SettingsError, StoreError) as error:
        print(f"polykind store copy: {error}", file=sys.stderr)
        return 2 if isinstance(error, SettingsError) else 1
    print(f"{contents.count} keys copied and compared, sha256 {contents.digest}")
    return 0


async def _copy(args: argparse.Namespace, bar: ProgressBar) -> StoreContents:
    if args.source == args.target:
        raise SettingsError("--from and --to name the same store")
    source, target = open_store(args.source, args), open_store(args.target, args)
    prefix = args.etcd_prefix.rstrip("/") + "/"
    if (transformer := read_transformer(args)) is not None:
        from polykind.store.encrypted_store import EncryptedStore

        source, target = EncryptedStore(source, transformer), EncryptedStore(target, transformer)
    await source.start()
    try:
        await target.start()
        try:
            return await StoreCopy(source, target, prefix, args.source, bar.show).run()
        finally:
            await target.close()
    finally:
        await source.close()


def open_store(text: str, args: argparse.Namespace) -> Store:
    """Open the store that sqlite:DIR or etcd:URL,URL names. Raise SettingsError if the text has another form."""
    kind, _, address = text.partition(":")
    if kind == "sqlite" and address:
        from polykind.store.sqlite import SqliteStore

        return SqliteStore(Path(address))
    if kind == "etcd" and address:
        from polykind.store.etcd import EtcdAccess, EtcdStore

        urls = [url for url in address.split(",") if url]
        access = EtcdAccess(urls, args.etcd_cafile, args.etcd_certfile, args.etcd_keyfile)
        return EtcdStore(access, args.etcd_prefix.rstrip("/") + "/")
    raise SettingsError(f"{text} is not a store such as sqlite:DIR or etcd:http://127.0.0.1:2379")


def read_transformer(args: argparse.Namespace) -> ValueTransformer | None:
    """Read the keys of --encryption-provider-config. Return None without this flag.

    Raise SettingsError if the file is invalid.
    """
    if args.encryption_provider_config is None:
        return None
    from polykind.server.encryption_settings import read_encryption_config

    prefix = args.etcd_prefix.rstrip("/") + "/"
    return read_encryption_config(args.encryption_provider_config, prefix, lambda *labels: None)


class ProgressBar:
    """Shows the progress of a copy: a line that is updated if `out` is a terminal, otherwise one line per stage."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._stage = ""

    def show(self, stage: str, done: int, total: int) -> None:
        share = done / total if total else 1.0
        if self._out.isatty():
            filled = "#" * int(share * WIDTH)
            end = "\n" if done >= total else ""
            self._out.write(f"\r{stage:18} [{filled:{WIDTH}}] {done}/{total}{end}")
        elif done >= total and stage != self._stage:
            self._stage = stage
            self._out.write(f"{stage}: {done} of {total}\n")
        self._out.flush()
