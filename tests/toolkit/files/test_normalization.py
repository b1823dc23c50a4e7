"""A manifest converted offline has the same effect as the original converted by the API server."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polykind.codec import yaml_codec
from polykind.contract import copy_json
from polykind.convert import Conversions
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD, accept_converted
from polykind.toolkit.files.manifests import parse
from polykind.toolkit.files.normalization import (
    LAST_APPLIED,
    normalize,
    replace_mutable_metadata,
    write_differing_defaults,
)
from polykind.toolkit.files.offline_converter import OfflineConverter
from polykind.toolkit.files.yaml_rewriter import same_json
from polykind.toolkit.proving.proofs import objects
from tests.toolkit.crds import crd_manifest
from tests.toolkit.example import EXAMPLE

CRONTAB_CRD = CRD(yaml_codec.decode((EXAMPLE / "crd.yaml").read_bytes()))
VERSIONS = list(CRONTAB_CRD.versions)


def example() -> Conversions:
    spec = importlib.util.spec_from_file_location("example_conversions", EXAMPLE / "conversions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Conversions = module.backups
    return found


BACKUPS = example()


@settings(deadline=None, max_examples=200)
@given(st.permutations(VERSIONS), st.data())
def test_converted_manifests_have_the_same_effect(versions: list[str], data: st.DataObject) -> None:
    origin, target = (CRONTAB_CRD.versions[name] for name in versions[:2])
    manifest = data.draw(objects(CRONTAB_CRD, origin.name))
    for field in ("keep", "retention"):
        if data.draw(st.booleans()):
            manifest["spec"].pop(field, None)
    admitted, _ = origin.admit(manifest)
    wanted = target.defaulted(accept_converted(admitted, BACKUPS.convert(admitted, target.name), target))

    document = parse(yaml_codec.encode_ordered(manifest)).documents[0]
    out = OfflineConverter(Library("m:o", BACKUPS), target.name, [CRONTAB_CRD]).document(document.value)
    written = parse(document.replace(out.value).encode()).documents[0].value

    assert same_json(written, out.value)
    assert same_json(normalize(target.admit(written)[0]), normalize(wanted))


INNER = {"type": "object", "properties": {"n": {"type": "integer", "default": 1}, "m": {"type": "string"}}}
SCHEMA = {"properties": {"jobs": {"type": "array", "items": INNER}, "inner": INNER}}
TARGET = CRD(crd_manifest(SCHEMA)).versions["v1"]


def obj(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": TARGET.api_version, "kind": "CronTab", "metadata": {"name": "c", **metadata}, "spec": spec}


@pytest.mark.parametrize(
    ("written", "converted", "spec", "added_paths"),
    [
        ({"inner": {"m": "x"}}, {"inner": {"m": "x", "n": 1}}, {"inner": {"m": "x"}}, []),
        ({"inner": {"m": "x"}}, {"inner": {"m": "x", "n": 2}}, {"inner": {"m": "x", "n": 2}}, ["spec.inner.n"]),
        ({}, {"inner": {"n": 2}}, {"inner": {"n": 2}}, ["spec.inner"]),
        (
            {"jobs": [{"m": "a"}, {"m": "b"}]},
            {"jobs": [{"m": "a", "n": 1}, {"m": "b", "n": 3}]},
            {"jobs": [{"m": "a"}, {"m": "b", "n": 3}]},
            ["spec.jobs[1].n"],
        ),
        ({"jobs": [{}]}, {"jobs": [{"n": 1}, {"n": 1}]}, {"jobs": [{"n": 1}, {"n": 1}]}, ["spec.jobs"]),
    ],
)
def test_only_differing_defaults_are_written(written: Any, converted: Any, spec: Any, added_paths: list[str]) -> None:
    before = copy_json(written)
    out, found = write_differing_defaults(obj(written), obj(converted), TARGET.defaulted(obj(converted)), TARGET)
    assert (out["spec"], found) == (spec, added_paths)
    assert written == before


def test_annotations_of_the_converted_object_win() -> None:
    written, converted = obj({}, uid="u", annotations={"stash": "1"}), obj({}, annotations={"stash": "2"})
    out, added_paths = write_differing_defaults(written, converted, converted, TARGET)
    assert out["metadata"] == {"name": "c", "uid": "u", "annotations": {"stash": "2"}}
    assert added_paths == []


def test_last_applied_annotation_is_ignored() -> None:
    assert normalize(obj({}, annotations={LAST_APPLIED: "x"}, uid="u")) == {**obj({}), "metadata": {}}


def test_mutable_metadata_is_replaced_even_if_removed() -> None:
    assert replace_mutable_metadata({"uid": "u", "labels": {"a": "b"}}, {"annotations": {"c": "d"}}) == {
        "uid": "u",
        "annotations": {"c": "d"},
    }
