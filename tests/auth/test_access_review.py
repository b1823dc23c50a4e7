from __future__ import annotations

import pytest

from polykind.auth import access_review
from polykind.contract import JsonObject
from polykind.errors import BadRequestError

ORDER = ("name", "namespace", "labels", "managedFields")
EITHER = (
    "spec.resourceAttributes: Invalid value: null: "
    "exactly one of nonResourceAttributes or resourceAttributes must be specified"
)
NOBODY = 'spec.user: Invalid value: "": at least one of user or group must be specified'


def told(spec: JsonObject, meta: JsonObject | None = None, *, subject: bool = False, local: bool = False) -> list[str]:
    review = {"metadata": meta or {}, "spec": spec}
    return [str(problem) for problem in access_review.problems(review, ORDER, subject=subject, local=local)]


@pytest.mark.parametrize("spec", [{"resourceAttributes": {}}, {"nonResourceAttributes": {"path": "/x"}}])
def test_a_question_about_oneself(spec: JsonObject) -> None:
    assert told(spec) == []
    assert told(spec, subject=True) == [NOBODY]


def test_a_question_is_about_one_thing() -> None:
    assert told({}) == [EITHER]
    assert told({}, subject=True) == [EITHER, NOBODY]
    assert told({"resourceAttributes": {}, "nonResourceAttributes": {"verb": "get"}}) == [
        'spec.nonResourceAttributes: Invalid value: {"Path":"","Verb":"get"}: '
        "cannot be specified in combination with resourceAttributes"
    ]


@pytest.mark.parametrize("who", [{"user": "ann"}, {"groups": ["a"]}])
def test_a_subject_is_a_user_or_groups(who: JsonObject) -> None:
    assert told({"resourceAttributes": {}, **who}, subject=True) == []


def test_metadata_must_be_empty_but_for_who_wrote_it() -> None:
    spec: JsonObject = {"resourceAttributes": {}}
    assert told(spec, {"managedFields": [{"manager": "a"}]}) == []
    assert told(spec, {"labels": {"b": "<"}, "name": "a"}) == [
        'metadata: Invalid value: {"name":"a","labels":{"b":"\\u003c"}}: must be empty'
    ]


def test_a_local_question_stays_in_its_namespace() -> None:
    spec = {"resourceAttributes": {"namespace": "here"}, "user": "ann"}
    assert told(spec, {"namespace": "here"}, subject=True, local=True) == []
    assert told(spec, {"namespace": "there", "name": "a"}, subject=True, local=True) == [
        'metadata: Invalid value: {"name":"a","namespace":"there"}: must be empty except for namespace',
        'spec.resourceAttributes.namespace: Invalid value: "here": must match metadata.namespace',
    ]
    other = {"nonResourceAttributes": {"path": "/x"}, "user": "ann"}
    assert told(other, {"namespace": "here"}, subject=True, local=True) == [
        'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":""}: disallowed on this kind of request'
    ]


def test_an_answer_tells_what_there_is_to_tell() -> None:
    told = access_review.status({}, allowed=True, denied=False, reason="", error="")
    assert told == {"allowed": True}
    told = access_review.status({}, allowed=False, denied=True, reason="why", error="wrong")
    assert told == {"allowed": False, "denied": True, "reason": "why", "evaluationError": "wrong"}


def test_selectors_that_are_not_understood_are_told_after_other_errors() -> None:
    limited = {"resourceAttributes": {"labelSelector": {"rawSelector": "a in ("}}}
    ignored = "spec.resourceAttributes.labelSelector ignored due to parse error"
    told = access_review.status(limited, allowed=True, denied=False, reason="", error="")
    assert told == {"allowed": True, "evaluationError": ignored}
    told = access_review.status(limited, allowed=False, denied=False, reason="", error="wrong")
    assert told == {"allowed": False, "evaluationError": f"wrong; {ignored}"}


def test_rules_are_asked_for_of_a_namespace() -> None:
    access_review.check_rules({"spec": {"namespace": "a"}})
    with pytest.raises(BadRequestError, match="no namespace on request"):
        access_review.check_rules({"spec": {}})


def test_a_review_of_rules_has_nothing_of_the_one_that_was_sent() -> None:
    resources, paths = [{"verbs": ["get"], "resources": ["x"]}], [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    assert access_review.rules(resources, paths, incomplete=False, error="") == {
        "metadata": {},
        "spec": {},
        "status": {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False},
    }
    told = access_review.rules([], [], incomplete=True, error="wrong")["status"]
    assert told == {"resourceRules": [], "nonResourceRules": [], "incomplete": True, "evaluationError": "wrong"}
