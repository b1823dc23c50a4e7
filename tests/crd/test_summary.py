"""CRD summaries, which have no schemas."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from polykind.codec import json_codec
from polykind.crd.summary import CRDSummary, decode_without_schemas, load_full, spec_digest, split_crd, summarize
from tests.crd.build import created_crd


def encode(value: object) -> bytes:
    return json_codec.encode(value)


def test_summary_drops_only_schemas() -> None:
    definition = created_crd()
    found = decode_without_schemas(split_crd(encode(definition)))
    assert all("schema" not in version for version in found["spec"]["versions"])
    for version in definition["spec"]["versions"]:
        version.pop("schema", None)
    assert {**found, "status": None} == {**definition, "status": None}


def test_encoded_spec_is_kept_unchanged() -> None:
    definition = created_crd()
    assert bytes(split_crd(encode(definition)).spec) == encode(definition["spec"])


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
def test_unexpected_types_raise_msgspec_error(spoilt: dict[str, Any]) -> None:
    body = encode(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {}, **spoilt}
    )
    with pytest.raises(msgspec.MsgspecError):
        decode_without_schemas(split_crd(body))


def test_load_full_loads_the_crd_of_a_summary() -> None:
    definition, asked = created_crd(), list[bool]()

    def read() -> dict[str, Any]:
        asked.append(True)
        return definition

    outline = summarize(definition, encode(definition["spec"]), read)
    assert isinstance(outline, CRDSummary)
    assert outline["metadata"] == definition["metadata"]
    assert all("schema" not in version for version in outline["spec"]["versions"])
    assert not asked
    assert load_full(outline) is definition
    assert load_full(definition) is definition


def test_spec_digest_differs_for_different_specs() -> None:
    assert spec_digest(b"{}") == spec_digest(b"{}") != spec_digest(b"[]")
