"""`polykind rehearse`: takes a CRD through its releases and back, and reports what happens to objects."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import add_bool_flag, add_list_flag
from polykind.contract import JsonObject
from polykind.server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from polykind.toolkit.declare.conversions import ConversionFunction
    from polykind.toolkit.rehearsal.rehearsal import Stage, StageResult

_MAX_FINDINGS = 20
"""The maximum number of findings shown per stage."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "rehearse",
        help="rehearse the upgrade and downgrade of a CRD",
        description="Upgrade a CustomResourceDefinition from release to release and back on a temporary server. At "
        "each release every object is read at every served version, validated as if it were new, and migrated to the "
        "storage version. Reports what is lost, changed, rejected or stuck, and at which release. "
        "Exit codes: 0 nothing found; 1 something found; 2 invalid usage.",
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
    add_list_flag(command, "--converter", "MODULE:OBJECT", "convert in-process with this Python object or rules file")
    add_list_flag(
        command, "--resolve", "NAMESPACE/SERVICE=HOST:PORT", "address of a Service that a CRD's webhook refers to"
    )
    add_bool_flag(command, "--migrate", "migrate all objects to the storage version at each release")
    add_bool_flag(command, "--back", "downgrade as well")
    flag("files", nargs="+", type=Path, metavar="FILE", help="file or directory with objects of the first release")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    # Hide the server's warnings: the printed report already contains the errors of the server.
    server_log = logging.getLogger("polykind")
    level = server_log.level
    server_log.setLevel(logging.ERROR)
    try:
        return uvloop.run(_rehearse(args))
    except (SettingsError, ValueError) as error:
        print(f"polykind rehearse: {error}", file=sys.stderr)
        return 2
    finally:
        server_log.setLevel(level)


async def _rehearse(args: argparse.Namespace) -> int:
    from polykind.server.server import Server
    from polykind.toolkit.rehearsal.rehearsal import Rehearsal, RehearsalClient

    stages = [_stage(path) for path in args.crd]
    objects = _objects(args.files, stages[0])
    ok = True
    with tempfile.TemporaryDirectory(prefix="polykind-rehearse-") as directory:
        settings = Settings(
            data_dir=Path(directory),
            secure_port=0,
            converter=tuple(args.converter),
            resolve=tuple(args.resolve),
            garbage_collector=False,
        )
        async with Server(settings) as server:
            rehearsal = Rehearsal(
                RehearsalClient(server),
                stages,
                objects,
                migrate=args.migrate,
                steps=_conversion_functions(args.converter, stages[0]),
            )
            width = max(len(stage.name) for stage in stages) + len("back to ")
            async for result in rehearsal.run(back=args.back):
                ok = ok and result.ok
                _show(result, width)
    print("no unacknowledged loss" if ok else "problems found", flush=True)
    return 0 if ok else 1


def _stage(path: Path) -> Stage:
    from polykind.toolkit.crd_versions import CRD, RejectedError
    from polykind.toolkit.files import manifests
    from polykind.toolkit.rehearsal.rehearsal import Stage

    found = [value for value in manifests.read_objects([path]) if value.get("kind") == "CustomResourceDefinition"]
    if len(found) != 1:
        raise ValueError(f"{path} contains {len(found)} CustomResourceDefinitions; exactly one is required")
    try:
        return Stage(path.name, CRD(found[0]))
    except RejectedError as error:
        raise ValueError(f"{path}: {error}") from None


def _conversion_functions(converters: Iterable[str], stage: Stage) -> list[ConversionFunction]:
    """Return the declared conversion functions of the CRD's kind."""
    from polykind.toolkit.declare.loading import load_converter

    declared = [(load_converter(spec).declared or {}).get(stage.crd.kind) for spec in converters]
    return [step for conversions in declared if conversions is not None for step in conversions.steps.values()]


def _objects(paths: Iterable[Path], stage: Stage) -> list[JsonObject]:
    """Return the objects in the files that `stage`, the CRD of the first release, can serve. Skip all others."""
    from polykind.toolkit.crd_versions import RejectedError
    from polykind.toolkit.files import manifests

    out, unknown_versions = [], 0
    for value in manifests.read_objects(paths):
        try:
            stage.crd.version_of(value)
        except RejectedError:
            group = str(value.get("apiVersion", "")).rpartition("/")[0]
            unknown_versions += f"{value.get('kind')}.{group}" == stage.crd.kind
            continue
        out.append(value)
    if unknown_versions:
        noun = "object is" if unknown_versions == 1 else "objects are"
        print(f"{unknown_versions} {noun} of versions that {stage.name} does not have: ignored", file=sys.stderr)
    if not out:
        versions = ", ".join(stage.crd.versions)
        raise ValueError(f"the files contain no {stage.crd.kind} of {versions}")
    return out


def _show(result: StageResult, width: int) -> None:
    stage = result.stage
    name = f"back to {stage.name}" if result.back else stage.name
    summary = "1 object" if result.objects == 1 else f"{result.objects} objects"
    if result.migrated:
        summary += f", migrated to {stage.crd.storage}"
    verdict = "stuck" if result.stuck else "ok" if result.ok else f"{len(result.findings)} found"
    print(f"{name:{width}}  {stage.versions:20}  {summary:32}  {verdict}", flush=True)
    lines = result.findings + result.acknowledged
    for line in lines[:_MAX_FINDINGS]:
        print(f"    {line}")
    if len(lines) > _MAX_FINDINGS:
        print(f"    and {len(lines) - _MAX_FINDINGS} more")
