"""`polykind rehearse`: walk a definition through its releases and back, and see what it does to objects."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import add_truth
from polykind.contract import JsonObject
from polykind.server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from polykind.toolkit.declare.conversions import ConversionFunction
    from polykind.toolkit.rehearsal.rehearsal import Stage, StageResult

_MOST = 20
"""Findings of one stage that are shown."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "rehearse",
        help="walk a definition from release to release and back",
        description="Walk a CustomResourceDefinition from release to release and back, on a server of its own that is "
        "gone afterwards: each is written in turn, every object read at every served version, judged as if it were "
        "new, and migrated to the storage version. Says what is lost, changed, refused or stuck, and where. "
        "Exits with 0 if nothing is, with 1 if something is, with 2 if it could not begin.",
    )
    flag = command.add_argument
    flag(
        "--crd",
        action="append",
        type=Path,
        required=True,
        metavar="FILE",
        help="the definition as a release has it; repeat it for each release, oldest first",
    )
    flag(
        "--converter",
        action="append",
        default=[],
        metavar="MODULE:OBJECT",
        help="convert in process by this Python object or file of rules; may be repeated",
    )
    flag(
        "--resolve",
        action="append",
        default=[],
        metavar="NAMESPACE/SERVICE=HOST:PORT",
        help="where the service reference of a definition's webhook leads; may be repeated",
    )
    add_truth(command, "--migrate", "migrate to the storage version at each release")
    add_truth(command, "--back", "walk back as well")
    flag("files", nargs="+", type=Path, metavar="FILE", help="objects of the first release, files or folders")
    command.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    import uvloop

    try:
        return uvloop.run(_rehearse(chosen))
    except (SettingsError, ValueError) as error:
        print(f"polykind rehearse: {error}", file=sys.stderr)
        return 2


async def _rehearse(chosen: argparse.Namespace) -> int:
    from polykind.server.server import Server
    from polykind.toolkit.rehearsal.rehearsal import Rehearsal
    from polykind.toolkit.rehearsal.rehearsal_client import RehearsalClient

    stages = [_stage(path) for path in chosen.crd]
    objects = _objects(chosen.files, stages[0])
    fine = True
    with tempfile.TemporaryDirectory(prefix="polykind-rehearse-") as folder:
        settings = Settings(
            data_dir=Path(folder),
            secure_port=0,
            converter=tuple(chosen.converter),
            resolve=tuple(chosen.resolve),
            garbage_collector=False,
        )
        async with Server(settings) as server:
            rehearsal = Rehearsal(
                RehearsalClient(server),
                stages,
                objects,
                migrate=chosen.migrate,
                steps=_steps(chosen.converter, stages[0]),
            )
            width = max(len(stage.name) for stage in stages) + len("back to ")
            async for outcome in rehearsal.run(back=chosen.back):
                fine = fine and outcome.ok
                _show(outcome, width)
    print("nothing is lost that is not acknowledged" if fine else "not all is well", flush=True)
    return 0 if fine else 1


def _stage(path: Path) -> Stage:
    from polykind.toolkit.crd_versions import CRD, RejectedError
    from polykind.toolkit.files import manifests
    from polykind.toolkit.rehearsal.rehearsal import Stage

    found = [value for value in manifests.read_objects([path]) if value.get("kind") == "CustomResourceDefinition"]
    if len(found) != 1:
        raise ValueError(f"{path} has {len(found)} CustomResourceDefinitions, not one")
    try:
        return Stage(path.name, CRD(found[0]))
    except RejectedError as error:
        raise ValueError(f"{path}: {error}") from None


def _steps(converters: Iterable[str], stage: Stage) -> list[ConversionFunction]:
    """The steps that convert the definition's kind, as far as they are declared."""
    from polykind.toolkit.declare.loading import load_converter

    declared = [(load_converter(spec).declared or {}).get(stage.crd.kind) for spec in converters]
    return [step for conversions in declared if conversions is not None for step in conversions.steps.values()]


def _objects(paths: Iterable[Path], stage: Stage) -> list[JsonObject]:
    """The objects of the definition's kind that its first release can have; files may hold others too."""
    from polykind.toolkit.crd_versions import RejectedError
    from polykind.toolkit.files import manifests

    out, later = [], 0
    for value in manifests.read_objects(paths):
        try:
            stage.crd.version_of(value)
        except RejectedError:
            group = str(value.get("apiVersion", "")).rpartition("/")[0]
            later += f"{value.get('kind')}.{group}" == stage.crd.kind
            continue
        out.append(value)
    if later:
        what = "object is" if later == 1 else "objects are"
        print(f"{later} {what} of versions that {stage.name} does not have: left out", file=sys.stderr)
    if not out:
        known = ", ".join(stage.crd.versions)
        raise ValueError(f"no {stage.crd.kind} of {known} is in the files: there is nothing to rehearse with")
    return out


def _show(outcome: StageResult, width: int) -> None:
    stage = outcome.stage
    name = f"back to {stage.name}" if outcome.back else stage.name
    done = "1 object" if outcome.objects == 1 else f"{outcome.objects} objects"
    if outcome.migrated:
        done += f", migrated to {stage.crd.storage}"
    verdict = "stuck" if outcome.stuck else "ok" if outcome.ok else f"{len(outcome.findings)} found"
    print(f"{name:{width}}  {stage.versions:20}  {done:32}  {verdict}", flush=True)
    lines = outcome.findings + outcome.acknowledged
    for line in lines[:_MOST]:
        print(f"    {line}")
    if len(lines) > _MOST:
        print(f"    and {len(lines) - _MOST} more")
