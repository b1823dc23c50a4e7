"""`polykind versions`: what there is of each version of a definition, and what stands in the way of removing one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.contract import JsonObject

if TYPE_CHECKING:
    from polykind.toolkit.hosting.cluster_client import ClusterClient

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_HEADS = ("VERSION", "SERVED", "STORAGE", "DEPRECATED", "STORED", "MANAGED", "CLIENTS")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "versions",
        help="say what uses the versions of definitions, and what keeps one from being removed",
        description="For each version of a CustomResourceDefinition on a running Polykind: how many objects are "
        "stored at it, how many have field managers at it, which clients have asked for it since the server "
        "started, and what stands in the way of its removal. Exits with 0; with --remove, with 1 if something does; "
        "with 2 if it could not be told.",
    )
    flag = command.add_argument
    flag("--kubeconfig", type=Path, metavar="FILE", help="how to reach the server (default: as kubectl finds it)")
    flag("--remove", metavar="VERSION", help="only this version: exit with 1 if something stands in its way")
    flag("--output", choices=("text", "json"), default="text", help="how to say it (default: text)")
    flag("definitions", nargs="*", metavar="NAME", help="definitions by name (default: those with several versions)")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    import uvloop

    from polykind.toolkit.hosting.cluster_access import KubeconfigError
    from polykind.toolkit.hosting.cluster_client import ClusterError

    try:
        return uvloop.run(_versions(chosen))
    except (KubeconfigError, ClusterError, ValueError) as error:
        print(f"polykind versions: {error}", file=sys.stderr)
        return 2


async def _versions(chosen: argparse.Namespace) -> int:
    from polykind.toolkit.hosting.cluster_access import find_access
    from polykind.toolkit.hosting.cluster_client import ClusterClient

    if chosen.remove and len(chosen.definitions) != 1:
        raise ValueError("--remove is about one definition: name it")
    async with ClusterClient(find_access(chosen.kubeconfig, os.environ, Path.home())) as cluster:
        names = chosen.definitions or await _several(cluster)
        stocks = [await _stock(cluster, name) for name in names]
    if chosen.remove:
        stocks = [_only(stocks[0], chosen.remove)]
    if chosen.output == "json":
        from polykind.codec import json_codec

        print(json_codec.indent(json_codec.encode_ordered(stocks)).decode())
    else:
        print("\n\n".join("\n".join(_lines(stock)) for stock in stocks) or "no definition has several versions")
    return int(bool(chosen.remove and stocks[0]["versions"][0]["hindrances"]))


async def _several(cluster: ClusterClient) -> list[str]:
    listed = (await cluster.get(_DEFINITIONS))["items"]
    return [crd["metadata"]["name"] for crd in listed if len(crd["spec"]["versions"]) > 1]


async def _stock(cluster: ClusterClient, name: str) -> JsonObject:
    from polykind.toolkit.hosting.cluster_client import StatusError

    try:
        return await cluster.get(f"/polykind/versions/{name}")
    except StatusError as error:
        if error.status != 404:
            raise
    # Another server has no such path; ours has none for what is not there.
    await cluster.get(f"{_DEFINITIONS}/{name}")
    raise ValueError(f"{cluster.server} does not tell of {name}: it is not served yet, or that is no Polykind")


def _only(stock: JsonObject, version: str) -> JsonObject:
    kept = [v for v in stock["versions"] if v["name"] == version]
    if not kept:
        raise ValueError(f"{stock['definition']} has no version {version}")
    return {**stock, "versions": kept}


def _lines(stock: JsonObject) -> Iterator[str]:
    rows = [_HEADS, *(_row(version) for version in stock["versions"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield f"{stock['definition']}, clients since {stock['since']}"
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    for version in stock["versions"]:
        for client in version["clients"]:
            who = f"{client['agent'] or 'a program'} ({client['user']})" if client["user"] else "others"
            counts = ", ".join(_counted(client[f"{what}s"], what) for what in ("read", "write"))
            yield f"  {version['name']} was asked for by {who}: {counts}, the last at {client['last']}"
    for version in stock["versions"]:
        if version["hindrances"]:
            yield f"  {version['name']} should not be removed yet:"
            yield from (f"  - {why}" for why in version["hindrances"])
        else:
            yield f"  {version['name']} can be removed"


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _row(version: JsonObject) -> tuple[str, ...]:
    says = (("no", "yes")[version[key]] for key in ("served", "storage", "deprecated"))
    counts = (str(version[key]) for key in ("storedObjects", "managedObjects"))
    return version["name"], *says, *counts, str(len(version["clients"]))
