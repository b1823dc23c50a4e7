"""Conversion of ConversionReviews (v1 and v1beta1) from request bytes to response bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import orjson

from polykind.contract import JsonObject
from polykind.declare.conversions import ConversionError, describe_object
from polykind.declare.library import Library

GROUP = "apiextensions.k8s.io"
VERSIONS = ("v1", "v1beta1")


class InvalidReviewError(ValueError):
    """The body is not a ConversionReview. The message says why."""


class ReviewResponse(NamedTuple):
    """The response to a review as JSON, the message of a failure (else None), and the number of converted objects."""

    body: bytes
    failure: str | None
    objects: int


def convert_review(body: bytes, libraries: Sequence[Library]) -> bytes:
    """Convert the objects of a ConversionReview and return the response, both as JSON.

    Raise InvalidReviewError if the body is not a ConversionReview.
    """
    return respond(body, libraries).body


def respond(body: bytes, libraries: Sequence[Library]) -> ReviewResponse:
    """Convert the objects of a review in order, up to the first failure.

    Raise InvalidReviewError if the body is not a ConversionReview.
    """
    try:
        version, request = _validate_request(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidReviewError(f"the body is not JSON: {error}") from None
    converted: list[orjson.Fragment] = []
    result, failure = {"status": "Success"}, None
    try:
        to = request["desiredAPIVersion"]
        converted = [orjson.Fragment(_convert_object(obj, to, libraries)) for obj in request["objects"]]
    except ConversionError as error:
        failure = str(error)
        result = {"status": "Failed", "message": failure}
    response = {"uid": request["uid"], "convertedObjects": converted, "result": result}
    review = {"apiVersion": f"{GROUP}/{version}", "kind": "ConversionReview", "response": response}
    return ReviewResponse(orjson.dumps(review), failure, len(converted))


def _validate_request(review: Any) -> tuple[str, JsonObject]:
    if not isinstance(review, dict) or review.get("kind") != "ConversionReview":
        raise InvalidReviewError("the body is not a ConversionReview")
    group, _, version = str(review.get("apiVersion", "")).rpartition("/")
    if group != GROUP or version not in VERSIONS:
        known = " and ".join(f"{GROUP}/{v}" for v in VERSIONS)
        raise InvalidReviewError(f"reviews of {review.get('apiVersion')!r} are not supported, only those of {known}")
    request = review.get("request")
    if not isinstance(request, dict):
        raise InvalidReviewError("the review has no request")
    for field, kind, type_name in (
        ("uid", str, "string"),
        ("desiredAPIVersion", str, "string"),
        ("objects", list, "list"),
    ):
        if not isinstance(request.get(field), kind):
            raise InvalidReviewError(f"request.{field} is missing or is not a {type_name}")
    return version, request


def _convert_object(obj: Any, to: str, libraries: Sequence[Library]) -> bytes:
    if not isinstance(obj, dict):
        raise ConversionError(f"request.objects has a {type(obj).__name__}, not an object")
    subject, origin = describe_object(obj), str(obj.get("apiVersion", ""))
    group, kind = origin.rpartition("/")[0], str(obj.get("kind", ""))
    library = next((candidate for candidate in libraries if candidate.handles(group, kind)), None)
    if library is None:
        raise ConversionError(f"{subject} cannot be converted: no converter for {kind}.{group}")
    try:
        out = obj if origin == to else library.function(group, kind)(obj, to)
        if not isinstance(out, dict):
            raise ConversionError(
                f"{subject} cannot be converted to {to}: the converter returned {type(out).__name__}, not an object"
            )
        if out.get("apiVersion") == origin:
            out["apiVersion"] = to
        return orjson.dumps(out)
    except ConversionError:
        raise
    except SystemExit as error:
        # A converter that calls sys.exit must not end the host.
        raise ConversionError(f"{subject} cannot be converted from {origin} to {to}: it called sys.exit") from error
    except Exception as error:
        message = str(error) or type(error).__name__
        raise ConversionError(f"{subject} cannot be converted from {origin} to {to}: {message}") from error
