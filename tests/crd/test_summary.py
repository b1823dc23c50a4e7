"""Definitions without their schemas."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from polykind.codec import json_codec
from polykind.crd.summary import CRDSummary, decode_without_schemas, load_full, spec_digest, split_crd, summarize
from tests.crd.build import made


def _bytes(value: object) -> bytes:
    return json_codec.encode(value)


def test_schemas_are_skipped_and_all_else_is_kept() -> None:
    definition = made()
    found = decode_without_schemas(split_crd(_bytes(definition)))
    assert all("schema" not in version for version in found["spec"]["versions"])
    for version in definition["spec"]["versions"]:
        version.pop("schema", None)
    assert {**found, "status": None} == {**definition, "status": None}


def test_the_spec_is_kept_as_it_was_written() -> None:
    definition = made()
    assert bytes(split_crd(_bytes(definition)).spec) == _bytes(definition["spec"])


@pytest.mark.parametrize(
    "spoilt",
    [
        {},
        {"spec": []},
        {"spec": {"group": 1, "names": {}, "scope": "", "versions": []}},
        {"spec": {"group": "", "names": {}, "scope": "", "versions": [{"name": "v1"}]}},
        {"spec": {"group": "", "names": {}, "scope": "", "versions": None}},
    ],
)
def test_what_is_not_shaped_like_a_definition_is_not_skimmed(spoilt: dict[str, Any]) -> None:
    body = _bytes(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {}, **spoilt}
    )
    with pytest.raises(msgspec.MsgspecError):
        decode_without_schemas(split_crd(body))


def test_an_outline_reads_the_whole_when_asked() -> None:
    definition, asked = made(), list[bool]()

    def read() -> dict[str, Any]:
        asked.append(True)
        return definition

    outline = summarize(definition, _bytes(definition["spec"]), read)
    assert isinstance(outline, CRDSummary)
    assert outline["metadata"] == definition["metadata"]
    assert all("schema" not in version for version in outline["spec"]["versions"])
    assert not asked
    assert load_full(outline) is definition
    assert load_full(definition) is definition


def test_marks_tell_specs_apart() -> None:
    assert spec_digest(b"{}") == spec_digest(b"{}") != spec_digest(b"[]")
