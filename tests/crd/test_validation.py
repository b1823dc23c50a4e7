from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polykind import crd
from polykind.apis.apiextensions import crd_codec
from polykind.errors import APIError
from tests.crd.build import (
    crd_body,
    create_errors,
    created_crd,
    established_crd,
    reconciled_status,
    update_errors,
    version,
    with_spec,
)

LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        ({}, []),
        (
            {"group": "nodots"},
            ['spec.group: Invalid value: "nodots": should be a domain with at least one dot'],
        ),
        ({"scope": ""}, ["spec.scope: Required value"]),
        (
            {"scope": "namespaced"},
            ['spec.scope: Unsupported value: "namespaced": supported values: "Cluster", "Namespaced"'],
        ),
        (
            {"versions": None},
            [
                "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
                "status.storedVersions: Invalid value: null: must have at least one stored version",
            ],
        ),
        (
            {"versions": [version("V1", storage=True)]},
            [
                f'spec.versions[0].name: Invalid value: "V1": {LABEL}',
                f'spec.version: Invalid value: "V1": {LABEL}',
            ],
        ),
        (
            {"names": {"plural": "tools", "kind": "Tool", "listKind": "Tool", "shortNames": ["t", "T"]}},
            [
                f'spec.names.shortNames[1]: Invalid value: "T": {LABEL}',
                'spec.names.listKind: Invalid value: "Tool": kind and listKind may not be the same',
            ],
        ),
        (
            {"names": {"plural": "tools", "kind": "9x"}},
            [
                f'spec.names.singular: Invalid value: "9x": {LABEL}',
                f'spec.names.kind: Invalid value: "9x": may have mixed case, but should otherwise match: {LABEL}',
                'spec.names.listKind: Invalid value: "9xList": may have mixed case, '
                f"but should otherwise match: {LABEL}",
            ],
        ),
        (
            {"preserveUnknownFields": True},
            [
                "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
                "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            ],
        ),
    ],
)
def test_create(spec: dict[str, Any], texts: list[str]) -> None:
    assert create_errors(**spec) == texts


def test_name_must_be_plural_and_group() -> None:
    new = created_crd()
    new["metadata"]["name"] = "tool.example.com"
    assert [str(error) for error in crd.validate_create(new)] == [
        'metadata.name: Invalid value: "tool.example.com": must be spec.names.plural+"."+spec.group'
    ]


def test_errors_in_shared_settings_have_top_level_paths() -> None:
    column = {"name": "", "type": "text", "jsonPath": "a", "format": "int16"}
    texts = [
        ".additionalPrinterColumns[0].name: Required value",
        '.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        '.additionalPrinterColumns[0].format: Invalid value: "int16": '
        "must be one of byte,date,date-time,double,float,int32,int64,password",
        '.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ]
    one, other = version(additionalPrinterColumns=[column]), version("v2")
    assert create_errors(one) == [f"spec{text}" for text in texts]
    assert create_errors(one, version("v2", additionalPrinterColumns=[column])) == [f"spec{text}" for text in texts]
    assert create_errors(one, other) == [f"spec.versions[0]{text}" for text in texts]


def test_schemas_that_differ_in_one_and_true_are_different() -> None:
    def schema(default: object) -> dict[str, Any]:
        field = {"x-kubernetes-preserve-unknown-fields": True, "default": default, "type": "wrong"}
        return {"type": "object", "properties": {"a": field}}

    texts = create_errors(version(schema=schema(1)), version("v2", schema=schema(True)))
    assert {text.partition(".openAPIV3Schema")[0] for text in texts} == {
        "spec.versions[0].schema",
        "spec.versions[1].schema",
    }


def test_every_version_requires_a_schema() -> None:
    assert create_errors(version(), version("v2", None)) == ["spec.versions[1].schema.openAPIV3Schema: Required value"]
    assert create_errors(version(schema=None), version("v2", None)) == [
        "spec.versions[0].schema.openAPIV3Schema: Required value",
        "spec.versions[1].schema.openAPIV3Schema: Required value",
    ]


def test_version_names_must_be_unique_with_one_storage_version() -> None:
    (text,) = create_errors(version(), version("v1", storage=False))
    assert text.startswith(
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,'
    )
    assert text.endswith("}]: must contain unique version names")


def test_scale_paths() -> None:
    scale = {"specReplicasPath": ".status.n", "statusReplicasPath": "", "labelSelectorPath": ".x"}
    assert create_errors(version(subresources={"scale": scale})) == [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
        "spec.subresources.scale.statusReplicasPath: Required value",
        'spec.subresources.scale.labelSelectorPath: Invalid value: ".x": '
        "should be a json path under either .spec or .status",
    ]


def test_selectable_fields() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "o": {"type": "object"}}}
    fields = [{"jsonPath": path} for path in (".a", ".a", ".b", "a", "", ".a[0]", ".o")]
    at = "spec.selectableFields"
    assert create_errors(version(schema=schema, selectableFields=fields)) == [
        f'{at}[1].jsonPath: Duplicate value: ".a"',
        f'{at}[2].jsonPath: Invalid value: ".b": is an invalid path: does not refer to a valid field',
        f'{at}[3].jsonPath: Invalid value: "a": is an invalid path: expected [ or . but got: a',
        f"{at}[4].jsonPath: Required value",
        f'{at}[5].jsonPath: Invalid value: ".a[0]": is an invalid path: array notation is not allowed',
        f'{at}[6].jsonPath: Invalid value: ".o": must point to a field of type string, boolean or integer. '
        "Enum string fields and strings with formats are allowed.",
    ]


def test_selectable_field_may_not_be_in_metadata() -> None:
    detail = "must not point to fields in metadata"
    named = {"type": "object", "properties": {"metadata": {"type": "object"}}}
    assert any(
        detail in text for text in create_errors(version(schema=named, selectableFields=[{"jsonPath": ".metadata"}]))
    )
    keyed = {"type": "object", "additionalProperties": {"type": "string"}}
    found = create_errors(version(schema=keyed, selectableFields=[{"jsonPath": ".metadata"}]))
    assert found == ["spec.validation.openAPIV3Schema.additionalProperties: Forbidden: must not be used at the root"]


def test_at_most_eight_selectable_fields() -> None:
    names = [f"f{index}" for index in range(9)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    fields = [{"jsonPath": f".{name}"} for name in names]
    assert create_errors(version(schema=schema, selectableFields=fields)) == [
        "spec.selectableFields: Too many: 9: must have at most 8 items"
    ]


@pytest.mark.parametrize(
    ("warning", "texts"),
    [
        ("", ["must not be an empty string"]),
        ("x" * 257, ["must be <= 256 characters long"]),
        ("é\tb", ["must only contain printable UTF-8 characters; non-printable character found at index 2"]),
        ("use v2", []),
    ],
)
def test_deprecation_warnings(warning: str, texts: list[str]) -> None:
    found = create_errors(version(deprecated=True, deprecationWarning=warning))
    assert [text.split(": ", 3)[-1] for text in found] == texts


def test_deprecation_warning_requires_deprecated() -> None:
    assert create_errors(version(deprecationWarning="<v2>")) == [
        'spec.versions[0].deprecationWarning: Invalid value: "\\u003cv2\\u003e": '
        "can only be set for deprecated versions"
    ]


def test_immutable_fields() -> None:
    old = established_crd()
    names = {**old["spec"]["names"], "kind": "Implement", "plural": "implements"}
    assert update_errors(with_spec(old, names=names, scope="Cluster", group="other.com"), old) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Implement": field is immutable',
        'spec.group: Invalid value: "other.com": field is immutable',
        'spec.names.plural: Invalid value: "implements": field is immutable',
    ]


def test_kind_and_scope_may_change_before_establishment() -> None:
    old = {**established_crd(), "status": created_crd()["status"]}
    assert update_errors(with_spec(old, scope="Cluster"), old) == []


def test_stored_versions_must_remain() -> None:
    old = established_crd(version(), version("v2"))
    (text,) = update_errors(with_spec(old, versions=[version("v2", storage=True)]), old)
    assert text == (
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; '
        "v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures "
        "no data remains persisted in v1 and removes v1 from status.storedVersions"
    )


def test_status_update_validates_accepted_names_only() -> None:
    old = established_crd()
    status = {**old["status"], "storedVersions": ["v9"], "acceptedNames": {"plural": "Bad", "kind": "Tool"}}
    new = {**old, "status": status}
    assert [str(error) for error in crd.validate_status_update(new, old)] == [
        f'status.acceptedNames.plural: Invalid value: "Bad": {LABEL}'
    ]


def test_metadata_is_validated() -> None:
    old = established_crd()
    new = with_spec(old)
    new["metadata"] |= {"uid": "other"}
    assert update_errors(new, old) == ['metadata.uid: Invalid value: "other": field is immutable']


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["x", "object", "array", "", "\ud800"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "properties", "items", "allOf", "not", "default", "a", "x-kubernetes-list-type", "pattern"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=15,
    )
)
@example({"type": "\ud800", "properties": None})
def test_any_schema_can_be_validated(schema: Any) -> None:
    try:
        new, _ = crd_codec.decode(crd_body(version(schema=schema)), "v1", True)
        [str(error) for error in crd.validate_create(crd.prepare_create(new))]
        reconciled_status(new)
        crd.warnings(new)
        crd_codec.encode(new, "v1beta1")
    except APIError:
        pass


def test_deeply_nested_schema() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(70):
        schema = {"type": "object", "properties": {"a": {"type": "array", "items": schema}}}
    assert create_errors(version(schema=schema)) == []
