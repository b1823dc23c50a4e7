from __future__ import annotations

from typing import Any

import pytest

from polykind.crd.approval import ANNOTATION, approval_condition, is_protected_group, validate_approval
from tests.crd.build import created_crd

POLICY = "see https://github.com/kubernetes/enhancements/pull/1111"


def crd_with_annotation(text: str | None, group: str = "x.k8s.io") -> dict[str, Any]:
    crd = created_crd(group=group)
    if text is not None:
        crd["metadata"]["annotations"] = {ANNOTATION: text}
    return crd


def test_protected_groups() -> None:
    assert [is_protected_group(group) for group in ("k8s.io", "a.kubernetes.io", "myk8s.io", "k8s.io.example.com")] == [
        True,
        True,
        False,
        False,
    ]
    assert approval_condition(crd_with_annotation(None, "example.com")) is None
    assert validate_approval(crd_with_annotation(None, "example.com"), None) == []


@pytest.mark.parametrize(
    ("text", "status", "reason", "message"),
    [
        (
            None,
            "False",
            "MissingAnnotation",
            f'protected groups must have approval annotation "{ANNOTATION}", {POLICY}',
        ),
        (
            "yes",
            "False",
            "InvalidAnnotation",
            f'protected groups must have approval annotation "{ANNOTATION}" with either a URL '
            f'or a reason starting with "unapproved", {POLICY}',
        ),
        ("unapproved, a test", "False", "UnapprovedAnnotation", 'not approved: "unapproved, a test"'),
        ("https://example.com/1", "True", "ApprovedAnnotation", "approved in https://example.com/1"),
    ],
)
def test_approval_condition(text: str | None, status: str, reason: str, message: str) -> None:
    found = approval_condition(crd_with_annotation(text))
    assert found is not None
    assert (found["type"], found["status"]) == ("KubernetesAPIApprovalPolicyConformant", status)
    assert (found["reason"], found["message"]) == (reason, message)


def test_existing_approval_error_is_ratcheted() -> None:
    assert validate_approval(crd_with_annotation(None), crd_with_annotation(None)) == []
    assert validate_approval(crd_with_annotation("no"), crd_with_annotation("never")) == []
    (error,) = validate_approval(crd_with_annotation("no"), crd_with_annotation(None))
    assert str(error).startswith(f'metadata.annotations[{ANNOTATION}]: Invalid value: "no": protected groups')
