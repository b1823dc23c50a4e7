"""Properties of calls: what is converted before, after or together with an object does not matter to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import orjson

from polykind.contract import JsonObject, copy_json
from polykind.schema.equality import deep_equal
from polykind.toolkit.declare.library import Library
from polykind.toolkit.hosting import review
from polykind.toolkit.proving import fragments
from polykind.toolkit.proving.case import Case, Finding
from polykind.toolkit.proving.differences import Path, differences, spelled
from polykind.toolkit.proving.passage import Converter, Passage, Stopped


def batch_independence(case: Case) -> Finding | None:
    """An object is converted the same way whatever is converted before it or with it."""
    passage = case.passage
    one, two, three = passage.answers
    if not deep_equal(two, three):
        return None
    if not deep_equal(one, two):
        said = "converted after another object, it becomes something else than converted again"
        return case.found("batch-independence", said, list(differences(two, one)))
    batch = _company(passage)
    alone = [_settled(passage.converter, obj, passage) for obj in batch]
    for order in (batch, batch[::-1]):
        answers = _review(passage, order)
        wanted = alone if order is batch else alone[::-1]
        for obj, got, want in zip(order, answers, wanted, strict=True):
            if want is not None and _identity(got) == _identity(obj) and not deep_equal(got, want):
                said = f"converted with {len(batch) - 1} others, it becomes something else than alone"
                return Finding("batch-independence", obj, said, list(differences(want, got)))
    return None


def _company(passage: Passage) -> list[JsonObject]:
    """The object and others beside it, of those that can be converted at all."""
    return [obj for obj in fragments.batch(passage.obj) if _able(passage, obj)]


def _able(passage: Passage, obj: JsonObject) -> bool:
    try:
        passage.converter.raw(obj, passage.goal)
    except Stopped:
        return False
    return True


def _settled(converter: Converter, obj: JsonObject, passage: Passage) -> JsonObject | None:
    converter.raw(obj, passage.goal)
    out = converter.raw(obj, passage.goal)
    return out if deep_equal(out, converter.raw(obj, passage.goal)) else None


def order_kept(case: Case) -> Finding | None:
    """Of a review with several objects, every answer stands where its object stood."""
    passage = case.passage
    batch = _company(passage)
    answers = _review(passage, batch)
    sent, got = [_identity(obj) for obj in batch], [_identity(obj) for obj in answers]
    if not any(want != have and have in sent for want, have in zip(sent, got, strict=True)):
        return None
    shown = " ".join(name for _, name in got)
    return case.found("order-kept", f"sent {' '.join(name for _, name in sent)}, answered {shown}")


def _review(passage: Passage, batch: list[JsonObject]) -> list[JsonObject]:
    """A whole ConversionReview, answered as every host answers it."""
    request = {"uid": "1", "desiredAPIVersion": passage.goal.api_version, "objects": batch}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    converter = passage.converter
    hosted = Library("tried", lambda obj, _: converter.answer(obj, passage.goal))
    answered = review.answered(orjson.dumps(body), [hosted])
    response = msgspec.json.decode(answered)["response"]
    if response["result"]["status"] != "Success":
        raise Stopped(response["result"]["message"])
    return response["convertedObjects"]  # type: ignore[no-any-return]


def _identity(obj: JsonObject) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def input_untouched(case: Case) -> Finding | None:
    """Calls share nothing: a change to one answer changes neither another answer nor what comes next."""
    passage = case.passage
    if not deep_equal(*passage.answers[1:]):
        return None
    converter, goal = passage.converter, passage.goal
    handed = copy_json(passage.obj)
    first = converter.answer(handed, goal)
    second = converter.answer(copy_json(passage.obj), goal)
    shared = next(_shared(first, second), None)
    if shared is not None:
        said = f"two answers share one {type(shared[1]).__name__} at {spelled(shared[0])}: return a copy of it"
        return case.found("input-untouched", said)
    kept = copy_json(second)
    _spoil(first)
    third = converter.answer(copy_json(passage.obj), goal)
    for said, got in (("an answer given before", second), ("the next answer", third)):
        if not deep_equal(got, kept):
            text = f"changing an answer changes {said}: they share something"
            return case.found("input-untouched", text, list(differences(kept, got)))
    return None


def _shared(one: Any, other: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if one is other and isinstance(one, (dict, list)):
        yield path, one
    elif isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() & other.keys():
            yield from _shared(one[key], other[key], (*path, key))
    elif isinstance(one, list) and isinstance(other, list):
        for at, (left, right) in enumerate(zip(one, other, strict=False)):
            yield from _shared(left, right, (*path, at))


def _spoil(value: Any) -> None:
    """Change everything in a value that can be changed."""
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for item in inner:
        _spoil(item)
    if isinstance(value, dict):
        value["spoiled"] = "spoiled"
    elif isinstance(value, list):
        value.append("spoiled")


def deterministic(case: Case) -> Finding | None:
    """The same object gives the same answer every time."""
    _, two, three = case.passage.answers
    if deep_equal(two, three):
        return None
    return case.found("deterministic", "the same object was converted twice, to two results", differences(two, three))
