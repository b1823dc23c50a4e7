"""AdmissionReview requests and responses."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.admission.admission_review import (
    AdmissionResponse,
    InvalidResponseError,
    WebhookDeniedError,
    parse_response,
    request,
)
from polykind.admission.versioned_attributes import VersionedAttributes
from tests.admission.support import attributes_for

OBJ = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}}
PATCH = base64.b64encode(b"[]").decode()


def review_response(version: str = "v1", **response: Any) -> bytes:
    fields = {"uid": "u", "allowed": True, **response}
    return json.dumps(
        {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "response": fields}
    ).encode()


def error_message(body: bytes, *, version: str = "v1", mutating: bool = True) -> str:
    with pytest.raises(InvalidResponseError) as caught:
        parse_response(version, "u", body, mutating=mutating)
    return str(caught.value)


def test_request_matches_kube_apiserver() -> None:
    write = attributes_for(OBJ, dry_run=True)
    body = request(
        "v1beta1", "u", write, VersionedAttributes("x.io/v2", "x.io/v2", {**OBJ, "apiVersion": "x.io/v2"}, None)
    )
    assert json.loads(body) == {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1beta1",
        "request": {
            "uid": "u",
            "kind": {"group": "x.io", "version": "v2", "kind": "Vat"},
            "resource": {"group": "x.io", "version": "v2", "resource": "vats"},
            "requestKind": {"group": "x.io", "version": "v1", "kind": "Vat"},
            "requestResource": {"group": "x.io", "version": "v1", "resource": "vats"},
            "name": "v",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "ann", "uid": "u-1", "groups": ["makers", "system:authenticated"]},
            "object": {**OBJ, "apiVersion": "x.io/v2"},
            "oldObject": None,
            "dryRun": True,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    }


def test_valid_response_is_parsed() -> None:
    status = {"code": 403, "message": "no"}
    fields: dict[str, Any] = {"allowed": False, "status": status, "warnings": ["w"], "auditAnnotations": {"k": "v"}}
    found = parse_response("v1", "u", review_response(**fields), mutating=True)
    assert found == AdmissionResponse(False, {"metadata": {}, **status}, b"", "", ("w",), {"k": "v"})
    assert parse_response("v1", "u", review_response(patch=PATCH, patchType="JSONPatch"), mutating=True).patch == b"[]"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{}", "received invalid webhook response: webhook response was absent"),
        (review_response(uid="w"), 'received invalid webhook response: expected response.uid="u", got "w"'),
        (
            b'{"response":{"uid":"u","allowed":true}}',
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
            "Kind=AdmissionReview, got /, Kind=",
        ),
        (
            review_response("v1beta1"),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            review_response(allowed="yes"),
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionResponse.response.allowed of type bool",
        ),
        (
            review_response(status={"code": "x"}),
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "Status.response.status.code of type int32",
        ),
        (
            review_response()[:-1] + b',"request":{"kind":"x"}}',
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionRequest.request.kind of type v1.GroupVersionKind",
        ),
        (
            review_response(patch="!!!", patchType="JSONPatch"),
            "failed to call webhook: illegal base64 data at input byte 0",
        ),
        (
            review_response(patch=PATCH),
            "received invalid webhook response: webhook returned response.patch but not response.patchType",
        ),
        (
            review_response(patchType="JSONPatch"),
            "received invalid webhook response: webhook returned response.patchType but not response.patch",
        ),
        (
            review_response(patch=PATCH, patchType=""),
            'received invalid webhook response: webhook returned invalid response.patchType of ""',
        ),
    ],
)
def test_invalid_response_error_matches_kube_apiserver(body: bytes, expected: str) -> None:
    assert error_message(body) == expected


def test_validating_webhook_may_not_return_a_patch() -> None:
    expected = "received invalid webhook response: validating webhook may not return response."
    assert error_message(review_response(patch=PATCH), mutating=False) == f"{expected}patch"
    assert error_message(review_response(patchType="JSONPatch"), mutating=False) == f"{expected}patchType"


def test_v1beta1_ignores_uid_kind_and_patch_type() -> None:
    body = json.dumps({"response": {"allowed": True, "patch": PATCH, "patchType": "Other"}}).encode()
    assert parse_response("v1beta1", "u", body, mutating=True).patch_type == "JSONPatch"
    assert parse_response("v1beta1", "u", body, mutating=False).patch == b""


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (None, 400, "denied the request without explanation"),
        ({"message": "no"}, 400, "denied the request: no"),
        ({"reason": "Why", "code": 200, "status": "Success"}, 400, "denied the request: Why"),
        ({"message": "tea", "code": 418}, 418, "denied the request: tea"),
        ({"code": 100000}, 500, "denied the request without explanation"),
    ],
)
def test_denial_uses_the_webhooks_status(status: Any, code: int, message: str) -> None:
    error_status = WebhookDeniedError("a.b.c", status).status()
    assert (error_status["code"], error_status["message"]) == (code, f'admission webhook "a.b.c" {message}')
    assert error_status["status"] == "Failure"


def test_denial_keeps_details_and_metadata() -> None:
    details = {"name": "x", "causes": [{"message": "m"}]}
    error_status = WebhookDeniedError(
        "h", {"status": "odd", "reason": "R", "details": details, "metadata": {"continue": "c"}}
    ).status()
    assert (error_status["status"], error_status["reason"], error_status["details"], error_status["metadata"]) == (
        "odd",
        "R",
        details,
        {"continue": "c"},
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_RESPONSE = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("uid", "allowed", "status", "patch", "patchType", "warnings", "auditAnnotations"), _JSON),
)
_ANSWERS = st.fixed_dictionaries({}, optional={"apiVersion": _JSON, "kind": _JSON, "response": _RESPONSE | _JSON})


@given((_ANSWERS | _JSON).map(lambda value: json.dumps(value).encode()) | st.binary(), st.booleans())
def test_any_body_is_parsed_or_rejected(body: bytes, mutating: bool) -> None:
    for version in ("v1", "v1beta1"):
        try:
            verdict = parse_response(version, "u", body, mutating=mutating)
        except InvalidResponseError:
            continue
        if not verdict.allowed:
            assert 400 <= WebhookDeniedError("h", verdict.status).status()["code"] < 1000
