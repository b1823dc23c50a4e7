from __future__ import annotations

from typing import Any

import pytest

from polykind.convert import Conversions
from polykind.declare.conversions import ConversionFunction
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.losses import Acknowledgement, parse_path, remove_path
from polykind.toolkit.proving.object_diff import MISSING, Difference, Path, differences, format_path, schema_path
from tests.toolkit.crds import crd_manifest
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, failures, proof_run

STEP = ConversionFunction("v2", "v1", lambda obj: None, {})


def dropped(path: Path, value: Any = "x") -> Difference:
    return Difference(path, value, MISSING)


@pytest.mark.parametrize(
    ("declared", "found", "covered"),
    [
        ("spec.zone", dropped(("spec", "zone")), True),
        ("spec.zone", dropped(("spec", "zone", "name")), True),
        ("spec.zone", Difference(("spec", "zone"), "a", "b"), True),
        ("spec.zone", dropped(("spec", "zones")), False),
        ("spec.ports[*].name", dropped(("spec", "ports", 3, "name")), True),
        ("spec.ports[*].name", dropped(("spec", "ports", 3, "port")), False),
        ("spec.labels.*", dropped(("spec", "labels", "a.b/c")), True),
        ("spec.zone.name", dropped(("spec", "zone"), {"name": "x"}), True),
        ("spec.zone.name", dropped(("spec", "zone"), {}), True),
        ("spec.zone.name", dropped(("spec", "zone"), {"name": "x", "id": 1}), False),
        ("spec.zone.name", Difference(("spec", "zone"), {"name": "x"}, "y"), False),
    ],
)
def test_acknowledgement_covers_its_path_and_fields_below(declared: str, found: Difference, covered: bool) -> None:
    assert Acknowledgement(STEP, declared, "why").covers(found) is covered


def test_paths_are_parsed_and_formatted() -> None:
    assert parse_path("spec.ports[*].name") == ("spec", "ports", "*", "name")
    assert parse_path("spec.labels.*") == ("spec", "labels", "*")
    assert format_path(("spec", "ports", 0, "name")) == "spec.ports[0].name"
    assert format_path(("metadata", "annotations", "a.b/c")) == "metadata.annotations[a.b/c]"
    obj = {"spec": {"ports": [{"name": 1, "port": 2}, {"name": 3}], "labels": {"a": 1}}}
    remove_path(obj, parse_path("spec.ports[*].name"))
    remove_path(obj, parse_path("spec.labels.*"))
    assert obj == {"spec": {"ports": [{"port": 2}, {}], "labels": {}}}


def test_differences_are_minimal_and_type_aware() -> None:
    before = {"a": 1, "b": {"c": [1, 2], "d": True}, "gone": {"x": 1}}
    after = {"a": 1.0, "b": {"c": [1, 3, 4], "d": 1}, "new": None}
    assert [(format_path(d.path), d.kind) for d in differences(before, after)] == [
        ("a", "changed"),
        ("b.c[1]", "changed"),
        ("b.c[2]", "invented"),
        ("b.d", "changed"),
        ("gone", "dropped"),
        ("new", "invented"),
    ]


def test_schema_path_has_stars_for_items_and_keys() -> None:
    schema = {
        "properties": {
            "ports": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }
    }
    root = CRD(crd_manifest(schema)).versions["v1"].schema.root
    assert schema_path(root, ("spec", "ports", 3, "name")) == "spec.ports[*].name"
    assert schema_path(root, ("spec", "labels", "x.y")) == "spec.labels.*"


def losses_of(converter: Any, crd: CRD = c.CRONTAB_CRD) -> list[tuple[str, str, str, str, str | None]]:
    run = proof_run(converter, crd)
    for pair in run.pairs:
        run.result(pair)
    return [(loss.origin, loss.goal, loss.path, loss.kind, loss.reason) for loss in run.losses.matrix()]


def test_loss_matrix_lists_unacknowledged_losses_first() -> None:
    assert losses_of(conversions(c.bare_down, loses={"spec.hosts": "one only"})) == [
        ("v2", "v1", "spec.timeZone", "dropped", None),
        ("v2", "v1", "spec.hosts", "dropped", "one only"),
        ("v2", "v1", "spec.hosts[*]", "dropped", "one only"),
    ]
    assert losses_of(conversions()) == []


def test_defaults_of_the_other_version_count_as_invented() -> None:
    crd = CRD(c.manifest(older={"cronSpec": {"type": "string", "default": "* * * * *"}}))
    assert ("v2", "v1", "spec.schedule", "invented", None) in losses_of(conversions(), crd)


def test_acknowledged_loss_that_never_happens_is_stale() -> None:
    run = proof_run(conversions(loses={"spec.timeZone": "UTC only", "spec.nowhere": "there is none"}))
    for pair in run.pairs:
        run.result(pair)
    assert [(loss.step.goal, loss.path, loss.reason) for loss in run.losses.stale()] == [
        ("v1", "spec.timeZone", "UTC only")
    ]


def chain() -> tuple[CRD, Conversions]:
    """The conversion from v3 to v2 renames `other` to `second`, and the one from v2 to v1 loses `second`."""

    def versioned(*names: str) -> dict[str, Any]:
        return {"properties": {name: {"type": "string"} for name in names}}

    def renaming(**names: str | None) -> c.Change:
        def rename(obj: c.Object) -> None:
            spec = obj.get("spec") or {}
            for old, new in names.items():
                value = spec.pop(old, None)
                if value is not None and new is not None:
                    spec[new] = value

        return rename

    out = Conversions(c.KIND)
    out.add("v1", "v2", renaming(one="first"))
    out.add("v2", "v3", renaming(first="best", second="other"))
    out.add("v3", "v2", renaming(best="first", other="second"))
    out.add("v2", "v1", renaming(first="one", second=None), loses={"spec.second": "not in v1"})
    return CRD(crd_manifest(versioned("one"), versioned("first", "second"), versioned("best", "other"))), out


def test_loss_in_the_middle_of_a_path_is_acknowledged_after_renames() -> None:
    crd, converter = chain()
    assert failures(converter, crd, examples=40) == {}
    assert losses_of(converter, crd) == [
        ("v2", "v1", "spec.second", "dropped", "not in v1"),
        ("v3", "v1", "spec.other", "dropped", "not in v1"),
    ]
