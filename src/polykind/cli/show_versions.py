"""`polykind versions`: reports what uses each version of a CRD and what blocks its removal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.contract import JsonObject

if TYPE_CHECKING:
    from polykind.cluster.cluster_client import ClusterClient

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_REFRESHED = "polykind.dev/conversions-refreshed-at"
_HEADERS = ("VERSION", "SERVED", "STORAGE", "DEPRECATED", "STORED", "MANAGED", "CLIENTS")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "versions",
        help="show what uses each version of a CRD and what blocks its removal",
        description="For each version of a CustomResourceDefinition, show the number of objects stored at it, the "
        "number of objects with field managers at it, its clients, and what blocks its removal. Polykind reports exact "
        "numbers, and the clients that have requested a version since the server started. Kubernetes does not tell at "
        "which version an object is stored: there the report uses status.storedVersions and managedFields, and says "
        "what is unknown. Exit codes: 0 success; 1 with --remove, the removal is blocked; 2 invalid usage, no report.",
    )
    flag = command.add_argument
    flag("--kubeconfig", type=Path, metavar="FILE", help="kubeconfig of the server (default: as kubectl finds it)")
    flag("--remove", metavar="VERSION", help="show only this version and exit with 1 if its removal is blocked")
    flag("--refresh", action="store_true", help="drop the server's cached conversions of the named CRDs first")
    flag("--output", choices=("text", "json"), default="text", help="output format (default: text)")
    flag("crds", nargs="*", metavar="NAME", help="names of CRDs (default: all with several versions)")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    from polykind.cluster.cluster_access import KubeconfigError
    from polykind.cluster.cluster_client import ClusterError

    try:
        return uvloop.run(_versions(args))
    except (KubeconfigError, ClusterError, ValueError) as error:
        print(f"polykind versions: {error}", file=sys.stderr)
        return 2


async def _versions(args: argparse.Namespace) -> int:
    from polykind.cluster.cluster_access import find_access
    from polykind.cluster.cluster_client import ClusterClient, StatusError

    if args.remove and len(args.crds) != 1:
        raise ValueError("--remove requires the name of one CRD")
    if args.refresh and not args.crds:
        raise ValueError("--refresh requires the names of CRDs")
    async with ClusterClient(find_access(args.kubeconfig, os.environ, Path.home()), "polykind-versions") as cluster:
        try:
            reports = await _get_reports(cluster, args.crds, refresh=args.refresh)
        except StatusError as error:
            if error.status != 403:
                raise
            from polykind.toolkit.migrating.access_rules import migration_rules

            name = args.crds[0] if args.crds else "RESOURCE.GROUP"
            rules = migration_rules(name, None, writes=False)
            raise ValueError(f"{error}\nThe report needs no more than these rights:\n\n{rules}") from None
    if args.remove:
        reports = [_only_version(reports[0], args.remove)]
    if args.output == "json":
        from polykind.codec import json_codec
        from polykind.codec.json_indent import indent

        print(indent(json_codec.encode_ordered(reports)).decode())
    else:
        print("\n\n".join("\n".join(_lines(report)) for report in reports) or "no CRD has several versions")
    return int(bool(args.remove and reports[0]["versions"][0]["hindrances"]))


async def _get_reports(cluster: ClusterClient, names: Sequence[str], *, refresh: bool) -> list[JsonObject]:
    """Return the reports of some CRDs, or of all that have several versions."""
    for name in names if refresh else ():
        annotations = {_REFRESHED: datetime.now(UTC).isoformat()}
        await cluster.patch(f"{_CRDS}/{name}", {"metadata": {"annotations": annotations}})
    return [await _get_report(cluster, name) for name in names or await _multi_version_crds(cluster)]


async def _multi_version_crds(cluster: ClusterClient) -> list[str]:
    listed = (await cluster.get(_CRDS))["items"]
    return [crd["metadata"]["name"] for crd in listed if len(crd["spec"]["versions"]) > 1]


async def _get_report(cluster: ClusterClient, name: str) -> JsonObject:
    from polykind.cluster.cluster_client import StatusError
    from polykind.toolkit.migrating.cluster_versions import version_report
    from polykind.toolkit.migrating.crd_storage import CRDStorage
    from polykind.toolkit.migrating.paced_client import PacedClient

    try:
        return {**await cluster.get(f"/polykind/versions/{name}"), "exact": True}
    except StatusError as error:
        if error.status not in (403, 404):
            raise
    # A 404 from Polykind means that the CRD is not served. Other API servers do not have this path, and forbid it to
    # users who may not read it.
    storage = CRDStorage(await cluster.get(f"{_CRDS}/{name}"))
    if not storage.served:
        raise ValueError(f"{name} serves no version, so its objects cannot be listed")
    return await version_report(PacedClient(cluster), storage)


def _only_version(report: JsonObject, version: str) -> JsonObject:
    selected = [v for v in report["versions"] if v["name"] == version]
    if not selected:
        raise ValueError(f"{report['definition']} has no version {version}")
    return {**report, "versions": selected}


def _lines(report: JsonObject) -> Iterator[str]:
    rows = [_HEADERS, *(_row(version) for version in report["versions"])]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if report["exact"]:
        yield f"{report['definition']}, clients since {report['since']}"
    else:
        stored = ", ".join(report["storedVersions"]) or "none"
        yield f"{report['definition']}, {_plural(report['objects'], 'object')}, stored versions {stored}"
        yield f"  estimated: {report['basis']}"
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    for version in report["versions"]:
        yield from _usage_lines(version)
    for version in report["versions"]:
        if version["hindrances"]:
            yield f"  {version['name']} should not be removed yet:"
            yield from (f"  - {blocker}" for blocker in version["hindrances"])
        else:
            yield f"  {version['name']} can be removed"
    for version, count in report.get("removedVersions", {}).items():
        yield (
            f"  {version} has been removed, but {_plural(count, 'object')} have field managers at it, and server-side "
            f"apply fails on them: polykind migrate {report['definition']}"
        )


def _usage_lines(version: JsonObject) -> Iterator[str]:
    """Yield a line for each field manager and each client of a version."""
    for manager in version.get("managers", ()):
        count, last = _plural(manager["objects"], "object"), manager["last"] or "an unknown time"
        yield f"  {version['name']} was written by {manager['manager']}: {count}, last at {last}"
    for client in version.get("clients", ()):
        client_name = (
            f"{client['agent'] or 'unknown program'} ({client['user']})" if client["user"] else "other clients"
        )
        counts = ", ".join(_plural(client[f"{noun}s"], noun) for noun in ("read", "write"))
        yield f"  {version['name']} was requested by {client_name}: {counts}, last at {client['last']}"


def _plural(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def _row(version: JsonObject) -> tuple[str, ...]:
    flags = (("no", "yes")[version[key]] for key in ("served", "storage", "deprecated"))
    counts = ("?" if version[key] is None else str(version[key]) for key in ("storedObjects", "managedObjects"))
    return version["name"], *flags, *counts, str(len(version["clients" if "clients" in version else "managers"]))
