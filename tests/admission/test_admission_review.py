"""AdmissionReviews: what is sent, and what an answer must be."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.admission.admission_review import Denied, Misanswered, Shown, Verdict, answered, request
from tests.admission.support import asked

OBJ = {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": "v"}}
PATCH = base64.b64encode(b"[]").decode()


def answer(version: str = "v1", **response: Any) -> bytes:
    told = {"uid": "u", "allowed": True, **response}
    return json.dumps(
        {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "response": told}
    ).encode()


def complaint(body: bytes, *, version: str = "v1", mutating: bool = True) -> str:
    with pytest.raises(Misanswered) as caught:
        answered(version, "u", body, mutating=mutating)
    return str(caught.value)


def test_a_write_is_told_as_the_reference_tells_it() -> None:
    write = asked(OBJ, dry_run=True)
    body = request("v1beta1", "u", write, Shown("v2", "x.io/v2", {**OBJ, "apiVersion": "x.io/v2"}, None))
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


def test_a_verdict_is_read() -> None:
    status = {"code": 403, "message": "no"}
    found = answered("v1", "u", answer(allowed=False, status=status, warnings=["w"]), mutating=True)
    assert found == Verdict(False, {"metadata": {}, **status}, b"", "", ("w",))
    assert answered("v1", "u", answer(patch=PATCH, patchType="JSONPatch"), mutating=True).patch == b"[]"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{}", "received invalid webhook response: webhook response was absent"),
        (answer(uid="w"), 'received invalid webhook response: expected response.uid="u", got "w"'),
        (
            b'{"response":{"uid":"u","allowed":true}}',
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
            "Kind=AdmissionReview, got /, Kind=",
        ),
        (
            answer("v1beta1"),
            "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
        ),
        (
            answer(allowed="yes"),
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionResponse.response.allowed of type bool",
        ),
        (
            answer(status={"code": "x"}),
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "Status.response.status.code of type int32",
        ),
        (
            answer()[:-1] + b',"request":{"kind":"x"}}',
            "failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionRequest.request.kind of type v1.GroupVersionKind",
        ),
        (answer(patch="!!!", patchType="JSONPatch"), "failed to call webhook: illegal base64 data at input byte 0"),
        (
            answer(patch=PATCH),
            "received invalid webhook response: webhook returned response.patch but not response.patchType",
        ),
        (
            answer(patchType="JSONPatch"),
            "received invalid webhook response: webhook returned response.patchType but not response.patch",
        ),
        (
            answer(patch=PATCH, patchType=""),
            'received invalid webhook response: webhook returned invalid response.patchType of ""',
        ),
    ],
)
def test_answers_that_are_none_are_told_in_the_reference_s_words(body: bytes, said: str) -> None:
    assert complaint(body) == said


def test_a_validating_webhook_may_change_nothing() -> None:
    said = "received invalid webhook response: validating webhook may not return response."
    assert complaint(answer(patch=PATCH), mutating=False) == f"{said}patch"
    assert complaint(answer(patchType="JSONPatch"), mutating=False) == f"{said}patchType"


def test_v1beta1_looks_at_neither_uid_nor_kind_nor_patch_type() -> None:
    body = json.dumps({"response": {"allowed": True, "patch": PATCH, "patchType": "Other"}}).encode()
    assert answered("v1beta1", "u", body, mutating=True).patch_type == "JSONPatch"
    assert answered("v1beta1", "u", body, mutating=False).patch == b""


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
def test_a_refusal_is_the_webhook_s_own(status: Any, code: int, message: str) -> None:
    told = Denied("a.b.c", status).status()
    assert (told["code"], told["message"]) == (code, f'admission webhook "a.b.c" {message}')
    assert told["status"] == "Failure"


def test_a_refusal_keeps_what_else_a_webhook_says() -> None:
    details = {"name": "x", "causes": [{"message": "m"}]}
    told = Denied("h", {"status": "odd", "reason": "R", "details": details, "metadata": {"continue": "c"}}).status()
    assert (told["status"], told["reason"], told["details"], told["metadata"]) == (
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
def test_no_answer_is_anything_but_a_verdict_or_refused(body: bytes, mutating: bool) -> None:
    for version in ("v1", "v1beta1"):
        try:
            verdict = answered(version, "u", body, mutating=mutating)
        except Misanswered:
            continue
        if not verdict.allowed:
            assert 400 <= Denied("h", verdict.status).status()["code"] < 1000
