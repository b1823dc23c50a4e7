"""ConversionReview requests and responses, checked against 269 recorded errors of kube-apiserver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.contract import JsonObject
from polykind.conversion import conversion_messages
from polykind.conversion.conversion_errors import AttemptError, error_prefix
from polykind.webhook.response_errors import HTTPResponse, response_error
from polykind.webhook.review_envelope import choose_version
from tests.conversion.hook import crontab

_CASES: list[JsonObject] = json.loads((Path(__file__).parent / "kube_apiserver_responses.json").read_text())
_UID = "775948d5-bec1-46aa-96a1-c6f63533a9ed"
_ONE = {
    "apiVersion": "example.com/v1beta1",
    "kind": "CronTab",
    "metadata": {"name": "one", "namespace": "default", "uid": "u-1", "labels": {"a": "b"}},
    "x": 1,
}


def parse_case(case: JsonObject) -> tuple[str, Any]:
    obj = case.get("object", _ONE)
    before = json.dumps(obj)
    body = case.get("body", "").replace("{{uid}}", _UID).encode()
    message = response_error(HTTPResponse(case.get("status", 200), case.get("type", "application/json"), body))
    if message is not None:
        return f"{error_prefix(obj)} failed: {message}", None
    version = choose_version(case.get("review", "v1").split(","))
    assert version
    try:
        return "", conversion_messages.parse_response(version, _UID, body, [obj], "example.com/v1")[0]
    except AttemptError as failure:
        return failure.message, None
    finally:
        assert json.dumps(obj) == before


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["case"][:60])
def test_responses_are_validated_like_kube_apiserver(case: JsonObject) -> None:
    says, gives = parse_case(case)
    assert says == case.get("says", "").replace("{{uid}}", _UID)
    assert gives == case.get("gives")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"response": {"result": {"code": "5"}}},
            "string into Go struct field Status.response.result.code of type int32",
        ),
        (
            {"response": {"result": {"details": {"retryAfterSeconds": 99999999999}}}},
            "number 99999999999 into Go struct field StatusDetails.response.result.details.retryAfterSeconds "
            "of type int32",
        ),
        (
            {"response": {"result": {"details": {"causes": [{"field": 3}]}}, "uid": 4}},
            "number into Go struct field StatusCause.response.result.details.causes.field of type string",
        ),
        (
            {"request": {"objects": 3}},
            "number into Go struct field ConversionRequest.request.objects of type []runtime.RawExtension",
        ),
        ({"request": "x"}, "string into Go struct field ConversionReview.request of type {version}.ConversionRequest"),
        ({"response": []}, "array into Go struct field ConversionReview.response of type {version}.ConversionResponse"),
    ],
)
def test_first_field_of_a_wrong_type_is_reported(version: str, fields: JsonObject, message: str) -> None:
    body = json.dumps({"apiVersion": f"apiextensions.k8s.io/{version}", "kind": "ConversionReview"} | fields).encode()
    with pytest.raises(AttemptError) as caught:
        conversion_messages.parse_response(version, _UID, body, [crontab()], "example.com/v1")
    unmarshal = f"json: cannot unmarshal {message.format(version=version)}"
    assert caught.value.message == f"conversion webhook for example.com/v1beta1, Kind=CronTab failed: {unmarshal}"


@pytest.mark.parametrize("kind", ["ListOptions", "WatchEvent"])
def test_common_kinds_are_decoded_before_they_are_rejected(kind: str) -> None:
    body = json.dumps({"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": kind}).encode()
    with pytest.raises(AttemptError, match=rf"converting \(v1.{kind}\) to \(v1.ConversionReview\): unknown conversion"):
        conversion_messages.parse_response("v1", _UID, body, [crontab()], "example.com/v1")


def test_request_matches_kube_apiserver() -> None:
    body = conversion_messages.request("v1", "some-uid", "example.com/v1", [b'{"a":1}', b'{"b":2}'])
    assert body == (
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"some-uid",'
        b'"desiredAPIVersion":"example.com/v1","objects":[{"a":1},{"b":2}]},'
        b'"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}\n'
    )


@pytest.mark.parametrize(
    ("versions", "expected"),
    [(["v1"], "v1"), (["v7", "v1beta1", "v1"], "v1beta1"), (["v7"], None), ([], None)],
)
def test_first_supported_review_version_is_used(versions: list[str], expected: str | None) -> None:
    assert choose_version(versions) == expected


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.binary(max_size=200) | _json.map(lambda v: json.dumps(v).encode()))
def test_any_body_gives_objects_or_an_error(body: bytes) -> None:
    with pytest.raises(AttemptError):
        conversion_messages.parse_response("v1", _UID, body, [crontab()], "example.com/v1")


@given(_json, _json)
def test_any_object_is_accepted_or_an_error(metadata: Any, value: Any) -> None:
    for obj in ({**crontab(version="v1"), "metadata": metadata}, value):
        body = json.dumps(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "ConversionReview",
                "response": {"uid": _UID, "result": {"status": "Success"}, "convertedObjects": [obj]},
            }
        ).encode()
        try:
            (out,) = conversion_messages.parse_response("v1", _UID, body, [crontab()], "example.com/v1")
        except AttemptError:
            continue
        assert out["metadata"]["name"] == "one"


def test_deeply_nested_responses_do_not_crash() -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    body = (
        f'{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{{"uid":"{_UID}",'
        f'"result":{{"status":"Success"}},"convertedObjects":[{deep}]}}}}'
    )
    with pytest.raises(AttemptError, match="Object 'Kind' is missing in"):
        conversion_messages.parse_response("v1", _UID, body.encode(), [crontab()], "example.com/v1")
    with pytest.raises(AttemptError):
        conversion_messages.parse_response("v1", _UID, b"[" * 100_000, [crontab()], "example.com/v1")


def test_response_not_starting_like_an_object_is_parsed_as_yaml() -> None:
    metadata = "{name: one, namespace: default, uid: u-1}"
    body = (
        f"\ufeffapiVersion: apiextensions.k8s.io/v1\nkind: ConversionReview\nresponse:\n  uid: {_UID}\n"
        "  result: {status: Success}\n  convertedObjects:\n"
        f"  - {{apiVersion: example.com/v1, kind: CronTab, metadata: {metadata}, z: 1}}\n"
    ).encode()
    (out,) = conversion_messages.parse_response("v1", _UID, body, [_ONE], "example.com/v1")
    assert out["metadata"] == {"name": "one", "namespace": "default", "uid": "u-1"}
    assert out["z"] == 1
    with pytest.raises(AttemptError, match="failed: yaml: line 2: did not find expected"):
        conversion_messages.parse_response("v1", _UID, b"a:\n  b: [b", [_ONE], "example.com/v1")
