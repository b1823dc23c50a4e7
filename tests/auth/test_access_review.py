from __future__ import annotations

from typing import Any

import pytest

from polykind.auth import access_review
from polykind.contract import JsonObject
from polykind.errors import BadRequestError

ORDER = ("name", "namespace", "labels", "managedFields")
NO_ATTRIBUTES = (
    "spec.resourceAttributes: Invalid value: null: "
    "exactly one of nonResourceAttributes or resourceAttributes must be specified"
)
NO_SUBJECT = 'spec.user: Invalid value: "": at least one of user or group must be specified'


def errors_of(
    spec: JsonObject, meta: JsonObject | None = None, *, subject: bool = False, local: bool = False
) -> list[str]:
    review = {"metadata": meta or {}, "spec": spec}
    return [str(error) for error in access_review.validate(review, ORDER, subject=subject, local=local)]


@pytest.mark.parametrize("spec", [{"resourceAttributes": {}}, {"nonResourceAttributes": {"path": "/x"}}])
def test_self_subject_access_review_needs_no_user(spec: JsonObject) -> None:
    assert errors_of(spec) == []
    assert errors_of(spec, subject=True) == [NO_SUBJECT]


def test_review_needs_exactly_one_kind_of_attributes() -> None:
    assert errors_of({}) == [NO_ATTRIBUTES]
    assert errors_of({}, subject=True) == [NO_ATTRIBUTES, NO_SUBJECT]
    assert errors_of({"resourceAttributes": {}, "nonResourceAttributes": {"verb": "get"}}) == [
        'spec.nonResourceAttributes: Invalid value: {"Path":"","Verb":"get"}: '
        "cannot be specified in combination with resourceAttributes"
    ]


@pytest.mark.parametrize("subject", [{"user": "ann"}, {"groups": ["a"]}])
def test_subject_is_a_user_or_groups(subject: JsonObject) -> None:
    assert errors_of({"resourceAttributes": {}, **subject}, subject=True) == []


def test_metadata_must_be_empty_except_for_managed_fields() -> None:
    spec: JsonObject = {"resourceAttributes": {}}
    assert errors_of(spec, {"managedFields": [{"manager": "a"}]}) == []
    assert errors_of(spec, {"labels": {"b": "<"}, "name": "a"}) == [
        'metadata: Invalid value: {"name":"a","labels":{"b":"\\u003c"}}: must be empty'
    ]


def test_local_review_must_match_its_namespace() -> None:
    spec = {"resourceAttributes": {"namespace": "here"}, "user": "ann"}
    assert errors_of(spec, {"namespace": "here"}, subject=True, local=True) == []
    assert errors_of(spec, {"namespace": "there", "name": "a"}, subject=True, local=True) == [
        'metadata: Invalid value: {"name":"a","namespace":"there"}: must be empty except for namespace',
        'spec.resourceAttributes.namespace: Invalid value: "here": must match metadata.namespace',
    ]
    other = {"nonResourceAttributes": {"path": "/x"}, "user": "ann"}
    assert errors_of(other, {"namespace": "here"}, subject=True, local=True) == [
        'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":""}: disallowed on this kind of request'
    ]


def test_status_omits_empty_fields() -> None:
    errors_of = access_review.status({}, allowed=True, denied=False, reason="", error="")
    assert errors_of == {"allowed": True}
    errors_of = access_review.status({}, allowed=False, denied=True, reason="why", error="wrong")
    assert errors_of == {"allowed": False, "denied": True, "reason": "why", "evaluationError": "wrong"}


def test_evaluation_error_ends_with_ignored_selectors() -> None:
    limited = {"resourceAttributes": {"labelSelector": {"rawSelector": "a in ("}}}
    ignored = "spec.resourceAttributes.labelSelector ignored due to parse error"
    errors_of = access_review.status(limited, allowed=True, denied=False, reason="", error="")
    assert errors_of == {"allowed": True, "evaluationError": ignored}
    errors_of = access_review.status(limited, allowed=False, denied=False, reason="", error="wrong")
    assert errors_of == {"allowed": False, "evaluationError": f"wrong; {ignored}"}


def test_rules_review_needs_a_namespace() -> None:
    access_review.check_rules_review({"spec": {"namespace": "a"}})
    with pytest.raises(BadRequestError, match="no namespace on request"):
        access_review.check_rules_review({"spec": {}})


def test_rules_review_drops_sent_metadata_and_spec() -> None:
    resources, paths = [{"verbs": ["get"], "resources": ["x"]}], [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    assert access_review.rules_review(resources, paths, incomplete=False, error="") == {
        "metadata": {},
        "spec": {},
        "status": {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False},
    }
    errors_of = access_review.rules_review([], [], incomplete=True, error="wrong")["status"]
    assert errors_of == {"resourceRules": [], "nonResourceRules": [], "incomplete": True, "evaluationError": "wrong"}


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def selector_errors(name: str, **selector: Any) -> list[str]:
    return [
        str(error).removeprefix(f"at.{name}.") for error in access_review.validate_selectors({name: selector}, "at")
    ]


@pytest.mark.parametrize("name", ["fieldSelector", "labelSelector"])
def test_selector_is_raw_or_requirements(name: str) -> None:
    assert access_review.validate_selectors({}, "at") == []
    assert selector_errors(name, rawSelector="a=b") == []
    assert (
        selector_errors(
            name, requirements=[requirement("a", "In", "b"), requirement("c", "Exists"), requirement("d", "Near")]
        )
        == []
    )
    assert selector_errors(name) == [
        f"requirements: Required value: when at.{name} is specified, requirements or rawSelector is required"
    ]
    assert selector_errors(name, rawSelector="a=b", requirements=[requirement("a", "In", "b")]) == [
        'rawSelector: Invalid value: "a=b": may not specified at the same time as requirements'
    ]


@pytest.mark.parametrize("name", ["fieldSelector", "labelSelector"])
def test_operators_need_values_or_forbid_them(name: str) -> None:
    assert selector_errors(name, requirements=[requirement("a", "In"), requirement("b", "DoesNotExist", "c")]) == [
        "requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ]


def test_field_key_is_required_and_label_key_is_validated() -> None:
    assert selector_errors("fieldSelector", requirements=[requirement("", "Exists"), requirement("-", "In", "-")]) == [
        "requirements[0].key: Required value: must be specified"
    ]
    key, value = selector_errors("labelSelector", requirements=[requirement("-a", "In", "b", "-c")])
    assert key.startswith('requirements[0].key: Invalid value: "-a": name part must consist of')
    assert value.startswith('requirements[0].values[1]: Invalid value: "-c": a valid label must be')


@pytest.mark.parametrize(
    ("name", "selector", "part"),
    [
        ("fieldSelector", {"rawSelector": "a=b"}, None),
        ("fieldSelector", {"rawSelector": "a"}, ""),
        ("fieldSelector", {"requirements": [requirement("a", "In", "b")]}, None),
        ("fieldSelector", {"requirements": [requirement("a", "Exists")]}, ""),
        (
            "fieldSelector",
            {"requirements": [requirement("a", "In", "b", "c"), requirement("a", "NotIn", "b")]},
            " partially",
        ),
        ("labelSelector", {"rawSelector": "a in (b,c),!d"}, None),
        ("labelSelector", {"rawSelector": "a in ("}, ""),
        ("labelSelector", {"requirements": [requirement("a", "In", "b", "c"), requirement("d", "Exists")]}, None),
        ("labelSelector", {"requirements": [requirement("a", "Near")]}, ""),
        ("labelSelector", {"requirements": [requirement("a", "Near"), requirement("d", "Exists")]}, " partially"),
    ],
)
def test_unsupported_selector_is_reported(name: str, selector: dict[str, Any], part: str | None) -> None:
    expected = "" if part is None else f"at.{name}{part} ignored due to parse error"
    assert access_review.ignored_selectors({name: selector}, "at") == expected


def test_both_unsupported_selectors_are_reported() -> None:
    both = {"labelSelector": {"rawSelector": "("}, "fieldSelector": {"rawSelector": "x"}}
    assert access_review.ignored_selectors(both, "at") == (
        "at.fieldSelector ignored due to parse error; at.labelSelector ignored due to parse error"
    )
