"""`polykind check`: finds what a change of a CRD breaks before it ships."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.report_flags import add_report_flags, check_report_files, write_reports

if TYPE_CHECKING:
    from polykind.cluster.cluster_client import ClusterClient
    from polykind.toolkit.checking.release_check import CheckReport, CRDPair, ObjectChecks
    from polykind.toolkit.reporting.terminal import Color

_CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "check",
        help="find what a change of a CRD breaks",
        description="Compare a new CRD with the old one, and the served versions of the new CRD with each other. Then "
        "apply the change to real objects. OLD and NEW are files, folders with many CRDs, or Git revisions such as "
        "HEAD~1:crd.yaml. With NEW alone, the old CRD is the one in the cluster of --kubeconfig, or only the served "
        "versions are compared. Exit codes: 0 no breaking change; 1 a breaking change; 2 invalid usage.",
    )
    flag = command.add_argument
    flag("crds", nargs="+", metavar="[OLD] NEW", help="the CRD before and after the change")
    flag(
        "--objects",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="file or directory with real objects: manifests, Lists or JSON lines; may be repeated",
    )
    flag("--kubeconfig", type=Path, metavar="FILE", help="read stored versions and objects from this cluster")
    flag(
        "--converter",
        metavar="MODULE:OBJECT",
        help="convert the objects with it: a Python object or a rules file",
    )
    flag("--webhook", metavar="URL", help="convert the objects with the webhook at this https URL")
    flag("--ca", type=Path, metavar="FILE", help="CA in PEM to verify the certificate of --webhook")
    flag(
        "--fail-on",
        choices=("breaking", "dangerous"),
        default="breaking",
        metavar="SEVERITY",
        help="exit with 1 for findings of this severity: breaking or dangerous (default: %(default)s)",
    )
    flag("--accept", type=Path, metavar="FILE", help="file of accepted findings, which do not fail the check")
    flag("--verbose", action="store_true", help="explain findings of the severity info, too")
    flag("--json", action="store_true", help="print the report as JSON")
    add_report_flags(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from polykind.cluster.cluster_client import ClusterError
    from polykind.evolution.change_finding import Severity

    try:
        check_report_files(args)
        report = asyncio.run(_check(args))
        level = Severity[args.fail_on.upper()]
        failed = report.fails(level)
        _print(args, report)
        _write(args, report, failed)
    except (ValueError, ImportError, ClusterError) as error:
        print(f"polykind check: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


def _check_flags(args: argparse.Namespace) -> None:
    """Raise ValueError if the arguments do not fit together."""
    if len(args.crds) > 2:
        raise ValueError("expected OLD and NEW, or NEW alone")
    if args.webhook and args.converter:
        raise ValueError("--webhook and --converter cannot be combined")
    if args.ca and not args.webhook:
        raise ValueError("--ca needs --webhook")


async def _check(args: argparse.Namespace) -> CheckReport:
    from polykind.cluster.cluster_access import find_access
    from polykind.cluster.cluster_client import ClusterClient
    from polykind.conversion.loading import load_converter
    from polykind.toolkit.checking.accepted_findings import read_accepted
    from polykind.toolkit.checking.crd_sources import read_sources
    from polykind.toolkit.checking.release_check import (
        CRDPair,
        ObjectChecks,
        check_converter,
        check_pairs,
        pair_sources,
        webhook_config,
    )

    _check_flags(args)
    accepted = read_accepted(args.accept) if args.accept else []
    library = load_converter(args.converter) if args.converter else None
    new = read_sources(args.crds[-1])
    if len(args.crds) == 2:
        pairs = pair_sources(read_sources(args.crds[0]), new)
    else:
        pairs = [CRDPair(None, source) for source in new.values()]
    client = ClusterClient(find_access(args.kubeconfig, os.environ, Path.home())) if args.kubeconfig else None
    try:
        if client is not None:
            await _add_live_crds(client, pairs)
        report = check_pairs(pairs, accepted)
        if library is not None:
            check_converter(report, pairs, library)
        if args.objects or client is not None:
            checks = ObjectChecks(report, pairs, library, webhook=webhook_config(args.webhook, args.ca))
            # A webhook is called by an event loop of its own, which must not run in the thread of this one.
            await asyncio.to_thread(_add_files, args, checks)
            if client is not None:
                await _add_live_objects(client, pairs, checks, args.color)
    finally:
        if client is not None:
            await client.close()
    return report


def _add_files(args: argparse.Namespace, checks: ObjectChecks) -> None:
    from polykind.toolkit.checking.object_source import read_objects
    from polykind.toolkit.reporting.terminal import progress_bar

    with progress_bar(args.color) as bar:
        for number, obj in enumerate(read_objects(args.objects), 1):
            checks.add(obj)
            if number % 500 == 0:
                bar.update("objects", number)


async def _add_live_crds(client: ClusterClient, pairs: Iterable[CRDPair]) -> None:
    """Read the live CRDs: as the old release if there is none, or to learn the stored versions of the old release."""
    from polykind.cluster.cluster_client import StatusError
    from polykind.toolkit.checking.crd_sources import decode_source

    for pair in pairs:
        try:
            live = decode_source(await client.get(f"{_CRD_PATH}/{pair.name}"), client.server)
        except StatusError as error:
            if error.status != 404:
                raise
            continue
        if pair.old is None:
            pair.old = live
        else:
            pair.old.crd["status"] = live.crd["status"]
        pair.live = live


async def _add_live_objects(
    client: ClusterClient, pairs: Iterable[CRDPair], checks: ObjectChecks, color: Color
) -> None:
    from polykind.toolkit.reporting.terminal import progress_bar

    number, slow = 0, checks.calls_webhook
    with progress_bar(color) as bar:
        for pair in pairs:
            if pair.live is None:
                continue
            spec = pair.live.crd["spec"]
            served = [entry for entry in spec["versions"] if entry.get("served")]
            version = next((entry["name"] for entry in served if entry.get("storage")), None) or served[0]["name"]
            path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
            implied = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"]}
            async for item in client.list_items(path):
                obj = {**implied, **item}
                await asyncio.to_thread(checks.add, obj) if slow else checks.add(obj)
                number += 1
                if number % 500 == 0:
                    bar.update(pair.name, number)


def _print(args: argparse.Namespace, report: CheckReport) -> None:
    from polykind.toolkit.checking import check_report

    if args.json:
        json.dump(check_report.to_json(report), sys.stdout, indent=2)
        print()
        return
    from polykind.toolkit.reporting.terminal import open_console

    check_report.print_report(open_console(args.color), report, verbose=args.verbose)


def _write(args: argparse.Namespace, report: CheckReport, failed: bool) -> None:
    from polykind.toolkit.checking import check_report

    title = " to ".join(args.crds)
    write_reports(
        args,
        check_report.problems(report),
        html=lambda: check_report.to_html(report, title, failed),
        junit=lambda: check_report.to_junit(report),
        sarif=lambda: check_report.to_sarif(report),
    )
