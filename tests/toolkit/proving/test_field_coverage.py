from __future__ import annotations

from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.field_coverage import FieldCoverage
from tests.toolkit.crds import crd_manifest
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run

TEXT = {"type": "string"}
SCHEMA = {
    "properties": {
        "name": TEXT,
        "ports": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT, "port": TEXT}}},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "deep": {"type": "object", "properties": {"er": {"type": "object", "properties": {"x": TEXT}}}},
    }
}


def test_uncovered_lists_missing_fields_without_children() -> None:
    coverage = FieldCoverage(CRD(crd_manifest(SCHEMA)).versions["v1"])
    assert coverage.uncovered() == ["spec"]
    coverage.add({"apiVersion": "a", "spec": {"name": "x", "ports": [{"name": "y"}], "labels": {}}})
    assert coverage.uncovered() == ["spec.deep", "spec.labels.*", "spec.ports[*].port"]
    coverage.add({"spec": {"labels": {"k": "v"}, "deep": {"er": {}}}})
    assert coverage.uncovered() == ["spec.deep.er.x", "spec.ports[*].port"]


def test_run_covers_every_field() -> None:
    run = proof_run(conversions())
    assert [run.result(pair).uncovered for pair in run.pairs] == [[], []]
    assert proof_report.uncovered_fields(run, run.pairs) == []


def test_field_without_valid_value_is_reported() -> None:
    rare = {**TEXT, "x-kubernetes-validations": [{"rule": "self.size() == 77"}]}
    run = proof_run(conversions(), CRD(c.manifest(older={"rare": rare})), examples=20)
    assert proof_report.uncovered_fields(run, run.pairs) == [
        "no object had these fields of v1: spec.rare. Generate more objects, or pass samples with them."
    ]


def test_objects_values_and_distinct_values_are_counted() -> None:
    coverage = FieldCoverage(CRD(crd_manifest(SCHEMA)).versions["v1"])
    coverage.add({"spec": {"ports": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}})
    coverage.add({"spec": {"ports": [{"name": ""}], "labels": {}}})
    found = {path: (use.objects, use.values, use.distinct) for path, use in coverage.fields.items()}
    assert found == {
        "spec": (2, 2, 0),
        "spec.ports": (2, 2, 0),
        "spec.ports[*]": (2, 4, 0),
        "spec.ports[*].name": (2, 4, 3),
        "spec.labels": (1, 1, 1),
    }
