from __future__ import annotations

from typing import Any

import pytest

from polykind.convert import Conversions, Incomplete
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.progress import ObjectTested, ProgressEvent
from polykind.toolkit.proving.proof_report import table, too_few_objects
from polykind.toolkit.reporting.terminal import plain_table
from tests.toolkit.crds import crd_manifest
from tests.toolkit.proving import converters as c
from tests.toolkit.proving.converters import conversions, proof_run

HEAD = {"apiVersion": "stable.example.com/v2", "kind": "CronTab"}


def test_pairs_with_storage_version_come_first() -> None:
    text: dict[str, Any] = {"properties": {}}
    crd = CRD(crd_manifest(text, text, text))
    run = proof_run(lambda obj, to: obj, crd)
    assert run.pairs == [("v3", "v1"), ("v3", "v2"), ("v1", "v3"), ("v2", "v3"), ("v1", "v2"), ("v2", "v1")]


def test_objects_depend_only_on_the_seed() -> None:
    def seen(**options: Any) -> list[Any]:
        out: list[Any] = []

        def convert(obj: c.Object, to: str) -> c.Object:
            out.append(repr(obj))
            return {**obj, "apiVersion": to}

        proof_run(convert, examples=5, **options).result(("v2", "v1"))
        return [text for text in dict.fromkeys(out) if "'uid'" in text]

    assert seen(seed=7, properties=["deterministic"]) == seen(seed=7, properties=["deterministic"])
    assert seen(seed=7, properties=["deterministic"])[0] in seen(seed=7)
    assert seen(seed=7) != seen(seed=8)


def test_incomplete_conversions_are_rejected() -> None:
    half = Conversions(c.KIND)
    half.add("v1", "v2", c.up)
    with pytest.raises(Incomplete, match="no steps lead from v2 to v1"):
        proof_run(half)


def test_converter_of_another_kind_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"converters:it does not convert CronTab\.stable\.example\.com"):
        proof_run(Conversions("Other.example.com"))


def test_samples_must_be_valid() -> None:
    bad = {**HEAD, "metadata": {"name": "bad"}, "spec": {"replicas": -1}}
    with pytest.raises(
        ValueError, match=r"the sample bad is not a valid CronTab\.stable\.example\.com: spec\.replicas: Inv"
    ):
        proof_run(conversions(), samples=[bad])
    with pytest.raises(
        ValueError, match=r"the sample bad is not a valid .*: Other of stable\.example\.com/v2 is not a CronTab"
    ):
        proof_run(conversions(), samples=[{**bad, "kind": "Other"}])


def test_samples_are_always_tested() -> None:
    """A converter that fails only for one name is found by a sample of that name."""

    def picky(obj: c.Object) -> None:
        if (obj.get("spec") or {}).get("schedule", "")[::-1] == "61 51 8 4 0":
            raise ValueError("not at that time")

    sample = {**HEAD, "metadata": {"name": "real"}, "spec": {"schedule": "0 4 8 15 16", "timeZone": "UTC"}}
    assert proof_run(conversions(c.after(picky, c.down))).finding("never-fails", ("v2", "v1")) is None
    found = proof_run(conversions(c.after(picky, c.down)), samples=[sample]).finding("never-fails", ("v2", "v1"))
    assert found is not None
    assert found.obj["spec"] == {"schedule": "0 4 8 15 16", "replicas": 1}


def test_too_few_valid_objects_prove_nothing() -> None:
    rule = {"rule": "self.schedule.size() == 77", "message": "must have 77 letters"}
    manifest = c.manifest()
    manifest["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"] |= {
        "required": ["schedule"],
        "x-kubernetes-validations": [rule],
    }
    run = proof_run(conversions(), CRD(manifest), examples=4)
    assert too_few_objects(run, ("v2", "v1")) == (
        "of 20 objects generated at v2, none was valid, so nothing was tested. They were rejected for: "
        "spec: must have 77 letters (20 times). "
        "Pass real objects as samples: they are used unchanged and with exchanged fields."
    )
    assert too_few_objects(run, ("v1", "v2")) == ""
    assert "never-fails            untested  ok" in plain_table(table(run, run.pairs))


def test_interrupted_run_keeps_its_results() -> None:
    def interrupt(event: ProgressEvent) -> None:
        if isinstance(event, ObjectTested) and event.tested == 20:
            raise KeyboardInterrupt

    run = proof_run(conversions(c.bare_down), observer=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.result(("v2", "v1"))
    assert run.tested_pairs() == [("v2", "v1")]
    result = run.result(("v2", "v1"))
    assert (result.tested, result.complete, set(result.failed)) == (20, False, {"there-and-back"})
    assert result.coverage["spec"].objects > 10
