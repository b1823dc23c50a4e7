from __future__ import annotations

from typing import Any

import pytest

from polykind.crd.approval import ANNOTATION, approval_condition, is_protected_group, validate_approval
from tests.crd.build import made

POLICY = "see https://github.com/kubernetes/enhancements/pull/1111"


def annotated(text: str | None, group: str = "x.k8s.io") -> dict[str, Any]:
    crd = made(group=group)
    if text is not None:
        crd["metadata"]["annotations"] = {ANNOTATION: text}
    return crd


def test_the_groups_of_the_community() -> None:
    assert [is_protected_group(group) for group in ("k8s.io", "a.kubernetes.io", "myk8s.io", "k8s.io.example.com")] == [
        True,
        True,
        False,
        False,
    ]
    assert approval_condition(annotated(None, "example.com")) is None
    assert validate_approval(annotated(None, "example.com"), None) == []


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
def test_the_condition(text: str | None, status: str, reason: str, message: str) -> None:
    found = approval_condition(annotated(text))
    assert found is not None
    assert (found["type"], found["status"]) == ("KubernetesAPIApprovalPolicyConformant", status)
    assert (found["reason"], found["message"]) == (reason, message)


def test_what_was_so_before_may_stay_so() -> None:
    assert validate_approval(annotated(None), annotated(None)) == []
    assert validate_approval(annotated("no"), annotated("never")) == []
    (error,) = validate_approval(annotated("no"), annotated(None))
    assert str(error).startswith(f'metadata.annotations[{ANNOTATION}]: Invalid value: "no": protected groups')
