from __future__ import annotations

import json
from typing import Any

import pytest

from polykind.convert import Conversions
from polykind.declare.library import Library
from polykind.toolkit.hosting.review_response import InvalidReviewError, convert_review
from tests.declare.test_conversions import KIND, crontab

V2 = "stable.example.com/v2"


def library() -> Library:
    crontabs = Conversions(KIND)

    @crontabs.step("v1", "v2")
    def up(obj: dict[str, Any]) -> None:
        if "bad" in obj["spec"]:
            raise ValueError(f"bad is {obj['spec']['bad']}")
        obj["spec"] = {"up": obj["spec"]}

    return Library("here", crontabs)


def review(*objects: Any, version: str = "v1", to: str = V2, **more: Any) -> bytes:
    request = {"uid": "u1", "desiredAPIVersion": to, "objects": list(objects), **more}
    head = {"apiVersion": f"apiextensions.k8s.io/{version}", "kind": "ConversionReview"}
    return json.dumps({**head, "request": {k: v for k, v in request.items() if v is not ...}}).encode()


def response(body: bytes, *libraries: Library) -> dict[str, Any]:
    out: dict[str, Any] = json.loads(convert_review(body, libraries or (library(),)))["response"]
    return out


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_objects_keep_their_order_and_the_review_its_version(version: str) -> None:
    body = review(crontab(spec={"n": 1}), crontab("v2", spec={"n": 2}), crontab(spec={"n": 3}), version=version)
    assert json.loads(convert_review(body, [library()])) == {
        "apiVersion": f"apiextensions.k8s.io/{version}",
        "kind": "ConversionReview",
        "response": {
            "uid": "u1",
            "result": {"status": "Success"},
            "convertedObjects": [
                crontab("v2", spec={"up": {"n": 1}}),
                crontab("v2", spec={"n": 2}),
                crontab("v2", spec={"up": {"n": 3}}),
            ],
        },
    }


def test_first_failing_object_is_named() -> None:
    failed = response(review(crontab(), crontab(spec={"bad": 7})))
    assert failed["convertedObjects"] == []
    message = "CronTab team/one cannot be converted from v1 to v2: ValueError: bad is 7"
    assert failed["result"] == {"status": "Failed", "message": message}


def test_unknown_kind_is_named() -> None:
    message = response(review({**crontab(), "kind": "Other"}))["result"]["message"]
    assert message == "Other team/one cannot be converted: no converter for Other.stable.example.com"


@pytest.mark.parametrize("item", [1, None, [], "text"])
def test_non_object_fails_the_review(item: Any) -> None:
    assert "request.objects has a" in response(review(item))["result"]["message"]


def test_function_need_not_set_api_version() -> None:
    (out,) = response(review(crontab()), Library("here", lambda obj, to: obj))["convertedObjects"]
    assert out["apiVersion"] == V2


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (None, "the converter returned NoneType, not an object"),
        ([], "the converter returned list, not an object"),
        ({"spec": object()}, "Type is not JSON serializable"),
    ],
)
def test_function_must_return_an_object(returned: Any, says: str) -> None:
    message = response(review(crontab()), Library("here", lambda obj, to: returned))["result"]["message"]
    assert message.startswith("CronTab team/one cannot be converted")
    assert says in message


def test_exception_is_in_the_message() -> None:
    def raises(obj: dict[str, Any], to: str) -> Any:
        raise KeyError

    message = response(review(crontab()), Library("here", raises))["result"]["message"]
    assert message == f"CronTab team/one cannot be converted from stable.example.com/v1 to {V2}: KeyError"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (b"[]", "the body is not a ConversionReview"),
        (b'{"kind":"Pod"}', "the body is not a ConversionReview"),
        (review(version="v2"), r"reviews of 'apiextensions.k8s.io/v2' are not supported, only those of apiextensions"),
        (b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}', "the review has no request"),
        (review(uid=...), "request.uid is missing or is not a string"),
        (review(objects=...), "request.objects is missing or is not a list"),
        (review(objects={}), "request.objects is missing or is not a list"),
        (review(desiredAPIVersion=1), "request.desiredAPIVersion is missing or is not a string"),
    ],
)
def test_invalid_review_raises(body: bytes, says: str) -> None:
    with pytest.raises(InvalidReviewError, match=says):
        convert_review(body, [library()])
