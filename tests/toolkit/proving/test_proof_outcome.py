"""The outcome of a run, and the reports that are written from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from polykind.toolkit.proving.proof_outcome import ProofOutcome, collect, stages
from polykind.toolkit.proving.proof_page import proof_page
from polykind.toolkit.proving.proof_problems import check_results, problems, property_rule, rules
from polykind.toolkit.proving.properties import PROPERTIES
from polykind.toolkit.reporting.junit_report import junit_xml
from polykind.toolkit.reporting.source_positions import CRDFile
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run

PAIR = ("v2", "v1")


def outcome_of(converter: Any, **options: Any) -> ProofOutcome:
    run = proof_run(converter, examples=20, **options)
    return collect(run, run.pairs, repeat=lambda name, pair: f"repeat {name} {pair[0]}")


def test_verdict_says_tested_and_never_proven() -> None:
    good = outcome_of(conversions())
    assert (good.verdict, good.level, good.object_count) == ("all properties hold", "ok", 40)
    assert good.summary.startswith("tested with 40 objects, 2 pairs of versions, seed 0, ")
    bad = outcome_of(conversions(c.bare_down))
    assert (bad.verdict, bad.level) == ("1 problem", "error")
    assert not any("proven" in text for text in (good.verdict, good.summary, proof_page(good)))


def test_stages_show_the_object_before_converted_and_back() -> None:
    outcome = outcome_of(conversions(c.bare_down), properties=["there-and-back"])
    [(pair, finding)] = outcome.findings
    before, converted, back = stages(outcome.run, pair, finding)
    assert [stage.version for stage in (before, converted, back)] == ["v2", "v1", "v2"]
    assert before.obj == finding.obj
    assert [stage.shows_differences for stage in (before, converted, back)] == [True, False, True]
    assert back.obj is not None
    lost = finding.differences[0].path[-1]
    assert lost in finding.obj["spec"]
    assert lost not in back.obj["spec"]


def test_stages_of_an_edit_start_at_the_edited_object() -> None:
    outcome = outcome_of(c.stale_stash(), properties=["edit-survives"])
    finding = outcome.run.finding("edit-survives", PAIR)
    assert finding is not None
    edited, stored, again = stages(outcome.run, PAIR, finding)
    assert [stage.version for stage in (edited, stored, again)] == ["v1", "v2", "v1"]
    assert edited.obj is not None
    assert again.obj is not None
    assert edited.obj["spec"] != again.obj["spec"]


def test_stages_of_a_failed_conversion_have_the_error() -> None:
    outcome = outcome_of(conversions(c.after(c.needs_spec, c.down)), properties=["partial-object"])
    [(pair, finding)] = outcome.findings
    _, converted, back = stages(outcome.run, pair, finding)
    assert (converted.obj, back.obj) == (None, None)
    assert "KeyError" in converted.error
    assert back.error == "not reached"


def test_page_shows_findings_losses_coverage_and_reasons() -> None:
    converter = conversions(c.bare_down, loses={"spec.timeZone": "UTC <only>"})
    page = proof_page(outcome_of(converter))
    assert 'href="#finding-there-and-back-v2-v1"' in page
    assert 'id="finding-there-and-back-v2-v1"' in page
    for text in ("UTC &lt;only&gt;", "repeat there-and-back v2", "Tested with", "40 objects", "Distinct values"):
        assert text in page
    assert 'class="line removed emphasis"' in page


def test_page_of_a_good_converter_has_no_findings() -> None:
    page = proof_page(outcome_of(conversions()))
    assert "All properties hold" in page
    assert 'id="findings"' not in page
    assert "Every field of every tested object came back unchanged." in page


def test_problems_point_to_the_function_and_to_the_field(tmp_path: Path) -> None:
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(c.manifest(), sort_keys=False))
    outcome = outcome_of(conversions(c.bare_down))
    outcome.crd_file = CRDFile(file, outcome.run.crd.name)
    [problem] = problems(outcome)
    assert (problem.rule, problem.subject) == ("there-and-back", "v2 to v1")
    assert problem.position is not None
    assert problem.position.file.endswith("converters.py")
    line = Path(problem.position.file).read_text().splitlines()[problem.position.line - 1]
    assert "def bare_down" in line
    label, position = problem.related[-1]
    field = str(outcome.findings[0][1].differences[0].path[-1])
    assert label == f"spec.{field} of v2"
    assert file.read_text().splitlines()[position.line - 1].strip().startswith(f"{field}:")


def test_problems_point_to_the_line_that_raised() -> None:
    [problem] = problems(outcome_of(conversions(c.after(c.needs_spec, c.down)), properties=["partial-object"]))
    assert problem.position is not None
    line = Path(problem.position.file).read_text().splitlines()[problem.position.line - 1]
    assert 'obj["spec"]' in line


def test_remarks_are_problems() -> None:
    outcome = outcome_of(conversions(loses={"spec.timeZone": "UTC only"}))
    [problem] = problems(outcome)
    assert problem.rule == "acknowledged-losses"
    assert 'id="remark-1"' in proof_page(outcome)


def test_check_results_list_every_property_of_every_pair() -> None:
    outcome = outcome_of(conversions(c.bare_down))
    results = check_results(outcome)
    assert len(results) == len(outcome.run.cases()) + 3
    assert [result.name for result in results if result.problems] == ["there-and-back"]
    root = ElementTree.fromstring(junit_xml("CronTab", results))
    assert (root.get("tests"), root.get("failures")) == (str(len(results)), "1")


def test_every_property_is_a_rule_with_a_sentence() -> None:
    listed = {rule.id: rule for rule in rules()}
    assert set(PROPERTIES) < set(listed)
    for rule in listed.values():
        assert rule.summary.endswith("."), rule
        assert rule.advice, rule
    assert property_rule("deterministic").summary == "The same object always gives the same result."
