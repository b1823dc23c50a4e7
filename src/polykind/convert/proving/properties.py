"""What a conversion must keep to: each property has a name, and finds what breaks it.

A fault is told by one property: the others are silent about an object for which there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import orjson

from polykind.contract import JsonObject
from polykind.convert import review
from polykind.convert.proving import fragments
from polykind.convert.proving.differences import Difference, Path, differences, spelled
from polykind.convert.proving.edits import Edit
from polykind.convert.proving.losses import Losses, kept
from polykind.convert.proving.passage import Converter, Passage, Stopped
from polykind.convert.stash import ANNOTATION
from polykind.convert.values import copied
from polykind.schema.equality import same


@dataclass
class Finding:
    """What broke a property: the object handed in, and what came of it."""

    property: str
    obj: JsonObject
    said: str
    differences: list[Difference] = field(default_factory=list)
    where: str = ""
    """The line of the author's code that raised."""
    edit: Edit | None = None


@dataclass
class Case:
    """One passage, an edit of what it gave at the other version, and what may be lost on the way."""

    passage: Passage
    edit: Edit | None
    losses: Losses

    def found(self, name: str, said: str, differences: Sequence[Difference] = (), **more: Any) -> Finding:
        return Finding(name, self.passage.obj, said, list(differences), **more)


Check = Callable[[Case], Finding | None]


def never_fails(case: Case) -> Finding | None:
    """A valid object is converted: nothing is raised, and the API server takes the answer."""
    try:
        _ = case.passage.back
    except Stopped as stop:
        if not stop.metadata:
            return case.found("never-fails", _leg(case, stop), where=stop.where)
    return None


def _leg(case: Case, stop: Stopped) -> str:
    passage = case.passage
    try:
        _ = passage.there
    except Stopped:
        return str(stop)
    return f"on the way back to {passage.origin.name}: {stop}"


def there_and_back(case: Case) -> Finding | None:
    """From the storage version to another and back, the object is the same."""
    return _round_trip(case, "there-and-back") if case.passage.origin.storage else None


def back_and_there(case: Case) -> Finding | None:
    """From a version that is not stored to another and back, the object is the same."""
    return None if case.passage.origin.storage else _round_trip(case, "back-and-there")


def _round_trip(case: Case, name: str) -> Finding | None:
    passage = case.passage
    left = case.losses.unforgiven(passage)
    if not left:
        return None
    said = f"what came back from {passage.goal.name} is not the {passage.origin.name} object that was sent"
    return case.found(name, said, left)


def edit_survives(case: Case) -> Finding | None:
    """What a client edits at the other version is there when it reads again, and nothing else has moved."""
    edit, passage = case.edit, case.passage
    if edit is None:
        return None
    stored = passage.returned(edit.obj)
    again = passage.converter.convert(stored, passage.goal)
    lost = {d.path for d in _lost_anyway(passage, edit)}
    goal, origin = passage.goal.name, passage.origin.name
    left = [
        d
        for d in kept(edit.obj, again)
        if d.path not in lost and not _note(passage, d.path) and not case.losses.forgives(passage, d, goal)
    ]
    if left:
        said = f"what was written at {goal} is not what is read at {goal} afterwards"
        return case.found("edit-survives", said, left, edit=edit)
    moved = [d for d in _moved(passage, edit, stored) if not case.losses.forgives(passage, d, origin)]
    if moved:
        said = f"the edit at {goal} has changed fields of {origin} that it is not about"
        return case.found("edit-survives", said, moved, edit=edit)
    return None


def _lost_anyway(passage: Passage, edit: Edit) -> list[Difference]:
    """What the edited object would lose if it were new, without anything kept in it: that is no fault of the edit."""
    fresh = _bare(passage, edit.obj)
    return list(kept(fresh, passage.converter.convert(passage.returned(fresh), passage.goal)))


def _moved(passage: Passage, edit: Edit, stored: JsonObject) -> Iterator[Difference]:
    """What an edit moved in the object's own version, other than what it would move in an object without a stash."""
    if _beside(edit, passage):
        return
    before, after = (passage.returned(_bare(passage, obj)) for obj in (passage.written, edit.obj))
    meant = [_coarse(d.path) for d in differences(before, after)]
    for found in kept(passage.back, stored):
        if _note(passage, found.path):
            continue
        coarse = _coarse(found.path)
        if not any(coarse[: len(path)] == path[: len(coarse)] for path in meant):
            yield found


def _note(passage: Passage, path: Path) -> bool:
    """Whether a path is that of an annotation of the converter's own."""
    own = (passage.obj.get("metadata") or {}).get("annotations") or {}
    return path[:2] == ("metadata", "annotations") and (len(path) == 2 or path[2] not in own)


def _bare(passage: Passage, obj: JsonObject) -> JsonObject:
    """An object without the annotations that the converter put there."""
    own = (passage.obj.get("metadata") or {}).get("annotations") or {}
    out: JsonObject = copied(obj)
    annotations = {k: v for k, v in (out["metadata"].get("annotations") or {}).items() if k in own}
    out["metadata"].pop("annotations", None)
    if annotations:
        out["metadata"]["annotations"] = annotations
    return out


def _beside(edit: Edit, passage: Passage) -> bool:
    """Whether something is kept beside the edited field: then the edit is meant to beat it."""
    text = (edit.obj["metadata"].get("annotations") or {}).get(f"{passage.goal.definition.group}/{ANNOTATION}", "{}")
    try:
        entries = msgspec.json.decode(text)
        watched = [path.split(".") for entry in entries.values() for path in entry["beside"]]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return False
    touched = [str(step) for step in edit.path]
    return any(touched[: len(path)] == path[: len(touched)] for path in watched)


def _coarse(path: Path) -> Path:
    """A path up to its first list: what stands where in a list may move."""
    return path[: next((at for at, step in enumerate(path) if isinstance(step, int)), len(path))]


def partial_object(case: Case) -> Finding | None:
    """What server-side apply sends is converted as well: no metadata, no spec, or nothing but one field."""
    passage = case.passage
    _ = passage.there
    for said, part in fragments.of(passage.obj):
        try:
            passage.converter.convert(part, passage.goal)
        except Stopped as stop:
            if stop.metadata and "missing metadata" not in str(stop):
                continue
            return Finding("partial-object", part, f"{said}: {stop}", where=stop.where)
    return None


def batch_independence(case: Case) -> Finding | None:
    """An object is converted the same way whatever is converted before it or with it."""
    passage = case.passage
    one, two, three = passage.answers
    if not same(two, three):
        return None
    if not same(one, two):
        said = "converted after another object, it becomes something else than converted again"
        return case.found("batch-independence", said, list(differences(two, one)))
    batch = _company(passage)
    alone = [_settled(passage.converter, obj, passage) for obj in batch]
    for order in (batch, batch[::-1]):
        answers = _review(passage, order)
        wanted = alone if order is batch else alone[::-1]
        for obj, got, want in zip(order, answers, wanted, strict=True):
            if want is not None and _identity(got) == _identity(obj) and not same(got, want):
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
    return out if same(out, converter.raw(obj, passage.goal)) else None


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
    answered = review.answered(orjson.dumps(body), [_Hosted(passage.converter)])  # type: ignore[list-item]
    response = msgspec.json.decode(answered)["response"]
    if response["result"]["status"] != "Success":
        raise Stopped(response["result"]["message"])
    return response["convertedObjects"]  # type: ignore[no-any-return]


class _Hosted:
    """A converter as a host sees its library."""

    def __init__(self, converter: Converter) -> None:
        self._converter = converter

    def handles(self, group: str, kind: str) -> bool:
        return True

    def function(self, group: str, kind: str) -> Callable[[JsonObject, str], Any]:
        versions = self._converter.definition.versions
        return lambda obj, to: self._converter.answer(obj, versions[to.rpartition("/")[2]])


def _identity(obj: JsonObject) -> tuple[str, str]:
    metadata = obj.get("metadata") or {}
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def input_untouched(case: Case) -> Finding | None:
    """Calls share nothing: a change to one answer changes neither another answer nor what comes next."""
    passage = case.passage
    if not same(*passage.answers[1:]):
        return None
    converter, goal = passage.converter, passage.goal
    handed = copied(passage.obj)
    first = converter.answer(handed, goal)
    second = converter.answer(copied(passage.obj), goal)
    shared = next(_shared(first, second), None)
    if shared is not None:
        said = f"two answers share one {type(shared[1]).__name__} at {spelled(shared[0])}: return a copy of it"
        return case.found("input-untouched", said)
    kept = copied(second)
    _spoil(first)
    third = converter.answer(copied(passage.obj), goal)
    for said, got in (("an answer given before", second), ("the next answer", third)):
        if not same(got, kept):
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


def metadata_kept(case: Case) -> Finding | None:
    """Of the metadata only labels and annotations change: the API server restores or refuses the rest."""
    passage = case.passage
    answer = passage.answers[1]
    before, after = (_without_notes(obj) for obj in (passage.obj, answer))
    found = [d._replace(path=("metadata", *d.path)) for d in differences(before, after)]
    if found:
        return case.found("metadata-kept", "only labels and annotations may change in a conversion", found)
    try:
        _ = passage.there
    except Stopped as stop:
        if stop.metadata:
            return case.found("metadata-kept", str(stop))
    return None


def _without_notes(obj: JsonObject) -> Any:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return metadata
    return {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}


def output_validates(case: Case) -> Finding | None:
    """What is converted is a valid object of the other version."""
    complaints = case.passage.goal.complaints(case.passage.there)
    if not complaints:
        return None
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    return case.found("output-validates", f"at {case.passage.goal.name} it is refused: {complaints[0]}{more}")


def output_settled(case: Case) -> Finding | None:
    """The answer is as the API server keeps it: nothing in it is pruned, and no default is missing."""
    passage = case.passage
    goal, there = passage.goal, passage.there
    body = {key: value for key, value in passage.answers[1].items() if key != "metadata"}
    pruned = list(differences(body, {key: value for key, value in there.items() if key != "metadata"}))
    if pruned:
        said = f"the schema of {goal.name} does not know all that was written: the API server removes it"
        return case.found("output-settled", said, pruned)
    missing = list(differences(there, goal.defaulted(there)))
    if missing:
        said = f"defaults of {goal.name} are missing: the API server does not fill them in after a conversion"
        return case.found("output-settled", said, missing)
    return None


def deterministic(case: Case) -> Finding | None:
    """The same object gives the same answer every time."""
    _, two, three = case.passage.answers
    if same(two, three):
        return None
    return case.found("deterministic", "the same object was converted twice, to two results", differences(two, three))  # type: ignore[arg-type]


PROPERTIES: dict[str, Check] = {
    "never-fails": never_fails,
    "there-and-back": there_and_back,
    "back-and-there": back_and_there,
    "edit-survives": edit_survives,
    "partial-object": partial_object,
    "batch-independence": batch_independence,
    "order-kept": order_kept,
    "input-untouched": input_untouched,
    "metadata-kept": metadata_kept,
    "output-validates": output_validates,
    "output-settled": output_settled,
    "deterministic": deterministic,
}


def applies(name: str, origin_is_stored: bool) -> bool:
    """Whether a property says anything about conversions from a version."""
    return name != ("back-and-there" if origin_is_stored else "there-and-back")


def checked(name: str, case: Case) -> Finding | None:
    """What breaks a property in a case; None if nothing does, or if there is nothing to compare."""
    try:
        return PROPERTIES[name](case)
    except Stopped:
        return None
