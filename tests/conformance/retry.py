"""Repeat inexact scenarios, because the second in which a step runs can change a response."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tests.conformance.__main__ import Servers, paths
from tests.conformance.floors import below_floor
from tests.conformance.grades import Report, by_area, check_all
from tests.conformance.scenario import Scenario

ATTEMPTS = 6
"""A real regression stays inexact in every attempt. A step that crossed a second does not."""


def repeat_inexact(reports: Iterable[Report], servers: Servers, floors: dict[str, int]) -> list[Report]:
    """Repeat the inexact scenarios of each area that is below its floor, and keep the best report of each.

    Field managers are sorted by the second of their last write, and Tables print ages in seconds. If a new second
    begins between two steps, a response differs from the recording. So each attempt runs alone and starts with a
    new second.
    """
    best = {report.scenario.name: report for report in reports}
    low = [line.partition(":")[0] for line in below_floor(by_area(best.values()), floors)]
    inexact = [name for name, report in best.items() if report.worst != "exact" and report.scenario.area in low]
    for _ in range(ATTEMPTS):
        for name in [name for name in inexact if best[name].worst != "exact"]:
            time.sleep(1 - time.time() % 1)
            for report in check_all([Scenario(p, servers.of(p)) for p in paths([name])], 1):
                best[name] = max(report, best[name], key=lambda each: each.count("exact"))
        if not below_floor(by_area(best.values()), floors):
            break
    return list(best.values())
