"""Measure how many seeded bugs a proof run finds: python -m tests.toolkit.proving.bugs [--seconds N] [NAME...]."""

from __future__ import annotations

import argparse
import sys

from tests.toolkit.proving.bugs.correct import CORRECT, FAMILIES
from tests.toolkit.proving.bugs.measure import first_finding


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10, help="CPU seconds for each bug")
    parser.add_argument("--correct", type=float, default=0, help="CPU seconds for each correct converter")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", help="bugs or families")
    args = parser.parse_args()
    missed: list[str] = []
    levels: dict[str, list[int]] = {}
    for family_name, family in FAMILIES.items():
        for bug in family.bugs:
            if args.names and not {bug.name, family_name} & {*args.names}:
                continue
            found = first_finding(bug.name, family.manifest, bug.converter, args.seconds, args.seed)
            level = levels.setdefault(bug.level, [0, 0])
            level[0] += bool(found.finding)
            level[1] += 1
            missed += [] if found.finding else [bug.name]
            _print_row(f"{family_name:13}{bug.level:7}", bug.name, *found[1:], found.finding or "MISSED")
    total = sum(count for _, count in levels.values())
    summary = ", ".join(f"{level} {found} of {count}" for level, (found, count) in sorted(levels.items()))
    print(f"found {total - len(missed)} of {total} ({summary}); missed: {', '.join(missed) or 'none'}")
    flagged = 0
    for name, manifest, converter in CORRECT if args.correct else ():
        found = first_finding(name, manifest, converter, args.correct, args.seed)
        flagged += bool(found.finding)
        _print_row(f"{'correct':20}", name, *found[1:], found.finding or "ok")
    if args.correct:
        print(f"reported {flagged} of {len(CORRECT)} correct converters")
    return 1 if flagged or len(missed) > total // 10 else 0


def _print_row(head: str, name: str, seconds: float, tested: int, text: str) -> None:
    print(f"{head}{name:46}{seconds:6.2f}s {tested:6} {text[:90]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
