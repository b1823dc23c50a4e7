"""`polykind rehearse`: takes a CRD through its releases and back, and reports what happens to objects and clients."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import add_bool_flag, add_list_flag
from polykind.cli.report_flags import add_report_flags, check_report_files, write_reports
from polykind.contract import JsonObject
from polykind.server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from polykind.declare.conversions import ConversionFunction
    from polykind.toolkit.rehearsal.converter_process import Upstream
    from polykind.toolkit.rehearsal.rehearsal import Stage, StageResult
    from polykind.toolkit.rehearsal.rehearsed_converter import RehearsedConverter

_MAX_FINDINGS = 20
"""The maximum number of findings shown per stage. Findings that differ only in their objects count as one."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "rehearse",
        help="rehearse the upgrade and downgrade of a CRD",
        description="Upgrade a CustomResourceDefinition from release to release and back on a temporary server. At "
        "each release every object is read at every served version, validated as if it were new, and migrated to the "
        "storage version. Then clients of every served version edit the objects and write them back, the converter's "
        "process is restarted, and the converter has outages. Reports what is lost, changed, rejected or stuck, and "
        "at which release. Exit codes: 0 nothing found; 1 something found; 2 invalid usage.",
    )
    flag = command.add_argument
    flag(
        "--crd",
        action="append",
        type=Path,
        required=True,
        metavar="FILE",
        help="CRD of one release; repeat for each release, oldest first",
    )
    add_list_flag(command, "--converter", "MODULE:OBJECT", "convert with this Python object or rules file")
    flag("--webhook", metavar="URL", help="convert with the webhook at this https URL")
    flag("--ca", type=Path, metavar="FILE", help="CA in PEM to verify the certificate of --webhook")
    add_list_flag(
        command, "--resolve", "NAMESPACE/SERVICE=HOST:PORT", "address of a Service that a CRD's webhook refers to"
    )
    flag(
        "--kubeconfig", type=Path, metavar="FILE", help="rehearse with the objects of this cluster, which is only read"
    )
    flag("--generate", type=int, default=0, metavar="N", help="rehearse with N objects generated from the schemas")
    flag("--seed", type=int, default=0, metavar="N", help="seed of --generate (default: %(default)s)")
    add_bool_flag(command, "--migrate", "migrate all objects to the storage version at each release")
    add_bool_flag(command, "--back", "downgrade as well")
    add_bool_flag(command, "--clients", "let clients of every served version edit objects and write them back")
    flag(
        "--converter-process",
        choices=("both", "keep", "restart"),
        default="both",
        metavar="MODE",
        help="keep the process of --converter, restart it before each release, or both: compare what clients see "
        "before and after a restart at each release (default: %(default)s)",
    )
    add_bool_flag(command, "--outages", "let the converter be down, slow, untrusted and wrong at each release")
    flag("--json", action="store_true", help="print the report as JSON")
    add_report_flags(command)
    flag("files", nargs="*", type=Path, metavar="FILE", help="file or directory with objects of the first release")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    from polykind.cluster.cluster_client import ClusterError

    # Hide the server's warnings: the printed report already contains the errors of the server.
    server_log = logging.getLogger("polykind")
    level = server_log.level
    server_log.setLevel(logging.ERROR)
    try:
        return uvloop.run(_rehearse(args))
    except (SettingsError, ValueError, ClusterError, OSError) as error:
        print(f"polykind rehearse: {error}", file=sys.stderr)
        return 2
    finally:
        server_log.setLevel(level)


async def _rehearse(args: argparse.Namespace) -> int:
    from polykind.server.server import Server
    from polykind.toolkit.rehearsal.rehearsal import Options, Rehearsal
    from polykind.toolkit.rehearsal.rehearsal_client import RehearsalClient
    from polykind.toolkit.rehearsal.rehearsal_report import as_json
    from polykind.toolkit.reporting.terminal import Styled, open_console, print_line, progress_bar

    check_report_files(args)
    stages = [_stage(path, args) for path in args.crd]
    objects = await _objects(args, stages[0])
    console = open_console(args.color)
    results: list[StageResult] = []
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="polykind-rehearse-"))
        converter = _converter(args, stages)
        if converter is not None:
            await stack.enter_async_context(converter)
        # Every read calls the converter, because a cached conversion would hide a restart or an outage.
        settings = Settings(data_dir=Path(directory), secure_port=0, garbage_collector=False, conversion_cache=False)
        server = await stack.enter_async_context(Server(settings))
        bar = stack.enter_context(progress_bar(args.color))
        steps = 2 * len(stages) - 1 if args.back else len(stages)
        rehearsal = Rehearsal(
            RehearsalClient(server),
            stages,
            objects,
            Options(args.migrate, args.clients, args.converter_process, args.outages),
            steps=_conversion_functions(args.converter, stages[0]),
            converter=converter,
            on_phase=lambda text: bar.update(text, len(results), steps),
        )
        width = max(len(stage.name) for stage in stages) + len("back to ")
        async for result in rehearsal.run(back=args.back):
            results.append(result)
            if not args.json:
                with bar.paused():
                    _show(console, result, width)
    ok = all(result.ok for result in results)
    if args.json:
        print(json.dumps(as_json(results), indent=2))
    else:
        verdict = Styled("no unacknowledged loss", "ok") if ok else Styled("problems found", "error")
        print_line(console, verdict)
    _write_reports(args, stages, results)
    return 0 if ok else 1


def _write_reports(args: argparse.Namespace, stages: list[Stage], results: list[StageResult]) -> None:
    """Write the report files and annotations. Raise ValueError if a file cannot be written."""
    from polykind.toolkit.rehearsal.rehearsal_report import RULES, check_results, page
    from polykind.toolkit.reporting.junit_report import junit_xml
    from polykind.toolkit.reporting.sarif_report import sarif_log
    from polykind.toolkit.reporting.source_positions import CRDFile

    crd = stages[0].crd.name
    files = {stage.name: CRDFile(path, crd) for stage, path in zip(stages, args.crd, strict=True)}
    checks = check_results(results, files)
    problems = [problem for check in checks for problem in check.problems]
    write_reports(
        args,
        problems,
        html=lambda: page(crd, results),
        junit=lambda: junit_xml(f"rehearsal of {crd}", checks, seconds=sum(check.seconds for check in checks)),
        sarif=lambda: sarif_log("rehearse", RULES, problems),
    )


def _stage(path: Path, args: argparse.Namespace) -> Stage:
    from polykind.toolkit.crd_versions import CRD, RejectedError
    from polykind.toolkit.files import manifests
    from polykind.toolkit.rehearsal.rehearsal import Stage

    found = [value for value in manifests.read_objects([path]) if value.get("kind") == "CustomResourceDefinition"]
    if len(found) != 1:
        raise ValueError(f"{path} contains {len(found)} CustomResourceDefinitions; exactly one is required")
    try:
        crd = CRD(found[0])
    except RejectedError as error:
        raise ValueError(f"{path}: {error}") from None
    own = not args.converter and not args.webhook
    return Stage(path.name, crd, _declared_webhook(crd.manifest, args.resolve, path) if own else None)


def _declared_webhook(manifest: JsonObject, resolve: list[str], path: Path) -> Upstream | None:
    """Return the webhook that a CRD names, or None if it has no webhook or only one version."""
    import base64

    from polykind.toolkit.rehearsal.converter_process import Upstream
    from polykind.webhook.target import TargetError, build_target, parse_resolve, resolve_flag

    spec = manifest["spec"]
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook" or len(spec["versions"]) < 2:
        return None
    config = (conversion.get("webhook") or {}).get("clientConfig") or {}
    try:
        target = build_target(config, manifest["metadata"]["name"])
    except TargetError as error:
        raise ValueError(f"{path}: {error}") from None
    ca = base64.b64decode(config.get("caBundle") or "")
    if target.service is None:
        return Upstream(target.url, ca)
    endpoint = parse_resolve(resolve).get("/".join(target.service))
    if endpoint is None:
        raise ValueError(
            f"{path}: the webhook is the Service {'/'.join(target.service)}: use {resolve_flag(*target.service)}, "
            "--webhook or --converter"
        )
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    path_part = target.url.partition("://")[2].partition("/")[2]
    return Upstream(f"https://{host}:{endpoint.port}/{path_part}", ca, target.server_name)


def _converter(args: argparse.Namespace, stages: Iterable[Stage]) -> RehearsedConverter | None:
    from polykind.toolkit.rehearsal.converter_process import ConverterProcess, Upstream
    from polykind.toolkit.rehearsal.rehearsed_converter import RehearsedConverter

    if args.converter and args.webhook:
        raise ValueError("--converter and --webhook cannot be used together")
    if args.ca and not args.webhook:
        raise ValueError("--ca requires --webhook")
    if args.webhook:
        if not args.webhook.startswith("https://"):
            raise ValueError(f"--webhook {args.webhook}: must be an https:// URL, as API servers require")
        return RehearsedConverter(Upstream(args.webhook, args.ca.read_bytes() if args.ca else b""))
    if args.converter:
        return RehearsedConverter(process=ConverterProcess(args.converter))
    return RehearsedConverter() if any(stage.upstream is not None for stage in stages) else None


def _conversion_functions(converters: Iterable[str], stage: Stage) -> list[ConversionFunction]:
    """Return the declared conversion functions of the CRD's kind."""
    from polykind.conversion.loading import load_converter

    declared = [(load_converter(spec).declared or {}).get(stage.crd.kind) for spec in converters]
    return [step for conversions in declared if conversions is not None for step in conversions.steps.values()]


async def _objects(args: argparse.Namespace, stage: Stage) -> list[JsonObject]:
    """Return the objects of the rehearsal from all sources that the flags name."""
    from polykind.cluster.cluster_access import find_access
    from polykind.cluster.cluster_client import ClusterClient
    from polykind.toolkit.rehearsal.object_sources import generated_objects, objects_in_cluster, objects_in_files

    if not args.files and not args.generate and args.kubeconfig is None:
        raise ValueError("no objects: name files, or use --generate or --kubeconfig")
    out, unknown_versions = objects_in_files(args.files, stage.crd)
    if unknown_versions:
        noun = "object is" if unknown_versions == 1 else "objects are"
        print(f"{unknown_versions} {noun} of versions that {stage.name} does not have: ignored", file=sys.stderr)
    if args.files and not out:
        raise ValueError(f"the files contain no {stage.crd.kind} of {', '.join(stage.crd.versions)}")
    if args.kubeconfig is not None:
        access = find_access(args.kubeconfig, os.environ, Path.home())
        async with ClusterClient(access, "polykind-rehearse") as cluster:
            live = await objects_in_cluster(cluster, stage.crd)
        print(f"{len(live)} objects read from {access.server}", file=sys.stderr)
        out += live
    if args.generate > 0:
        out += generated_objects(stage.crd, args.generate, args.seed)
    if not out:
        raise ValueError(f"there are no objects of {stage.crd.kind}: use --generate")
    return out


def _show(console: Console, result: StageResult, width: int) -> None:
    from polykind.toolkit.rehearsal.rehearsal_finding import group_findings, with_count
    from polykind.toolkit.reporting.terminal import Styled, print_line

    stage = result.stage
    name = f"back to {stage.name}" if result.back else stage.name
    summary = "1 object" if result.objects == 1 else f"{result.objects} objects"
    if result.migrated:
        summary += f", migrated to {stage.crd.storage}"
    if result.stuck:
        verdict = Styled("stuck", "error")
    else:
        verdict = Styled("ok", "ok") if result.ok else Styled(f"{len(result.problems)} found", "error")
    print_line(console, f"{name:{width}}  {stage.versions:20}  {summary:32}  ", verdict)
    advice = ""
    groups = group_findings(result.findings)
    for finding, number in groups[:_MAX_FINDINGS]:
        style = {"error": "error", "warning": "warning"}.get(finding.level, "muted")
        prefix = "warning: " if finding.level == "warning" else ""
        print_line(console, "    ", Styled(f"{prefix}{with_count(finding, number)}", style))  # type: ignore[arg-type]
        if finding.advice and finding.advice != advice:
            print_line(console, Styled(f"      what to do: {finding.advice}", "muted"))
        advice = finding.advice
    if len(groups) > _MAX_FINDINGS:
        print_line(console, f"    and {len(groups) - _MAX_FINDINGS} more")
