from __future__ import annotations

from polykind.toolkit.crd_versions import Definition
from polykind.toolkit.proving import report
from polykind.toolkit.proving.coverage import Coverage
from tests.toolkit.definitions import crd
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, trial

TEXT = {"type": "string"}
SCHEMA = {
    "properties": {
        "name": TEXT,
        "ports": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT, "port": TEXT}}},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "deep": {"type": "object", "properties": {"er": {"type": "object", "properties": {"x": TEXT}}}},
    }
}


def test_what_no_object_had_is_unmet_without_what_lies_below() -> None:
    coverage = Coverage(Definition(crd(SCHEMA)).versions["v1"])
    assert coverage.unmet() == ["spec"]
    coverage.note({"apiVersion": "a", "spec": {"name": "x", "ports": [{"name": "y"}], "labels": {}}})
    assert coverage.unmet() == ["spec.deep", "spec.labels.*", "spec.ports[*].port"]
    coverage.note({"spec": {"labels": {"k": "v"}, "deep": {"er": {}}}})
    assert coverage.unmet() == ["spec.deep.er.x", "spec.ports[*].port"]


def test_a_run_meets_every_field() -> None:
    run = trial(conversions())
    assert [run.verdict(pair).unmet for pair in run.pairs] == [[], []]
    assert report.unmet(run, run.pairs) == []


def test_a_field_for_which_no_value_was_found_is_told() -> None:
    rare = {**TEXT, "x-kubernetes-validations": [{"rule": "self.size() == 77"}]}
    run = trial(conversions(), Definition(c.manifest(older={"rare": rare})), examples=20)
    assert report.unmet(run, run.pairs) == [
        "no object had these fields of v1: spec.rare. More objects may, or samples that have them."
    ]
