"""Conformance floors: the number of exact steps that each area must reach. They only rise.

python -m tests.conformance.floors   runs every scenario and raises the floors to the current counts
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.conformance.__main__ import paths, target
from tests.conformance.grades import by_area, check_all, table
from tests.conformance.scenario import Scenario

FLOORS = Path(__file__).parent / "floors.json"


def load() -> dict[str, int]:
    floors: dict[str, int] = json.loads(FLOORS.read_text())
    return floors


def below_floor(areas: dict[str, dict[str, int]], floors: dict[str, int]) -> list[str]:
    """Describe each area that is below its floor."""
    return [
        f"{area}: {areas.get(area, {}).get('exact', 0)} steps exact, the floor is {floor}"
        for area, floor in sorted(floors.items())
        if areas.get(area, {}).get("exact", 0) < floor
    ]


def raised(areas: dict[str, dict[str, int]], floors: dict[str, int]) -> dict[str, int]:
    return {area: max(counts["exact"], floors.get(area, 0)) for area, counts in sorted(areas.items())}


def main() -> int:
    floors = load()
    with target("", "") as servers:
        areas = by_area(check_all([Scenario(p, servers.of(p)) for p in paths([])], 6))
    print(table(areas))
    if below := below_floor(areas, floors):
        print("\n".join(below))
        return 1
    FLOORS.write_text(json.dumps(raised(areas, floors), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
