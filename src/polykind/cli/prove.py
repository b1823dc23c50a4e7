"""`polykind prove`: tests with generated objects that conversions lose nothing."""

from __future__ import annotations

import argparse
import json
import secrets
import shlex
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import add_list_flag
from polykind.cli.prove_source import add_source_flags, open_source
from polykind.cli.report_flags import add_report_flags, check_report_files, write_reports

if TYPE_CHECKING:
    from polykind.contract import JsonObject
    from polykind.toolkit.proving.progress import Observer, VersionPair
    from polykind.toolkit.proving.proof_outcome import ProofOutcome
    from polykind.toolkit.proving.proof_run import ProofRun
    from polykind.toolkit.proving.proof_terminal import ProgressDisplay

_SECONDS = 10.0
_EXAMPLES = 100
INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 + SIGINT."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "prove",
        help="test with generated objects that conversions lose nothing",
        description="Generate objects from a CRD's schemas and convert them as the API server does: there and back, "
        "with edits in between, one by one and in lists. The converter is a Python object, a rules file, a webhook, or "
        "the conversion that the CRD specifies. "
        "Exit codes: 0 all properties hold; 1 a property fails; 2 invalid usage; 130 interrupted.",
    )
    flag = command.add_argument
    add_source_flags(command)
    flag(
        "--seconds",
        type=_positive_seconds,
        default=None,
        metavar="N",
        help=f"time for all pairs together: CPU time, or elapsed time for a webhook (default: {_SECONDS:g})",
    )
    flag(
        "--examples",
        type=_positive,
        default=None,
        metavar="N",
        help="number of objects to generate for each pair of versions, instead of --seconds",
    )
    flag(
        "--seed",
        default="0",
        metavar="SEED",
        help="number that determines the generated objects, or random (default: %(default)s)",
    )
    add_list_flag(command, "--property", "NAME", "test only this property")
    add_list_flag(command, "--pair", "V1:V2", "test only the conversion from V1 to V2")
    flag(
        "--samples",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="file or directory with real objects, used unchanged and with parts exchanged; may be repeated",
    )
    flag(
        "--save",
        default=None,
        metavar="DIR",
        help="folder for objects that broke a property, which the next run tries first; empty to save nothing "
        "(default: .polykind/regressions)",
    )
    flag("--json", action="store_true", help="print the report as JSON")
    add_report_flags(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from polykind.toolkit.proving import proof_terminal
    from polykind.toolkit.proving.round_trip import ConverterUnavailableError

    display = proof_terminal.ProgressDisplay()
    try:
        check_report_files(args)
        proof_run, pairs = _prepare(args, display)
        outcome = _test(args, proof_run, pairs, display)
        _save(args, outcome)
    except (ValueError, ImportError, ConverterUnavailableError) as error:
        print(f"polykind prove: {error}", file=sys.stderr)
        return 2
    if args.json:
        from polykind.toolkit.proving import proof_json

        json.dump(proof_json.to_json(outcome), sys.stdout, indent=2)
        print()
    else:
        from polykind.toolkit.reporting.terminal import open_console

        proof_terminal.print_outcome(open_console(args.color), outcome)
    try:
        _write_reports(args, outcome)
    except ValueError as error:
        print(f"polykind prove: {error}", file=sys.stderr)
        return 2
    if outcome.interrupted:
        return INTERRUPTED
    return 1 if outcome.problem_count else 0


def _test(
    args: argparse.Namespace, proof_run: ProofRun, pairs: list[VersionPair], display: ProgressDisplay
) -> ProofOutcome:
    """Run the tests with a progress bar. Ctrl-C ends them early."""
    from polykind.toolkit.proving.proof_outcome import collect
    from polykind.toolkit.reporting.source_positions import CRDFile
    from polykind.toolkit.reporting.terminal import progress_bar

    started = time.monotonic()
    with progress_bar(args.color) as display.bar:
        outcome = collect(
            proof_run,
            pairs,
            settings=_settings(args, proof_run),
            crd_file=None if args.kubeconfig else CRDFile(Path(args.crd), proof_run.crd.name),
            repeat=lambda name, pair: _repeat_command(args, proof_run, name, pair),
        )
    outcome.seconds = time.monotonic() - started
    return outcome


def _settings(args: argparse.Namespace, proof_run: ProofRun) -> dict[str, str]:
    """Return the settings of the run for the reports."""
    out = {"Converter": args.source.name, "CRD" if args.kubeconfig else "CRD file": str(args.crd)}
    if proof_run.seconds is None:
        out["Objects per pair"] = str(proof_run.examples)
    else:
        out["Seconds"] = f"{proof_run.seconds:g}"
    if args.samples:
        out["Samples"] = ", ".join(map(str, args.samples))
    return out


def _write_reports(args: argparse.Namespace, outcome: ProofOutcome) -> None:
    """Write the report files and annotations. Raise ValueError if a file cannot be written."""
    from polykind.toolkit.proving import proof_page, proof_problems
    from polykind.toolkit.reporting.junit_report import junit_xml
    from polykind.toolkit.reporting.sarif_report import sarif_log

    kind, problems = outcome.run.crd.kind, proof_problems.problems(outcome)
    facts = {**outcome.settings, "Seed": str(outcome.run.seed), "Tested with": f"{outcome.object_count} objects"}
    write_reports(
        args,
        problems,
        html=lambda: proof_page.proof_page(outcome),
        junit=lambda: junit_xml(kind, proof_problems.check_results(outcome), seconds=outcome.seconds, properties=facts),
        sarif=lambda: sarif_log(
            "prove", proof_problems.rules(), problems, complete=not outcome.interrupted, properties=facts
        ),
    )


def _check_flags(args: argparse.Namespace, properties: Collection[str]) -> None:
    """Raise ValueError if the arguments do not fit together, or name a property that does not exist."""
    if unknown := [name for name in args.property if name not in properties]:
        raise ValueError(f"--property {unknown[0]}: known properties: {', '.join(properties)}")
    if args.seconds and args.examples:
        raise ValueError("--seconds: cannot be combined with --examples")


def _prepare(args: argparse.Namespace, observer: Observer) -> tuple[ProofRun, list[VersionPair]]:
    from polykind.toolkit.proving import regressions
    from polykind.toolkit.proving.loss_file import read_losses
    from polykind.toolkit.proving.proof_run import ProofRun, version_pairs
    from polykind.toolkit.proving.properties import PROPERTIES

    _check_flags(args, PROPERTIES)
    seed = _seed(args.seed)
    source = args.source = open_source(args)
    crd = source.crd
    samples = [sample for file in args.samples for sample in _samples(file, crd.kind)]
    pairs = [_pair(text, version_pairs(crd)) for text in args.pair] or version_pairs(crd)
    if not pairs:
        raise ValueError(f"{crd.name} has only one version, so there is nothing to convert")
    proof_run = ProofRun(
        crd,
        source.converter,
        examples=args.examples or _EXAMPLES,
        seconds=None if args.examples else args.seconds or _SECONDS,
        seed=seed,
        properties=args.property or PROPERTIES,
        samples=samples,
        pairs=pairs,
        acknowledged=read_losses(args.losses, crd) if args.losses else (),
        observer=observer,
        clock=source.clock,
        fresh=source.fresh,
        regressions=regressions.load(_folder(args), crd) if _saves(args) else (),
    )
    return proof_run, pairs


def _saves(args: argparse.Namespace) -> bool:
    return args.save is None or args.save != ""


def _folder(args: argparse.Namespace) -> Path:
    from polykind.toolkit.proving import regressions

    return regressions.FOLDER if args.save is None else Path(args.save)


def _save(args: argparse.Namespace, outcome: ProofOutcome) -> None:
    """Save the objects of the findings for the next run. Raise ValueError if that fails."""
    from polykind.toolkit.proving import regressions

    if not _saves(args) or not outcome.findings:
        return
    try:
        regressions.save(_folder(args), outcome.run.crd, outcome.findings)
    except OSError as error:
        raise ValueError(f"--save {_folder(args)}: {error.strerror}; pass --save= to save nothing") from None


def _repeat_command(args: argparse.Namespace, proof_run: ProofRun, name: str, pair: VersionPair) -> str:
    words = ["polykind", "prove", *args.source.words, "--property", name, "--pair", ":".join(pair)]
    if proof_run.seed:
        words += ["--seed", str(proof_run.seed)]
    if proof_run.seconds is None:
        words += ["--examples", str(proof_run.examples)]
    else:
        # A number of objects does not depend on the speed of the machine, so the command finds the same object again.
        words += ["--examples", str(max(_EXAMPLES, proof_run.result(pair).failed_at.get(name, 0) + 1))]
    for file in args.samples:
        words += ["--samples", str(file)]
    return shlex.join(words)


def _samples(file: Path, kind: str) -> list[JsonObject]:
    """Return the objects of a kind in a file or directory. Raise ValueError if there are none or a file is invalid."""
    from polykind.toolkit.files import manifests

    name, _, group = kind.partition(".")
    try:
        found = list(manifests.read_objects([file]))
    except ValueError as error:
        raise ValueError(f"--samples {error}") from None
    out = [obj for obj in found if obj.get("kind") == name and str(obj.get("apiVersion")).startswith(f"{group}/")]
    if not out:
        raise ValueError(f"--samples {file}: contains no {kind}")
    return out


def _pair(text: str, pairs: list[VersionPair]) -> VersionPair:
    origin, _, goal = text.partition(":")
    if (origin, goal) not in pairs:
        raise ValueError(f"--pair {text}: known pairs: {', '.join(':'.join(pair) for pair in pairs)}")
    return origin, goal


def _seed(text: str) -> int:
    if text == "random":
        return secrets.randbelow(1 << 32)
    if not text.isdecimal():
        raise ValueError(f"--seed {text}: must be a number or random")
    return int(text)


def _positive_seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError("must be a positive number of seconds")
    return number


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
