from __future__ import annotations

from typing import Any

import pytest

from polykind.errors import APIError, BadRequestError, InvalidError
from polykind.golang.query import parse_query
from polykind.operations import options
from polykind.operations.options import (
    CreateOptions,
    DeleteOptions,
    GetOptions,
    ListOptions,
    PatchOptions,
    UpdateOptions,
)


def test_empty_query_gives_defaults() -> None:
    assert ListOptions.from_query({}) == ListOptions()
    assert GetOptions.from_query({}) == GetOptions("")
    assert CreateOptions.from_query({}) == CreateOptions(False, "", "Warn")
    assert UpdateOptions.from_query({}) == UpdateOptions(False, "", "Warn")
    assert PatchOptions.from_query({}, apply=False) == PatchOptions(False, "", "Warn", False)
    assert DeleteOptions.from_query({}) == DeleteOptions()


def test_list_options() -> None:
    query = (
        "labelSelector=a%3D1&fieldSelector=metadata.name%3Dx&limit=5&continue=abc&timeoutSeconds=7&resourceVersion=9"
    )
    got = ListOptions.from_query(parse_query(query))
    assert str(got.label_selector) == "a=1"
    assert got.field_selector.name == "x"
    assert (got.limit, got.continue_, got.timeout_seconds, got.resource_version) == (5, "abc", 7, "9")


@pytest.mark.parametrize(
    ("query", "initial", "match"),
    [
        ("watch=1", True, "NotOlderThan"),
        ("watch=maybe&resourceVersion=0", True, "NotOlderThan"),
        ("watch=1&resourceVersion=5", None, ""),
        ("watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", False, "NotOlderThan"),
        ("watch=false", None, ""),
    ],
)
def test_watch_without_revision_sends_initial_events(query: str, initial: bool | None, match: str) -> None:
    got = ListOptions.from_query(parse_query(query))
    assert (got.send_initial_events, got.resource_version_match) == (initial, match)


LIST = 'ListOptions.meta.k8s.io "" is invalid: '
MATCH = "resourceVersionMatch: Forbidden: resourceVersionMatch"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=many", 'strconv.ParseInt: parsing "many": invalid syntax'),
        ("timeoutSeconds=soon", 'strconv.ParseInt: parsing "soon": invalid syntax'),
        ("limit=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        ("limit=", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("labelSelector=a+b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("fieldSelector=x", "invalid selector: 'x'; can't understand 'x'"),
        ("resourceVersionMatch=Exact", f"{LIST}{MATCH} is forbidden unless resourceVersion is provided"),
        (
            "resourceVersionMatch=Nearly&resourceVersion=1",
            f'{LIST}resourceVersionMatch: Unsupported value: "Nearly": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            f'{LIST}{MATCH} "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=1&continue=x",
            f"{LIST}{MATCH} is forbidden when continue is provided",
        ),
        ("sendInitialEvents=true", f"{LIST}sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            f"{LIST}[{MATCH} is forbidden unless resourceVersion is provided, "
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]",
        ),
        (
            "watch=1&sendInitialEvents=true",
            f"{LIST}resourceVersionMatch: Forbidden: "
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "watch=1&resourceVersionMatch=NotOlderThan",
            f"{LIST}{MATCH} is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
            f"{LIST}[resourceVersionMatch: Forbidden: "
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, "
            'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
        ),
    ],
)
def test_invalid_list_options(query: str, message: str) -> None:
    with pytest.raises(APIError) as raised:
        ListOptions.from_query(parse_query(query))
    assert raised.value.message == message
    assert raised.value.code == (422 if "is invalid" in message else 400)


def test_invalid_options_name_their_kind() -> None:
    with pytest.raises(InvalidError) as raised:
        PatchOptions.from_query(parse_query("force=true"), apply=False)
    assert raised.value.status()["details"] == {
        "group": "meta.k8s.io",
        "kind": "PatchOptions",
        "causes": [
            {
                "reason": "FieldValueForbidden",
                "message": "Forbidden: may not be specified for non-apply patch",
                "field": "force",
            }
        ],
    }


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("dryRun=Some", 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ("dryRun=All&dryRun=Never", 'dryRun: Unsupported value: ["All","Never"]: supported values: "All"'),
        (
            "fieldValidation=Perhaps",
            'fieldValidation: Unsupported value: "Perhaps": supported values: "", "Ignore", "Strict", "Warn"',
        ),
        ("fieldManager=a%01b", 'fieldManager: Invalid value: "a\\x01b": invalid character U+0001 (at position 1)'),
        ("fieldManager=%C3%A9%0A", 'fieldManager: Invalid value: "é\\n": invalid character U+000A (at position 2)'),
        ("fieldManager=" + "x" * 129, "fieldManager: Too long: may not be more than 128 bytes"),
        ("fieldManager=" + "%C3%A9" * 65, "fieldManager: Too long: may not be more than 128 bytes"),
    ],
)
def test_invalid_write_options(query: str, message: str) -> None:
    with pytest.raises(InvalidError) as created:
        CreateOptions.from_query(parse_query(query))
    assert created.value.message == f'CreateOptions.meta.k8s.io "" is invalid: {message}'
    with pytest.raises(InvalidError) as updated:
        UpdateOptions.from_query(parse_query(query))
    assert updated.value.message == f'UpdateOptions.meta.k8s.io "" is invalid: {message}'
    with pytest.raises(InvalidError) as patched:
        PatchOptions.from_query(parse_query(query), apply=False)
    assert patched.value.message == f'PatchOptions.meta.k8s.io "" is invalid: {message}'


def test_valid_write_options() -> None:
    query = parse_query("dryRun=All&fieldManager=me&fieldValidation=Strict&force=1")
    assert CreateOptions.from_query(query) == CreateOptions(True, "me", "Strict")
    assert PatchOptions.from_query(query, apply=True) == PatchOptions(True, "me", "Strict", True)


def test_apply_requires_field_manager() -> None:
    with pytest.raises(InvalidError) as raised:
        PatchOptions.from_query({}, apply=True)
    assert raised.value.message == (
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    )


DELETE = 'DeleteOptions.meta.k8s.io "" is invalid: '


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("gracePeriodSeconds=soon", 'strconv.ParseInt: parsing "soon": invalid syntax'),
        (
            "propagationPolicy=Sideways",
            f'{DELETE}propagationPolicy: Unsupported value: "Sideways": '
            'supported values: "Foreground", "Background", "Orphan", "nil"',
        ),
        (
            "propagationPolicy=Foreground&orphanDependents=true",
            f'{DELETE}propagationPolicy: Invalid value: "Foreground": '
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        ("dryRun=true", f'{DELETE}dryRun: Unsupported value: ["true"]: supported values: "All"'),
    ],
)
def test_invalid_delete_options(query: str, message: str) -> None:
    with pytest.raises(APIError) as raised:
        DeleteOptions.from_query(parse_query(query))
    assert raised.value.message == message


def test_delete_options_from_query_and_from_body() -> None:
    query = parse_query("dryRun=All&gracePeriodSeconds=-1&propagationPolicy=Orphan&uid=u&resourceVersion=7")
    body = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "dryRun": ["All"],
        "gracePeriodSeconds": -1,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
    }
    expected = DeleteOptions(True, -1, None, "Orphan", "u", "7")
    assert DeleteOptions.from_query(query) == DeleteOptions.from_body(body) == expected
    assert DeleteOptions.from_body({}) == DeleteOptions.from_body(None) == DeleteOptions()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"gracePeriodSeconds": "x"}, "string into Go struct field DeleteOptions.gracePeriodSeconds of type int64"),
        ({"gracePeriodSeconds": 1.5}, "number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64"),
        ({"orphanDependents": 1}, "number into Go struct field DeleteOptions.orphanDependents of type bool"),
        ({"dryRun": "All"}, "string into Go struct field DeleteOptions.dryRun of type []string"),
        ({"dryRun": [1]}, "number into Go struct field DeleteOptions.dryRun of type string"),
        ({"preconditions": []}, "array into Go struct field DeleteOptions.preconditions of type v1.Preconditions"),
        (
            {"preconditions": {"uid": 5}},
            "number into Go struct field Preconditions.preconditions.uid of type types.UID",
        ),
        (
            {"propagationPolicy": 5},
            "number into Go struct field DeleteOptions.propagationPolicy of type v1.DeletionPropagation",
        ),
    ],
)
def test_delete_body_with_wrong_types(body: Any, message: str) -> None:
    with pytest.raises(BadRequestError) as raised:
        DeleteOptions.from_body(body)
    assert raised.value.message == f"json: cannot unmarshal {message}"


def test_delete_body_of_unregistered_kind() -> None:
    assert DeleteOptions.from_body({"kind": "DeleteOptions", "apiVersion": "other.example.com/v7"}) == DeleteOptions()
    with pytest.raises(BadRequestError) as raised:
        DeleteOptions.from_body({"kind": "Banana", "apiVersion": "v1"})
    assert raised.value.message == (
        'no kind "Banana" is registered for version "v1" in scheme '
        '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'
    )


@pytest.mark.parametrize(
    ("kind", "version"),
    [("Status", "v1"), ("UpdateOptions", "other.example.com/v7"), ("Table", ""), ("ListOptions", "")],
)
def test_delete_body_of_registered_kind_without_conversion(kind: str, version: str) -> None:
    with pytest.raises(BadRequestError) as raised:
        DeleteOptions.from_body({"kind": kind, "apiVersion": version})
    assert raised.value.message == f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion"


def test_manager_name() -> None:
    assert options.manager_name("me", b"kubectl/v1.36") == "me"
    assert options.manager_name("", b"kubectl/v1.36 (linux)") == "kubectl"
    assert options.manager_name("", b"a\nb") == "ab"
    assert options.manager_name("", "é".encode() * 100) == "é" * 64
    assert options.manager_name("", b"v\xe9/1") == "v\ufffd"


def test_include_object() -> None:
    assert options.include_object({}) == "Metadata"
    assert options.include_object(parse_query("includeObject=None")) == "None"
    with pytest.raises(BadRequestError) as raised:
        options.include_object(parse_query("includeObject=Everything"))
    assert raised.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Everything": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def test_request_timeout() -> None:
    assert options.request_timeout({}) is None
    assert options.request_timeout(parse_query("timeout=1m")) == 60
    assert options.request_timeout(parse_query("timeout=0")) is None
    with pytest.raises(BadRequestError) as raised:
        options.request_timeout(parse_query("timeout=later"))
    assert raised.value.message == 'invalid timeout specified in the request URL - time: invalid duration "later"'
