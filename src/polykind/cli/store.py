"""`polykind store copy`: everything in one store moves into another."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TextIO

from polykind.contract import Store, StoreError
from polykind.server.settings import SettingsError
from polykind.store.copy import Contents, Copy

WIDTH = 30


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "store",
        help="copy what is stored from one store into another",
        description="Copy everything stored from one store into another, which must be empty. Stop the servers first. "
        "A copy that was broken off goes on when it is run again.",
    )
    flag = command.add_argument
    flag("action", choices=["copy"], help="what to do")
    flag("--from", dest="source", required=True, metavar="STORE", help="sqlite:DIR or etcd:URL,URL")
    flag("--to", dest="target", required=True, metavar="STORE", help="sqlite:DIR or etcd:URL,URL")
    flag("--etcd-prefix", default="/registry", metavar="PREFIX", help="what all keys begin with (default: %(default)s)")
    flag("--etcd-cafile", type=Path, metavar="FILE", help="CA in PEM that etcd's certificate is checked with")
    flag("--etcd-certfile", type=Path, metavar="FILE", help="client certificate in PEM that is shown to etcd")
    flag("--etcd-keyfile", type=Path, metavar="FILE", help="its private key in PEM")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    try:
        contents = asyncio.run(_copy(chosen, Bar(sys.stderr)))
    except (SettingsError, StoreError) as error:
        print(f"polykind store copy: {error}", file=sys.stderr)
        return 2 if isinstance(error, SettingsError) else 1
    print(f"{contents.count} keys copied and compared, sha256 {contents.digest}")
    return 0


async def _copy(chosen: argparse.Namespace, bar: Bar) -> Contents:
    if chosen.source == chosen.target:
        raise SettingsError("--from and --to name the same store")
    source, target = opened(chosen.source, chosen), opened(chosen.target, chosen)
    prefix = chosen.etcd_prefix.rstrip("/") + "/"
    await source.start()
    try:
        await target.start()
        try:
            return await Copy(source, target, prefix, chosen.source, bar.show).run()
        finally:
            await target.close()
    finally:
        await source.close()


def opened(text: str, chosen: argparse.Namespace) -> Store:
    """The store that sqlite:DIR or etcd:URL,URL names. Raises SettingsError."""
    kind, _, where = text.partition(":")
    if kind == "sqlite" and where:
        from polykind.store.sqlite import SqliteStore

        return SqliteStore(Path(where))
    if kind == "etcd" and where:
        from polykind.store.etcd import Access, EtcdStore

        urls = [url for url in where.split(",") if url]
        access = Access(urls, chosen.etcd_cafile, chosen.etcd_certfile, chosen.etcd_keyfile)
        return EtcdStore(access, chosen.etcd_prefix.rstrip("/") + "/")
    raise SettingsError(f"{text} is not a store such as sqlite:DIR or etcd:http://127.0.0.1:2379")


class Bar:
    """Progress on one line of a terminal; elsewhere a line for each stage."""

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
