from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind import crd
from polykind.errors import APIError
from tests.crd.build import at_rest, body, changed, made, problems, settled, update_problems, version

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
def test_a_definition(spec: dict[str, Any], texts: list[str]) -> None:
    assert problems(**spec) == texts


def test_the_name_is_that_of_the_resource() -> None:
    new = made()
    new["metadata"]["name"] = "tool.example.com"
    assert [str(error) for error in crd.validate_create(new)] == [
        'metadata.name: Invalid value: "tool.example.com": must be spec.names.plural+"."+spec.group'
    ]


def test_stanzas_that_versions_share_are_told_of_at_the_top() -> None:
    column = {"name": "", "type": "text", "jsonPath": "a", "format": "int16"}
    texts = [
        ".additionalPrinterColumns[0].name: Required value",
        '.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        '.additionalPrinterColumns[0].format: Invalid value: "int16": '
        "must be one of byte,date,date-time,double,float,int32,int64,password",
        '.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ]
    one, other = version(additionalPrinterColumns=[column]), version("v2")
    assert problems(one) == [f"spec{text}" for text in texts]
    assert problems(one, version("v2", additionalPrinterColumns=[column])) == [f"spec{text}" for text in texts]
    assert problems(one, other) == [f"spec.versions[0]{text}" for text in texts]


def test_one_and_true_are_not_the_same_schema() -> None:
    def schema(default: object) -> dict[str, Any]:
        field = {"x-kubernetes-preserve-unknown-fields": True, "default": default, "type": "wrong"}
        return {"type": "object", "properties": {"a": field}}

    texts = problems(version(schema=schema(1)), version("v2", schema=schema(True)))
    assert {text.partition(".openAPIV3Schema")[0] for text in texts} == {
        "spec.versions[0].schema",
        "spec.versions[1].schema",
    }


def test_every_version_needs_a_schema() -> None:
    assert problems(version(), version("v2", None)) == ["spec.versions[1].schema.openAPIV3Schema: Required value"]
    assert problems(version(schema=None), version("v2", None)) == [
        "spec.versions[0].schema.openAPIV3Schema: Required value",
        "spec.versions[1].schema.openAPIV3Schema: Required value",
    ]


def test_version_names_are_unique_and_one_is_stored() -> None:
    (text,) = problems(version(), version("v1", storage=False))
    assert text.startswith(
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":true,"Deprecated":false,'
    )
    assert text.endswith("}]: must contain unique version names")


def test_scale_paths() -> None:
    scale = {"specReplicasPath": ".status.n", "statusReplicasPath": "", "labelSelectorPath": ".x"}
    assert problems(version(subresources={"scale": scale})) == [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
        "spec.subresources.scale.statusReplicasPath: Required value",
        'spec.subresources.scale.labelSelectorPath: Invalid value: ".x": '
        "should be a json path under either .spec or .status",
    ]


def test_selectable_fields() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "o": {"type": "object"}}}
    fields = [{"jsonPath": path} for path in (".a", ".a", ".b", "a", "", ".a[0]", ".o")]
    at = "spec.selectableFields"
    assert problems(version(schema=schema, selectableFields=fields)) == [
        f'{at}[1].jsonPath: Duplicate value: ".a"',
        f'{at}[2].jsonPath: Invalid value: ".b": is an invalid path: does not refer to a valid field',
        f'{at}[3].jsonPath: Invalid value: "a": is an invalid path: expected [ or . but got: a',
        f"{at}[4].jsonPath: Required value",
        f'{at}[5].jsonPath: Invalid value: ".a[0]": is an invalid path: array notation is not allowed',
        f'{at}[6].jsonPath: Invalid value: ".o": must point to a field of type string, boolean or integer. '
        "Enum string fields and strings with formats are allowed.",
    ]


def test_metadata_cannot_be_selected_where_it_is_a_field() -> None:
    detail = "must not point to fields in metadata"
    named = {"type": "object", "properties": {"metadata": {"type": "object"}}}
    assert any(detail in text for text in problems(version(schema=named, selectableFields=[{"jsonPath": ".metadata"}])))
    keyed = {"type": "object", "additionalProperties": {"type": "string"}}
    found = problems(version(schema=keyed, selectableFields=[{"jsonPath": ".metadata"}]))
    assert found == ["spec.validation.openAPIV3Schema.additionalProperties: Forbidden: must not be used at the root"]


def test_at_most_eight_fields_are_selectable() -> None:
    names = [f"f{index}" for index in range(9)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    fields = [{"jsonPath": f".{name}"} for name in names]
    assert problems(version(schema=schema, selectableFields=fields)) == [
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
    found = problems(version(deprecated=True, deprecationWarning=warning))
    assert [text.split(": ", 3)[-1] for text in found] == texts


def test_only_deprecated_versions_warn() -> None:
    assert problems(version(deprecationWarning="<v2>")) == [
        'spec.versions[0].deprecationWarning: Invalid value: "\\u003cv2\\u003e": '
        "can only be set for deprecated versions"
    ]


def test_what_may_never_change() -> None:
    old = settled()
    names = {**old["spec"]["names"], "kind": "Implement", "plural": "implements"}
    assert update_problems(changed(old, names=names, scope="Cluster", group="other.com"), old) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Implement": field is immutable',
        'spec.group: Invalid value: "other.com": field is immutable',
        'spec.names.plural: Invalid value: "implements": field is immutable',
    ]


def test_before_it_is_established_kind_and_scope_may_change() -> None:
    old = {**settled(), "status": made()["status"]}
    assert update_problems(changed(old, scope="Cluster"), old) == []


def test_stored_versions_must_remain() -> None:
    old = settled(version(), version("v2"))
    (text,) = update_problems(changed(old, versions=[version("v2", storage=True)]), old)
    assert text == (
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; '
        "v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures "
        "no data remains persisted in v1 and removes v1 from status.storedVersions"
    )


def test_a_status_is_judged_by_its_names_alone() -> None:
    old = settled()
    status = {**old["status"], "storedVersions": ["v9"], "acceptedNames": {"plural": "Bad", "kind": "Tool"}}
    new = {**old, "status": status}
    assert [str(error) for error in crd.validate_status_update(new, old)] == [
        f'status.acceptedNames.plural: Invalid value: "Bad": {LABEL}'
    ]


def test_metadata_is_judged_too() -> None:
    old = settled()
    new = changed(old)
    new["metadata"] |= {"uid": "other"}
    assert update_problems(new, old) == ['metadata.uid: Invalid value: "other": field is immutable']


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
def test_any_schema_gives_errors_or_none(schema: Any) -> None:
    try:
        new, _ = crd.decode(body(version(schema=schema)), "v1", True)
        [str(error) for error in crd.validate_create(crd.prepare_create(new))]
        at_rest(new)
        crd.warnings(new)
        crd.encode(new, "v1beta1")
    except APIError:
        pass


def test_a_schema_of_many_levels_is_judged() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(70):
        schema = {"type": "object", "properties": {"a": {"type": "array", "items": schema}}}
    assert problems(version(schema=schema)) == []
