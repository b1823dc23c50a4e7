"""API errors and their Status objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from polykind import errors
from polykind.errors import FieldError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.required("a", "give it"), "a: Required value: give it"),
        (errors.required("a"), "a: Required value"),
        (errors.invalid("a", 5, "no"), "a: Invalid value: 5: no"),
        (errors.invalid("a", "x\ty", "no"), 'a: Invalid value: "x\\ty": no'),
        (errors.invalid("a", True, "no"), "a: Invalid value: true: no"),
        (errors.invalid("a", None, "no"), "a: Invalid value: null: no"),
        (errors.invalid("a", 1234567.5, "no"), "a: Invalid value: 1.2345675e+06: no"),
        (errors.invalid("a", {"b": "<x>"}, "no"), 'a: Invalid value: {"b":"\\u003cx\\u003e"}: no'),
        (errors.invalid("a", [1e21], "no"), "a: Invalid value: [1e+21]: no"),
        (errors.invalid("a", {"\ud800": 1}, ""), 'a: Invalid value: {"���":1}'),
        (errors.not_supported("a", "c", ["a", "b"]), 'a: Unsupported value: "c": supported values: "a", "b"'),
        (errors.not_supported("a", "c", []), 'a: Unsupported value: "c"'),
        (errors.forbidden("a", "no"), "a: Forbidden: no"),
        (errors.duplicate("a", "x"), 'a: Duplicate value: "x"'),
        (errors.too_long("a", 63), "a: Too long: may not be more than 63 bytes"),
        (errors.too_long("a", -1), "a: Too long: value is too long"),
        (errors.too_many("a", 3, 1), "a: Too many: 3: must have at most 1 item"),
        (errors.too_many("a", 3, 2), "a: Too many: 3: must have at most 2 items"),
        (errors.too_many("a", -1, -1), "a: Too many: has too many items"),
        (errors.internal("a", "oh"), "a: Internal error: oh"),
    ],
)
def test_field_error_text(error: FieldError, text: str) -> None:
    assert str(error) == text
    assert error.cause() == {"reason": error.reason, "message": text.removeprefix("a: "), "field": "a"}


def test_aggregate_message_lists_each_error_once() -> None:
    one, other = errors.required("a"), errors.required("b")
    assert errors.aggregate_message([one]) == "a: Required value"
    assert errors.aggregate_message([one, other, one]) == "[a: Required value, b: Required value]"
    assert errors.aggregate_message([one, one]) == "a: Required value"


def status(error: errors.APIError) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(error.encode())
    assert error.encode().endswith(b"}\n")
    assert list(told)[:5] == ["kind", "apiVersion", "metadata", "status", "message"]
    assert list(told)[-1] == "code"
    return told


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (errors.BadRequestError("no"), 400, "BadRequest", "no", None),
        (errors.UnauthorizedError(), 401, "Unauthorized", "Unauthorized", None),
        (
            errors.ForbiddenError("foos", "g", "x", "no"),
            403,
            "Forbidden",
            'foos.g "x" is forbidden: no',
            {"name": "x", "group": "g", "kind": "foos"},
        ),
        (errors.ForbiddenError("foos", "", "", "no"), 403, "Forbidden", "foos is forbidden: no", {"kind": "foos"}),
        (
            errors.NotFoundError("pods", "", 'a"\n'),
            404,
            "NotFound",
            'pods "a\\"\\n" not found',
            {"name": 'a"\n', "kind": "pods"},
        ),
        (errors.NotFoundError("pods", "", "x"), 404, "NotFound", 'pods "x" not found', {"name": "x", "kind": "pods"}),
        (
            errors.MethodNotAllowedError("foos", "g", "create"),
            405,
            "MethodNotAllowed",
            'create is not supported on resources of kind "foos.g"',
            {"group": "g", "kind": "foos"},
        ),
        (errors.NotAcceptableError("no"), 406, "NotAcceptable", "no", None),
        (
            errors.AlreadyExistsError("foos", "g", "x"),
            409,
            "AlreadyExists",
            'foos.g "x" already exists',
            {"name": "x", "group": "g", "kind": "foos"},
        ),
        (
            errors.conflict("foos", "g", "x", "it changed"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on foos.g "x": it changed',
            {"name": "x", "group": "g", "kind": "foos"},
        ),
        (errors.ExpiredError("old"), 410, "Expired", "old", None),
        (errors.RequestTooLargeError("big"), 413, "RequestEntityTooLarge", "big", None),
        (errors.UnsupportedMediaTypeError("no"), 415, "UnsupportedMediaType", "no", None),
        (
            errors.ServiceUnavailableError("later", retry_after=3),
            503,
            "ServiceUnavailable",
            "later",
            {"retryAfterSeconds": 3},
        ),
        (
            errors.InternalError("oh"),
            500,
            "InternalError",
            "Internal error occurred: oh",
            {"causes": [{"message": "oh"}]},
        ),
        (errors.UnknownReasonError("oh"), 500, None, "oh", None),
        (errors.ServiceUnavailableError("no"), 503, "ServiceUnavailable", "no", None),
        (errors.RequestTimeoutError("slow"), 504, "Timeout", "slow", None),
    ],
)
def test_status(error: errors.APIError, code: int, reason: str | None, message: str, details: object) -> None:
    told = status(error)
    assert (told["code"], told.get("reason"), told["message"]) == (code, reason, message)
    assert told.get("details") == details
    assert str(error) == message


def test_invalid_error_lists_its_causes() -> None:
    told = status(errors.InvalidError("Foo", "g", "x", [errors.required("a"), errors.invalid("b", 1, "no")]))
    assert told["message"] == 'Foo.g "x" is invalid: [a: Required value, b: Invalid value: 1: no]'
    assert told["details"] == {
        "name": "x",
        "group": "g",
        "kind": "Foo",
        "causes": [
            {"reason": "FieldValueRequired", "message": "Required value", "field": "a"},
            {"reason": "FieldValueInvalid", "message": "Invalid value: 1: no", "field": "b"},
        ],
    }
    assert status(errors.InvalidError("", "", "", []))["details"] == {}


def test_status_with_arbitrary_text_is_encoded() -> None:
    assert json.loads(errors.BadRequestError("half \ud800").encode())["message"].startswith("half ")
