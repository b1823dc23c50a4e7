"""Compare a run with its recording: exact, near (same status, reason and content, another text) or wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.conformance.scenario import Scenario

GRADES = ("exact", "near", "wrong")


class Difference(NamedTuple):
    path: str
    want: Any
    got: Any


class Row(NamedTuple):
    """The grade of one step."""

    want: dict[str, Any]
    grade: str
    differences: list[Difference]


@dataclass
class Report:
    """The grades of one scenario."""

    scenario: Scenario
    rows: list[Row] = field(default_factory=list)

    def count(self, grade: str) -> int:
        return sum(row.grade == grade for row in self.rows)

    @property
    def worst(self) -> str:
        return max((row.grade for row in self.rows), key=GRADES.index, default="exact")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def differences(want: Any, got: Any, path: str = "", most: int = 40) -> list[Difference]:
    if type(want) is not type(got) and not (_number(want) and _number(got)):
        return [Difference(path, want, got)]
    out: list[Difference] = []
    if isinstance(want, dict):
        for k in sorted(want.keys() | got.keys()):
            if k not in got:
                out.append(Difference(f"{path}.{k}", want[k], "(absent)"))
            elif k not in want:
                out.append(Difference(f"{path}.{k}", "(absent)", got[k]))
            else:
                out += differences(want[k], got[k], f"{path}.{k}")
    elif isinstance(want, list):
        if len(want) != len(got):
            out.append(Difference(f"{path}.length", len(want), len(got)))
        for i, (a, b) in enumerate(zip(want, got, strict=False)):
            out += differences(a, b, f"{path}.{i}")
    elif want != got:
        out.append(Difference(path, want, got))
    return out[:most]


def _says_more(d: Difference) -> bool:
    """True if a failure only adds to kube-apiserver's answer: a longer message or more details."""
    if d.path.endswith(".message") and isinstance(d.want, str) and isinstance(d.got, str):
        return d.got.startswith(d.want)
    return d.path in (".body.details", ".body.reason") and d.want == "(absent)"


def _warns_of_service(d: Difference) -> bool:
    """True if only we warn of a webhook behind a Service that cannot be reached."""
    return d.path == ".headers.warning" and d.want == "(absent)" and "the webhook cannot be called: " in str(d.got)


def _failed_watches(want: dict[str, Any]) -> tuple[str, ...]:
    """Return the paths of the events that end a watch with a 500."""
    return tuple(
        f".events.{i}.object.message"
        for i, event in enumerate(want.get("events") or ())
        if event.get("type") == "ERROR" and event["object"].get("code") == 500
    )


def grade(want: dict[str, Any], got: dict[str, Any]) -> Row:
    named = ("step", "what")
    found = differences(
        {k: v for k, v in want.items() if k not in named}, {k: v for k, v in got.items() if k not in named}
    )
    if want.get("status") == 500:
        found = [d for d in found if not _says_more(d)]
    failed = _failed_watches(want)
    found = [d for d in found if not (_warns_of_service(d) or (d.path in failed and _says_more(d)))]
    if not found:
        return Row(want, "exact", [])
    near = all(d.path.endswith(".message") or d.path.startswith(".headers") for d in found)
    return Row(want, "near" if near else "wrong", found)


def check(scenario: Scenario) -> Report:
    """Run one scenario and grade it against its recording. If it cannot run, every step is wrong."""
    recorded = json.loads(scenario.recording.read_text()) if scenario.recording.exists() else [{"step": 0, "what": "-"}]
    try:
        got = {answer["step"]: answer for answer in scenario.run()}
    except Exception as error:
        failure = [Difference("", "an answer", f"{type(error).__name__}: {error}")]
        return Report(scenario, [Row(want, "wrong", failure) for want in recorded])
    missing = [Difference("", "an answer", "(none)")]
    rows = [grade(want, got[want["step"]]) if want["step"] in got else Row(want, "wrong", missing) for want in recorded]
    return Report(scenario, rows)


def check_all(scenarios: Iterable[Scenario], at_once: int) -> Iterator[Report]:
    scenarios = list(scenarios)
    with ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(check, [scenario for scenario in scenarios if not scenario.alone])
    yield from map(check, [scenario for scenario in scenarios if scenario.alone])


def by_area(reports: Iterable[Report]) -> dict[str, dict[str, int]]:
    areas: dict[str, dict[str, int]] = {}
    for report in reports:
        counts = areas.setdefault(report.scenario.area, dict.fromkeys(GRADES, 0))
        for g in GRADES:
            counts[g] += report.count(g)
    return dict(sorted(areas.items()))


def table(areas: dict[str, dict[str, int]]) -> str:
    """Format the counts per area and in total as lines."""
    lines = [
        f"{area:16} exact {c['exact']:4}  near {c['near']:4}  wrong {c['wrong']:4}" for area, c in sorted(areas.items())
    ]
    exact, near, wrong = (sum(c[g] for c in areas.values()) for g in GRADES)
    total = exact + near + wrong
    percent = 100 * exact / (total or 1)
    lines.append(f"steps: {exact} exact, {near} near, {wrong} wrong of {total} ({percent:.1f}% exact)")
    return "\n".join(lines)


def details(report: Report, *, verbose: bool) -> Iterator[str]:
    """Format the result of one scenario: one line, and the differences of inexact steps."""
    exact = report.count("exact")
    yield f"{report.worst:5}  {report.scenario.name}  ({exact}/{len(report.rows)} steps exact)"
    for row in report.rows:
        if row.grade == "exact" or not (verbose or row.grade == "wrong"):
            continue
        yield f"       step {row.want['step']}: {row.want['what'][:110]}"
        for d in row.differences[: None if verbose else 4]:
            yield f"         {d.path}"
            yield f"           want {json.dumps(d.want)[:300]}"
            yield f"           got  {json.dumps(d.got)[:300]}"
