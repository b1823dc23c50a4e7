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

if TYPE_CHECKING:
    from polykind.contract import JsonObject
    from polykind.toolkit.proving.progress import VersionPair
    from polykind.toolkit.proving.proof_run import ProofRun


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "prove",
        help="prove that conversions lose nothing",
        description="Generate objects from a CRD's schemas and convert them as the API server does: there and back, "
        "with edits in between, one by one and in lists. "
        "Exit codes: 0 all properties hold; 1 a property fails; 2 invalid usage.",
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
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        proof_run, pairs = _prepare(args)
    except (ValueError, ImportError) as error:
        print(f"polykind prove: {error}", file=sys.stderr)
        return 2
    return _print_json(proof_run, pairs) if args.json else _print_report(proof_run, pairs, args)


def _prepare(args: argparse.Namespace) -> tuple[ProofRun, list[VersionPair]]:
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
    proof_run = ProofRun(crd, library, examples=args.examples, seed=seed, properties=properties, samples=samples)
    pairs = [_pair(text, proof_run.pairs) for text in args.pair] or proof_run.pairs
    if not pairs:
        raise ValueError(f"{crd.name} has only one version, so there is nothing to convert")
    return proof_run, pairs


def _print_report(proof_run: ProofRun, pairs: list[VersionPair], args: argparse.Namespace) -> int:
    from polykind.toolkit.proving import proof_report

    started = time.monotonic()
    failures = []
    for number, pair in enumerate(pairs, 1):
        _progress(f"{' to '.join(pair)} ({number} of {len(pairs)})")
        findings = [proof_run.finding(name, each) for name, each in proof_run.cases() if each == pair]
        failures += [(pair, finding) for finding in findings if finding is not None]
    _progress("")
    print(proof_report.table(proof_run, pairs), end="\n\n")
    for pair, finding in failures:
        print(
            proof_report.failure(proof_run, pair, finding, _repeat_command(args, proof_run, finding.property, pair)),
            end="\n\n",
        )
    if lost := proof_run.losses.matrix():
        print("lost on the way there and back:", proof_report.loss_table(lost), sep="\n", end="\n\n")
    notes = [
        *proof_report.unknown_paths(proof_run),
        *proof_report.stale_acknowledgements(proof_run),
        *(note for pair in pairs if (note := proof_report.too_few_objects(proof_run, pair))),
    ]
    for note in notes:
        print(note, end="\n\n")
    for note in proof_report.uncovered_fields(proof_run, pairs):
        print(note, end="\n\n")
    object_count = sum(proof_run.result(pair).tested for pair in pairs)
    pair_count = f"{len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'} of versions"
    summary = f"{object_count} objects, {pair_count}, seed {proof_run.seed}, {time.monotonic() - started:.1f}s"
    problems = len(failures) + len(notes)
    proven = f"{', '.join(args.property)} proven, no other property checked" if args.property else "all is proven"
    print(f"{proof_run.crd.kind}: {f'{problems} not proven' if problems else proven} ({summary})")
    return 1 if problems else 0


def _print_json(proof_run: ProofRun, pairs: list[VersionPair]) -> int:
    from polykind.toolkit.proving import proof_report

    out = proof_report.to_json(proof_run, pairs)
    json.dump(out, sys.stdout, indent=2)
    print()
    return 1 if out["stale"] or out["health"] or not all(result["ok"] for result in out["results"]) else 0


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


def _progress(text: str) -> None:
    """Replace the progress line on stderr by `text`. Do nothing if stderr is not a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
