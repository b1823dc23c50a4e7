"""What a conversion must keep to: each property has a name, and finds what breaks it.

A fault is told by one property: the others are silent about an object for which there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving import fragments
from polykind.toolkit.proving.calls import batch_independence, deterministic, input_untouched, order_kept
from polykind.toolkit.proving.case import Case, Finding
from polykind.toolkit.proving.differences import differences
from polykind.toolkit.proving.passage import Stopped
from polykind.toolkit.proving.survival import edit_survives

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
