"""Isolation properties: the result for an object does not depend on other conversions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import deep_equal
from polykind.toolkit.declare.library import Library
from polykind.toolkit.hosting import review_response
from polykind.toolkit.proving import partial_objects
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.object_diff import Path, differences, format_path
from polykind.toolkit.proving.round_trip import ConversionFailedError, RoundTrip, TestedConverter


def batch_independence(case: ProofCase) -> Finding | None:
    """An object is converted in the same way, whatever is converted before it or in the same review."""
    round_trip = case.round_trip
    first, second, third = round_trip.responses
    if not deep_equal(second, third):
        return None
    if not deep_equal(first, second):
        message = "the first result, after another object was converted, differs from the second result"
        return case.finding("batch-independence", message, list(differences(second, first)))
    batch = _convertible_batch(round_trip)
    alone = [_convert_repeatedly(round_trip.converter, obj, round_trip) for obj in batch]
    for order in (batch, batch[::-1]):
        results = _review(round_trip, order)
        wanted = alone if order is batch else alone[::-1]
        for obj, got, want in zip(order, results, wanted, strict=True):
            if want is not None and _identity(got) == _identity(obj) and not deep_equal(got, want):
                message = f"the result in a review with {len(batch) - 1} other objects differs from the result alone"
                return Finding("batch-independence", obj, message, list(differences(want, got)))
    return None


def _convertible_batch(round_trip: RoundTrip) -> list[JsonObject]:
    """Return those of the object and its related objects that can be converted."""
    return [obj for obj in partial_objects.related_objects(round_trip.obj) if _is_convertible(round_trip, obj)]


def _is_convertible(round_trip: RoundTrip, obj: JsonObject) -> bool:
    try:
        round_trip.converter.convert_raw(obj, round_trip.goal)
    except ConversionFailedError:
        return False
    return True


def _convert_repeatedly(converter: TestedConverter, obj: JsonObject, round_trip: RoundTrip) -> JsonObject | None:
    """Call the converter three times. Return the second result if the third is equal, else None."""
    converter.convert_raw(obj, round_trip.goal)
    out = converter.convert_raw(obj, round_trip.goal)
    return out if deep_equal(out, converter.convert_raw(obj, round_trip.goal)) else None


def order_kept(case: ProofCase) -> Finding | None:
    """A review of several objects returns the converted objects in the order of the originals."""
    round_trip = case.round_trip
    batch = _convertible_batch(round_trip)
    results = _review(round_trip, batch)
    sent, returned = [_identity(obj) for obj in batch], [_identity(obj) for obj in results]
    if not any(want != have and have in sent for want, have in zip(sent, returned, strict=True)):
        return None
    received = " ".join(name for _, name in returned)
    return case.finding("order-kept", f"sent {' '.join(name for _, name in sent)}, received {received}")


def _review(round_trip: RoundTrip, batch: list[JsonObject]) -> list[JsonObject]:
    """Convert objects with a ConversionReview, handled by the same code as in the webhook host."""
    request = {"uid": "1", "desiredAPIVersion": round_trip.goal.api_version, "objects": batch}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    converter = round_trip.converter
    hosted = Library("tried", lambda obj, _: converter.call(obj, round_trip.goal))
    answered = review_response.convert_review(orjson.dumps(body), [hosted])
    response = msgspec.json.decode(answered)["response"]
    if response["result"]["status"] != "Success":
        raise ConversionFailedError(response["result"]["message"])
    return response["convertedObjects"]  # type: ignore[no-any-return]


def _identity(obj: JsonObject) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def input_untouched(case: ProofCase) -> Finding | None:
    """Calls share no state: changing one result changes neither another result nor the result of the next call."""
    round_trip = case.round_trip
    if not deep_equal(*round_trip.responses[1:]):
        return None
    converter, goal = round_trip.converter, round_trip.goal
    handed = copy_json(round_trip.obj)
    first = converter.call(handed, goal)
    second = converter.call(copy_json(round_trip.obj), goal)
    shared = next(_shared_values(first, second), None)
    if shared is not None:
        message = f"two results share one {type(shared[1]).__name__} at {format_path(shared[0])}: return a copy of it"
        return case.finding("input-untouched", message)
    expected = copy_json(second)
    _mutate_all(first)
    third = converter.call(copy_json(round_trip.obj), goal)
    for which, result in (("an earlier result", second), ("the next result", third)):
        if not deep_equal(result, expected):
            message = f"changing a result changes {which}: they share an object"
            return case.finding("input-untouched", message, list(differences(expected, result)))
    return None


def _shared_values(first: Any, second: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if first is second and isinstance(first, (dict, list)):
        yield path, first
    elif isinstance(first, dict) and isinstance(second, dict):
        for key in first.keys() & second.keys():
            yield from _shared_values(first[key], second[key], (*path, key))
    elif isinstance(first, list) and isinstance(second, list):
        for at, (left, right) in enumerate(zip(first, second, strict=False)):
            yield from _shared_values(left, right, (*path, at))


def _mutate_all(value: Any) -> None:
    """Change every object and list inside a value in place."""
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for item in inner:
        _mutate_all(item)
    if isinstance(value, dict):
        value["spoiled"] = "spoiled"
    elif isinstance(value, list):
        value.append("spoiled")


def deterministic(case: ProofCase) -> Finding | None:
    """The same object always gives the same result."""
    _, two, three = case.round_trip.responses
    if deep_equal(two, three):
        return None
    return case.finding("deterministic", "the same object was converted twice, to two results", differences(two, three))
