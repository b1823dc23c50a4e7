from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.convert import Conversions, move
from polykind.declare.library import Library
from polykind.evolution.change_finding import ChangeFinding, Severity
from polykind.toolkit.checking import check_report
from polykind.toolkit.checking.accepted_findings import AcceptedFinding, read_accepted
from polykind.toolkit.checking.crd_sources import decode_source
from polykind.toolkit.checking.object_check import ObjectCheck
from polykind.toolkit.checking.object_source import read_objects
from polykind.toolkit.checking.release_check import (
    CRDPair,
    ObjectChecks,
    check_converter,
    check_pairs,
    pair_sources,
)
from tests.evolution.crds import Change, add_version, changed, decoded, fields, manifest, spec_of, webhook


def pair(change: Change) -> CRDPair:
    return CRDPair(decode_source(manifest(), "old.yaml"), decode_source(changed(change), "new.yaml"))


def crontab(name: str = "a", version: str = "v1", **spec: Any) -> JsonObject:
    return {
        "apiVersion": f"stable.example.com/{version}",
        "kind": "CronTab",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedule": "* * * * *", **spec},
    }


def _stricter_rule(crd: JsonObject) -> None:
    spec_of(crd)["x-kubernetes-validations"] = [{"rule": "self.schedule.size() > 20"}]


def _wider_rule(crd: JsonObject) -> None:
    spec_of(crd)["x-kubernetes-validations"] = [{"rule": "self.schedule != '' || has(self.host)"}]


def _stricter_pattern(crd: JsonObject) -> None:
    fields(crd)["schedule"]["pattern"] = "^[^ ]+( [^ ]+){5}$"


def _wider_pattern(crd: JsonObject) -> None:
    fields(crd)["schedule"]["pattern"] = "^[^ ]+( [^ ]+){4,5}$"


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        (_stricter_rule, Severity.BREAKING),
        (_wider_rule, Severity.DANGEROUS),
        (_stricter_pattern, Severity.BREAKING),
        (_wider_pattern, Severity.DANGEROUS),
    ],
)
def test_generated_objects_decide_what_a_text_does_not_tell(change: Change, severity: Severity) -> None:
    (each,) = check_pairs([pair(change)]).findings
    assert each.finding.severity is severity
    assert ("for example" in each.finding.message) is (severity is Severity.BREAKING)


def test_a_crd_that_the_api_server_rejects() -> None:
    report = check_pairs([pair(lambda crd: fields(crd)["host"].update(type="text"))])
    assert "crd-rejected" in [each.finding.trap for each in report.findings]


def test_crds_are_matched_by_name() -> None:
    def rename(crd: JsonObject) -> None:
        crd["metadata"]["name"] = "jobs.stable.example.com"
        crd["spec"]["names"] = {"plural": "jobs", "kind": "Job"}

    one, two = decode_source(manifest(), "a"), decode_source(changed(rename), "b")
    (single,) = pair_sources({one.name: one}, {two.name: two})
    assert {each.finding.trap for each in check_pairs([single]).findings} >= {"plural-changed", "kind-changed"}
    pairs = pair_sources({one.name: one, two.name: two}, {one.name: one})
    (gone,) = check_pairs(pairs).findings
    assert (gone.finding.trap, gone.finding.crd) == ("crd-removed", two.name)


def _narrow(crd: JsonObject) -> None:
    fields(crd)["replicas"]["maximum"] = 5
    del fields(crd)["note"]
    fields(crd)["mode"]["default"] = "On"


def test_effects_on_objects_are_counted_with_examples() -> None:
    check = ObjectCheck(decoded(manifest()), decoded(changed(_narrow)))
    for number in range(20):
        check.add(crontab(f"c{number}", replicas=number, mode="Off", note="x" if number % 2 else None))
    check.add(crontab("without-mode"))
    check.add(crontab("broken", replicas="many", mode="Off"))
    check.add(crontab("old", "v1beta1"))
    totals = check.totals
    assert (totals.objects, totals.invalid, totals.lost, totals.changed) == (23, 14, 20, 1)
    assert (totals.were_invalid, totals.not_served) == (1, 1)
    (invalid,) = check_report.groups_of(check, "invalid")
    assert invalid.path == "spec.replicas: Invalid value: spec.replicas in body should be less than or equal to 5"
    assert invalid.examples[0].startswith("CronTab default/c6: spec.replicas: Invalid value: 6")
    assert [group.path for group in check_report.groups_of(check, "changed")] == ["spec.mode"]


def test_a_harmless_change_affects_no_object() -> None:
    check = ObjectCheck(decoded(manifest()), decoded(changed(lambda crd: fields(crd).update(zone={"type": "string"}))))
    for number in range(10):
        check.add(crontab(str(number), note="x", replicas=number, extra={"any": [1]}))
    assert check.totals.affected == 0


def test_many_objects_take_little_time() -> None:
    """100,000 objects must take less than a minute of CPU: 600 microseconds for each."""
    check = ObjectCheck(decoded(manifest()), decoded(changed(_narrow)))
    jobs = [{"name": f"j{number}", "command": "run " * 8} for number in range(8)]
    objects = [
        crontab(str(n), replicas=n % 10, labels={f"k{n}": "v" for n in range(10)}, jobs=jobs) for n in range(800)
    ]
    lines = [json.dumps(each).encode() for each in objects]
    started = time.process_time()
    for line in lines:
        check.add(json.loads(line))
    assert (time.process_time() - started) / len(lines) < 600e-6


def _second_version(crd: JsonObject) -> None:
    entry = add_version(crd)
    properties = entry["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["server"] = properties.pop("host")
    entry["selectableFields"] = []
    crd["spec"]["conversion"] = webhook()


def test_objects_that_cannot_be_converted() -> None:
    conversions = Conversions("CronTab.stable.example.com")
    conversions.between("v1", "v2", move("spec.host", "spec.server"))

    @conversions.step("v2", "v3")
    def up(obj: JsonObject) -> None:
        raise ValueError("no")

    def convert(obj: JsonObject, to: str) -> JsonObject:
        if obj["metadata"]["name"] == "bad":
            raise ValueError("too bad")
        return conversions.convert(obj, to)

    given = pair(_second_version)
    report = check_pairs([given])
    checks = ObjectChecks(report, [given], Library("convert", convert))
    for name in ("good", "bad", "fine"):
        checks.add(crontab(name, host="h"))
    checks.add({"apiVersion": "v1", "kind": "Pod"})
    totals = report.objects["crontabs.stable.example.com"].totals
    assert (totals.objects, totals.unconvertible, report.skipped_objects) == (3, 1, 1)
    assert report.fails(Severity.BREAKING)
    assert "ValueError: too bad" in next(iter(totals.groups.values())).examples[0]


def test_a_converter_must_know_all_versions() -> None:
    conversions = Conversions("CronTab.stable.example.com")
    conversions.add("v1", "v2", lambda obj: obj)
    given = pair(_second_version)
    report = check_pairs([given])
    check_converter(report, [given], Library("conversions", conversions))
    assert report.findings[0].finding.trap == "converter-incomplete"
    assert "v2 to v1" in report.findings[0].finding.message


def test_objects_in_all_formats(tmp_path: Path) -> None:
    one, two, three = crontab("one"), crontab("two"), crontab("three")
    items = [{key: value for key, value in each.items() if key in ("metadata", "spec")} for each in (one, two)]
    typed = {"apiVersion": "stable.example.com/v1", "kind": "CronTabList", "metadata": {}, "items": items}
    (tmp_path / "a.json").write_text(json.dumps(typed, indent=2))
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, (one, two, typed))) + "\n")
    (tmp_path / "c.yaml").write_text("apiVersion: v1\nkind: List\nitems:\n- " + json.dumps(three) + "\n")
    (tmp_path / "d.json").write_text(json.dumps(one, indent=1) + json.dumps(two, indent=1))
    (tmp_path / "e.json").write_text(json.dumps([three]))
    (tmp_path / "notes.txt").write_text("no object")
    names = [(each["metadata"]["name"], each["kind"]) for each in read_objects([tmp_path])]
    assert [name for name, _ in names] == ["one", "two", "one", "two", "one", "two", "three", "one", "two", "three"]
    assert {kind for _, kind in names} == {"CronTab"}
    (tmp_path / "f.jsonl").write_text(json.dumps(one) + "\n{broken\n")
    with pytest.raises(ValueError, match=r"f\.jsonl:2"):
        list(read_objects([tmp_path / "f.jsonl"]))


def test_accepted_findings(tmp_path: Path) -> None:
    file = tmp_path / "accept.yaml"
    file.write_text(
        "accept:\n"
        "- {finding: field-removed, path: spec.note, why: unused}\n"
        "- {finding: limit-narrowed, crd: other.example.com, why: never}\n"
        "- {finding: default-*, why: x}\n"
    )
    with pytest.raises(ValueError, match="not a kind of finding"):
        read_accepted(file)
    file.write_text(file.read_text().rpartition("- ")[0])
    report = check_pairs([pair(_narrow)], read_accepted(file))
    assert {each.finding.trap: each.accepted for each in report.findings} == {
        "field-removed": "unused",
        "limit-narrowed": "",
        "default-changed": "",
    }
    assert [str(entry) for entry in report.stale] == ["limit-narrowed crd other.example.com"]
    assert report.count(Severity.BREAKING) == 2
    for text in ("accept: 1", "accept: [{finding: field-removed}]", "accept: [{finding: field-removed, why: ''}]"):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"accept\.yaml"):
            read_accepted(file)


def test_an_accepted_path_may_be_a_pattern() -> None:
    finding = ChangeFinding("field-removed", Severity.BREAKING, "crd", "v1", "spec.jobs[*].command", "")
    assert AcceptedFinding("field-removed", "w", path="spec.jobs[*].command").covers(finding)
    assert AcceptedFinding("field-removed", "w", path="spec.*").covers(finding)
    assert not AcceptedFinding("field-removed", "w", path="status.*").covers(finding)
