from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from polykind.toolkit.rehearsal.rehearsal import PhaseResult, StageResult
from polykind.toolkit.rehearsal.rehearsal_finding import Finding, group_findings, with_count
from polykind.toolkit.rehearsal.rehearsal_report import as_json, page
from tests.support import browser
from tests.toolkit.rehearsal.test_rehearsal import ONE, TWO

EVIL = "<script>alert(1)</script>"
FINDING = Finding(
    f"{EVIL} was removed", "clients", "error", "team/one", "v1 (PUT)", "v2", "spec.extra", EVIL, advice="keep it"
)


def results() -> list[StageResult]:
    warning = Finding("a warning", "outage", "warning", field="metadata.managedFields")
    return [
        StageResult(ONE, False, 1, True, phases=[PhaseResult("read", "every object is read at v1", 0.1)]),
        StageResult(TWO, False, 1, True, [FINDING, warning], [PhaseResult("clients", "clients write back", 1.5)]),
    ]


def test_json_has_the_parts_of_a_finding() -> None:
    report = json.loads(json.dumps(as_json(results())))
    assert (report["ok"], [step["ok"] for step in report["steps"]]) == (False, [True, False])
    assert report["steps"][1]["versions"] == ["v1", "v2*"]
    assert report["steps"][1]["findings"][0] == {
        "phase": "clients",
        "level": "error",
        "text": f"{EVIL} was removed",
        "object": "team/one",
        "client": "v1 (PUT)",
        "version": "v2",
        "field": "spec.extra",
        "before": EVIL,
        "advice": "keep it",
    }


async def test_page_is_complete_and_runs_nothing_foreign(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page("crontabs.example.com", results()))
    async with browser.launch(tmp_path / "profile") as chromium:
        tab = await chromium.page()
        await tab.open(file, width=400)
        text = await tab.evaluate("document.body.innerText")
        overflow = await tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    assert tab.errors == []
    assert tab.requests == [file.as_uri()]
    assert not overflow
    for wanted in (
        "1 problem",
        f"{EVIL} was removed",
        "v1 (PUT)",
        "spec.extra",
        "What to do: keep it",
        "Clients write",
    ):
        assert wanted in text


def test_findings_that_differ_only_in_objects_and_values_are_one_group() -> None:
    other = replace(FINDING, object="team/two", text="two", before=7)
    elsewhere = replace(FINDING, field="spec.other")
    unreadable = [Finding(f"{name} cannot be read", "read", object=f"team/{name}") for name in ("one", "two")]
    groups = group_findings([FINDING, other, elsewhere, *unreadable])
    assert groups == [(FINDING, 2), (elsewhere, 1), (unreadable[0], 2)]
    assert with_count(unreadable[0], 2) == "one cannot be read (and 1 more of this kind)"
