from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.object_diff import MISSING, Difference
from polykind.toolkit.proving.properties import PROPERTIES
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import after, conversions, failures, proof_run


@pytest.mark.parametrize(
    ("converter", "crd"),
    [
        (conversions(), c.CRONTAB_CRD),
        (conversions(c.bare_down, loses={"spec.timeZone": "UTC only", "spec.hosts": "one only"}), c.CRONTAB_CRD),
        (conversions().convert_in_place, c.CRONTAB_CRD),
    ],
    ids=["with a stash", "without a stash, with losses acknowledged", "as one function"],
)
def test_correct_conversions_have_no_findings(converter: Any, crd: Any) -> None:
    run = proof_run(converter, crd)
    assert failures(converter, crd) == {}
    assert run.losses.stale() == []


async def _asynchronous(obj: c.Object, to: str) -> c.Object:
    return conversions().convert(obj, to)


def test_async_converters_are_supported() -> None:
    assert failures(_asynchronous, examples=20) == {}


BREAKERS: list[tuple[str, Any, set[str]]] = [
    ("never-fails", conversions(after(c.down, c.raises)), {"v2:v1", "v1:v2"}),
    ("there-and-back", conversions(c.bare_down), {"v2:v1"}),
    ("back-and-there", conversions(back=after(c.forgets_debug, c.up)), {"v1:v2"}),
    ("edit-survives", c.stale_stash(), {"v2:v1"}),
    ("edit-survives", c.forgets_on_edit(), {"v2:v1"}),
    ("partial-object", conversions(after(c.needs_spec, c.down)), {"v2:v1"}),
    ("batch-independence", c.remembers(), {"v2:v1"}),
    ("order-kept", c.delays(), {"v2:v1", "v1:v2"}),
    ("input-untouched", c.shares(), {"v1:v2"}),
    ("metadata-kept", conversions(after(c.down, c.bumps_generation)), {"v2:v1"}),
    ("metadata-kept", conversions(after(c.down, c.renames)), {"v2:v1"}),
    ("output-validates", conversions(), {"v2:v1"}),
    ("output-settled", conversions(after(c.down, c.off_schema)), {"v2:v1"}),
    ("deterministic", c.counts(), {"v2:v1"}),
    ("edit-after-round-trip", c.keeps_stash(), {"v2:v1"}),
    ("fixed-point", conversions(after(c.down, c.grows)), {"v2:v1", "v1:v2"}),
    ("paths-agree", c.disagrees(), {f"{a}:{b}" for a in ("v1", "v2", "v3") for b in ("v1", "v2", "v3") if a != b}),
]


CRDS = {"back-and-there": c.WIDER, "output-validates": c.STRICTER, "paths-agree": c.THREE}


def test_every_property_has_a_faulty_converter() -> None:
    assert {name for name, _, _ in BREAKERS} == PROPERTIES.keys()


@pytest.mark.parametrize(("name", "converter", "pairs"), BREAKERS, ids=[f"{i}-{b[0]}" for i, b in enumerate(BREAKERS)])
def test_faulty_converter_breaks_only_its_property(name: str, converter: Any, pairs: set[str]) -> None:
    for seed in (0, 1):
        found = failures(converter, CRDS.get(name, c.CRONTAB_CRD), seed=seed)
        if name == "edit-survives":
            # A stash that wins over an edit also wins over an edit after a round trip from the other version.
            found.pop("edit-after-round-trip", None)
        assert found == {name: pairs}


def failure_of(converter: Any, name: str, pair: tuple[str, str] = ("v2", "v1")) -> tuple[str, Sequence[Difference]]:
    found = proof_run(converter).finding(name, pair)
    assert found is not None
    return found.message, found.differences


def test_finding_is_small_and_lists_differences() -> None:
    found = proof_run(conversions(after(c.down, c.off_schema))).finding("output-settled", ("v2", "v1"))
    assert found is not None
    assert found.obj["spec"] == {"replicas": 1}
    assert [(d.path, d.kind) for d in found.differences] == [(("spec", "extra"), "dropped")]


def test_exception_of_a_converter_is_reported_with_its_line() -> None:
    found = proof_run(conversions(after(c.down, c.raises))).finding("never-fails", ("v2", "v1"))
    assert found is not None
    assert found.message == "ValueError: too many"
    assert "converters.py:" in found.location
    assert found.location.endswith(", in raises")
    assert found.obj["spec"]["replicas"] == 4


def test_failed_conversion_after_an_edit_is_reported() -> None:
    assert failures(c.expects_host()) == {"edit-survives": {"v2:v1"}}
    found = proof_run(c.expects_host()).finding("edit-survives", ("v2", "v1"))
    assert found is not None
    assert found.edit is not None
    assert (found.edit.path, found.edit.after) == (("spec", "host"), MISSING)
    assert found.message == "the object written at v1 can no longer be converted: KeyError: 'host'"
    assert found.location.endswith(", in restore")


def test_failure_on_the_way_back_is_marked() -> None:
    message, _ = failure_of(conversions(back=after(c.raises, c.up)), "never-fails")
    assert message == "on the way back to v2: ValueError: too many"


def test_result_must_be_a_json_object() -> None:
    assert failure_of(lambda obj, to: [obj], "never-fails")[0] == "the converter returned list, not an object"
    message, _ = failure_of(lambda obj, to: {**obj, "apiVersion": to, "spec": {"at": object()}}, "never-fails")
    assert message == "the result is not JSON: Type is not JSON serializable: object"


def test_result_of_another_kind_is_rejected_like_the_api_server() -> None:
    message, _ = failure_of(lambda obj, to: {**obj, "apiVersion": to, "kind": "Other"}, "never-fails")
    assert message == (
        "the API server rejects the result: invalid object at index 0: invalid kind (expected CronTab, received Other)"
    )


def test_converter_must_add_missing_metadata() -> None:
    def convert(obj: c.Object, to: str) -> c.Object:
        return {**obj, "apiVersion": to}

    message, _ = failure_of(convert, "partial-object")
    assert message == (
        "without metadata: the API server rejects the result: invalid metadata: missing metadata in converted object"
    )


def test_default_of_the_target_version_must_be_written() -> None:
    crd = CRD(c.manifest(older={"suspend": {"type": "boolean", "default": False}}))
    found = proof_run(conversions(), crd).finding("output-settled", ("v2", "v1"))
    assert found is not None
    assert found.message == "defaults of v1 are missing, and the API server does not apply them after a conversion"
    assert [(d.path, d.kind) for d in found.differences] == [(("spec", "suspend"), "invented")]


def test_edit_wins_over_stashed_value_beside_it() -> None:
    """An edit of `host` replaces the list `hosts`, because put() named `host` in `beside`."""
    assert "edit-survives" not in failures(conversions())


def test_properties_can_be_excluded() -> None:
    run = proof_run(conversions(c.bare_down), properties=["deterministic"])
    assert run.cases() == [("deterministic", ("v2", "v1")), ("deterministic", ("v1", "v2"))]
