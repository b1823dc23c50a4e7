"""Measure how many seeded bugs a proof run finds: python -m tests.toolkit.proving.bugs [--seconds N] [NAME...]."""

from __future__ import annotations

import argparse
import sys
import time

from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.declare.library import Library
from polykind.toolkit.proving.proof_run import ProofRun
from tests.toolkit.proving.bugs.correct import CORRECT, FAMILIES


def first_finding(
    name: str, manifest: object, converter: object, seconds: float, seed: int = 0
) -> tuple[str, float, int]:
    """Return the first finding as text, or "", with the CPU seconds until then and the number of tested objects."""
    started = time.process_time()
    run = ProofRun(CRD(manifest), Library(name, converter), seconds=seconds, seed=seed, fail_fast=True)
    for pair in run.pairs:
        result = run.result(pair)
        for property_name, (_, finding) in result.failed.items():
            took = time.process_time() - started
            return f"{property_name} {pair[0]}:{pair[1]} {finding.message[:60]}", took, result.tested
    return "", time.process_time() - started, sum(run.result(pair).tested for pair in run.pairs)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--correct", type=float, default=0, help="seconds for each correct converter")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    missed, total = [], 0
    levels: dict[str, list[int]] = {}
    for family_name, family in FAMILIES.items():
        for bug in family.bugs:
            if args.names and bug.name not in args.names and family_name not in args.names:
                continue
            found, took, tested = first_finding(bug.name, family.manifest, bug.converter, args.seconds, args.seed)
            total += 1
            level = levels.setdefault(bug.level, [0, 0])
            level[0] += bool(found)
            level[1] += 1
            if not found:
                missed.append(bug.name)
            print(f"{family_name:13}{bug.level:7}{bug.name:46}{took:6.2f}s {tested:5} {found or 'MISSED'}", flush=True)
    summary = ", ".join(f"{level} {found} of {count}" for level, (found, count) in sorted(levels.items()))
    print(f"found {total - len(missed)} of {total} ({summary}); missed: {', '.join(missed) or 'none'}")
    flagged = 0
    if args.correct:
        for name, manifest, converter in CORRECT:
            found, took, tested = first_finding(name, manifest, converter, args.correct, args.seed)
            flagged += bool(found)
            print(f"{'correct':20}{name:46}{took:6.2f}s {tested:5} {found or 'ok'}", flush=True)
        print(f"flagged {flagged} of {len(CORRECT)} correct converters")
    return 1 if flagged or len(missed) > total // 10 else 0


if __name__ == "__main__":
    sys.exit(main())
