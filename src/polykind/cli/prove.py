"""`polykind prove`: tests with generated objects that conversions lose nothing."""

from __future__ import annotations

import argparse
import json
import secrets
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.cli.flags import add_list_flag
from polykind.cli.report_flags import add_report_flags, check_report_files, write_reports

if TYPE_CHECKING:
    from polykind.contract import JsonObject
    from polykind.toolkit.proving.progress import Observer, VersionPair
    from polykind.toolkit.proving.proof_outcome import ProofOutcome
    from polykind.toolkit.proving.proof_run import ProofRun
    from polykind.toolkit.proving.proof_terminal import ProgressDisplay

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 + SIGINT."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "prove",
        help="test with generated objects that conversions lose nothing",
        description="Generate objects from a CRD's schemas and convert them as the API server does: there and back, "
        "with edits in between, one by one and in lists. "
        "Exit codes: 0 all properties hold; 1 a property fails; 2 invalid usage; 130 interrupted.",
    )
    flag = command.add_argument
    flag("--converter", required=True, metavar="MODULE:OBJECT", help="the conversions: a Python object or a rules file")
    flag("--crd", required=True, type=Path, metavar="FILE", help="CRD of the kind")
    flag(
        "--examples",
        type=_positive,
        default=100,
        metavar="N",
        help="number of objects to generate for each pair of versions (default: %(default)s)",
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
    flag("--json", action="store_true", help="print the report as JSON")
    add_report_flags(command)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from polykind.toolkit.proving import proof_terminal

    display = proof_terminal.ProgressDisplay()
    try:
        check_report_files(args)
        proof_run, pairs = _prepare(args, display)
    except (ValueError, ImportError) as error:
        print(f"polykind prove: {error}", file=sys.stderr)
        return 2
    outcome = _test(args, proof_run, pairs, display)
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
            crd_file=CRDFile(args.crd, proof_run.crd.name),
            repeat=lambda name, pair: _repeat_command(args, proof_run, name, pair),
        )
    outcome.seconds = time.monotonic() - started
    return outcome


def _settings(args: argparse.Namespace, proof_run: ProofRun) -> dict[str, str]:
    """Return the settings of the run for the reports."""
    out = {"Converter": args.converter, "CRD file": str(args.crd), "Objects per pair": str(proof_run.examples)}
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


def _prepare(args: argparse.Namespace, observer: Observer) -> tuple[ProofRun, list[VersionPair]]:
    from polykind.toolkit.crd_versions import read_crd
    from polykind.toolkit.declare.loading import load_converter
    from polykind.toolkit.proving.proofs import PROPERTIES, ProofRun

    if unknown := [name for name in args.property if name not in PROPERTIES]:
        raise ValueError(f"--property {unknown[0]}: known properties: {', '.join(PROPERTIES)}")
    library = load_converter(args.converter)
    crd = read_crd(args.crd, library)
    samples = [sample for file in args.samples for sample in _samples(file, crd.kind)]
    properties = args.property or PROPERTIES
    seed = _seed(args.seed)
    proof_run = ProofRun(
        crd, library, examples=args.examples, seed=seed, properties=properties, samples=samples, observer=observer
    )
    pairs = [_pair(text, proof_run.pairs) for text in args.pair] or proof_run.pairs
    if not pairs:
        raise ValueError(f"{crd.name} has only one version, so there is nothing to convert")
    return proof_run, pairs


def _repeat_command(args: argparse.Namespace, proof_run: ProofRun, name: str, pair: VersionPair) -> str:
    words = ["polykind", "prove", "--converter", args.converter, "--crd", str(args.crd)]
    words += ["--property", name, "--pair", ":".join(pair)]
    if proof_run.seed:
        words += ["--seed", str(proof_run.seed)]
    if proof_run.examples != 100:
        words += ["--examples", str(proof_run.examples)]
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


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number
