"""Validation of CertificateSigningRequests, with kube-apiserver's messages."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.certificates.types import CERTIFICATE_SIGNING_REQUEST
from polykind.apis.certificates.validation import validate_request, validate_request_update, validate_signer_name
from polykind.contract import JsonObject
from polykind.strategies.certificates.strategy import SigningRequestStrategy
from tests.apis.certificates.requests import certificate_request
from tests.support.objects import edited, texts

APPROVED: JsonObject = {"type": "Approved", "status": "True", "reason": "R"}
DENIED: JsonObject = {"type": "Denied", "status": "True"}


def signing_request(*conditions: JsonObject) -> JsonObject:
    return {
        "metadata": {"name": "a", "resourceVersion": "1"},
        "spec": {"request": certificate_request(), "signerName": "example.com/s", "usages": ["client auth"]},
        "status": {"conditions": list(conditions)} if conditions else {},
    }


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("spec.request", "YQ==", 'spec.request: Invalid value: "YQ==": PEM block type must be CERTIFICATE REQUEST'),
        ("spec.usages", [], "spec.usages: Required value"),
        ("spec.usages", ["x"], 'spec.usages[0]: Unsupported value: "x": supported values: "any", "cert sign", "client'),
        ("spec.usages", ["any", "any"], 'spec.usages[1]: Duplicate value: "any"'),
        ("spec.signerName", "kubernetes.io/legacy-unknown", 'spec.signerName: Invalid value: "kubernetes.io/legacy-un'),
        ("spec.expirationSeconds", 599, "spec.expirationSeconds: Invalid value: 599: may not specify a duration less "),
        ("status.certificate", "YQ==", 'status.certificate: Invalid value: "<certificate data>": must contain at leas'),
        ("status.conditions", [{"status": "True"}], "status.conditions[0].type: Required value"),
        ("status.conditions", [{"type": "X"}], "status.conditions[0].status: Required value"),
        ("status.conditions", [{"type": "Failed", "status": "False"}], "status.conditions[0].status: Unsupported valu"),
        ("status.conditions", [APPROVED, APPROVED], 'status.conditions[1].type: Duplicate value: "Approved"'),
        ("status.conditions", [APPROVED, DENIED], 'status.conditions: Invalid value: "Denied": Approved and Denied co'),
    ],
)
def test_invalid_values(path: str, value: Any, message: str) -> None:
    assert validate_request(signing_request()) == []
    changed = edited(signing_request(), (path, value))
    [found] = texts(validate_request(changed))
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.usages", ["x", "x"]),
        ("spec.signerName", "kubernetes.io/legacy-unknown"),
        ("status.certificate", "YQ=="),
        ("status.conditions", [{"status": "True"}]),
        ("status.conditions", [APPROVED, APPROVED, DENIED]),
    ],
)
def test_an_update_may_keep_values_that_older_rules_allowed(path: str, value: Any) -> None:
    old = edited(signing_request(), (path, value))
    assert validate_request(old, old) == []


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("a.b/c", []),
        ("", ["Required value"]),
        ("a.b", ["must be a fully qualified domain and path of the form 'example.com/signer-name'"]),
        ("a/b", ["should be a domain with at least two segments separated by dots"]),
        ("A.b/c", ['validating label "A": a lowercase RFC 1123 label']),
        ("a.b/C", ['validating label "C": a lowercase RFC 1123 subdomain']),
    ],
)
def test_signer_names(name: str, messages: list[str]) -> None:
    found = texts(validate_signer_name(name, "at"))
    assert len(found) == len(messages)
    assert all(message in text for message, text in zip(messages, found, strict=True))


def test_conditions_that_decide_a_request_stay() -> None:
    old, new = signing_request(APPROVED), signing_request()
    assert texts(validate_request_update(new, old, may_approve=True)) == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]
    assert texts(validate_request_update(old, new)) == [
        'status.conditions: Forbidden: updates may not add a condition of type "Approved"'
    ]
    assert validate_request_update(old, new, may_approve=True) == []


def test_only_the_status_endpoint_sets_the_certificate_and_only_once() -> None:
    old = edited(signing_request(), ("status.certificate", "YQ=="))
    new = edited(old, ("status.certificate", "Yg=="))
    at = "status.certificate: Forbidden: updates may not"
    assert texts(validate_request_update(new, old)) == [f"{at} set certificate content"]
    assert texts(validate_request_update(new, old, may_sign=True)) == [f"{at} modify existing certificate content"]


def test_subresources_change_only_their_part() -> None:
    strategy = SigningRequestStrategy(CERTIFICATE_SIGNING_REQUEST)
    old = signing_request(APPROVED)
    new = edited(old, ("spec.signerName", "x"), ("status.certificate", "YQ=="), ("status.conditions[0].reason", "X"))
    approved = strategy.prepare_subresource("approval", new, old)
    assert approved["spec"] == old["spec"]
    assert approved["status"] == {"conditions": [{**APPROVED, "reason": "X"}]}
    signed = strategy.prepare_subresource("status", new, old)
    assert signed["spec"] == old["spec"]
    assert signed["status"] == {"certificate": "YQ==", "conditions": [APPROVED]}
    strategy.prepare_update(new, old)
    assert (new["spec"], new["status"]) == (old["spec"], old["status"])
