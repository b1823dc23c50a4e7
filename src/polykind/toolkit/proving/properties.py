"""What a conversion must keep to: each property has a name, and finds what breaks it.

A fault is told by one property: the others are silent about an object for which there is nothing to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.proving import partial_objects
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.edit_survival import edit_survives
from polykind.toolkit.proving.isolation_properties import batch_independence, deterministic, input_untouched, order_kept
from polykind.toolkit.proving.object_diff import differences
from polykind.toolkit.proving.round_trip import ConversionFailedError

Check = Callable[[ProofCase], Finding | None]


def never_fails(case: ProofCase) -> Finding | None:
    """A valid object is converted: nothing is raised, and the API server takes the answer."""
    try:
        _ = case.round_trip.returned
    except ConversionFailedError as stop:
        if not stop.metadata_error:
            return case.finding("never-fails", _failed_direction(case, stop), location=stop.location)
    return None


def _failed_direction(case: ProofCase, stop: ConversionFailedError) -> str:
    round_trip = case.round_trip
    try:
        _ = round_trip.converted
    except ConversionFailedError:
        return str(stop)
    return f"on the way back to {round_trip.origin.name}: {stop}"


def there_and_back(case: ProofCase) -> Finding | None:
    """From the storage version to another and back, the object is the same."""
    return _round_trip(case, "there-and-back") if case.round_trip.origin.storage else None


def back_and_there(case: ProofCase) -> Finding | None:
    """From a version that is not stored to another and back, the object is the same."""
    return None if case.round_trip.origin.storage else _round_trip(case, "back-and-there")


def _round_trip(case: ProofCase, name: str) -> Finding | None:
    round_trip = case.round_trip
    left = case.losses.unacknowledged(round_trip)
    if not left:
        return None
    message = f"what came back from {round_trip.goal.name} is not the {round_trip.origin.name} object that was sent"
    return case.finding(name, message, left)


def partial_object(case: ProofCase) -> Finding | None:
    """What server-side apply sends is converted as well: no metadata, no spec, or nothing but one field."""
    round_trip = case.round_trip
    _ = round_trip.converted
    for message, part in partial_objects.partial_objects(round_trip.obj):
        try:
            round_trip.converter.convert(part, round_trip.goal)
        except ConversionFailedError as stop:
            if stop.metadata_error and "missing metadata" not in str(stop):
                continue
            return Finding("partial-object", part, f"{message}: {stop}", location=stop.location)
    return None


def metadata_kept(case: ProofCase) -> Finding | None:
    """Of the metadata only labels and annotations change: the API server restores or refuses the rest."""
    round_trip = case.round_trip
    answer = round_trip.responses[1]
    before, after = (_immutable_metadata(obj) for obj in (round_trip.obj, answer))
    found = [d._replace(path=("metadata", *d.path)) for d in differences(before, after)]
    if found:
        return case.finding("metadata-kept", "only labels and annotations may change in a conversion", found)
    try:
        _ = round_trip.converted
    except ConversionFailedError as stop:
        if stop.metadata_error:
            return case.finding("metadata-kept", str(stop))
    return None


def _immutable_metadata(obj: JsonObject) -> Any:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return metadata
    return {key: value for key, value in metadata.items() if key not in ("labels", "annotations")}


def output_validates(case: ProofCase) -> Finding | None:
    """What is converted is a valid object of the other version."""
    validation_errors = case.round_trip.goal.validation_errors(case.round_trip.converted)
    if not validation_errors:
        return None
    more = f" (and {len(validation_errors) - 1} more)" if len(validation_errors) > 1 else ""
    return case.finding(
        "output-validates", f"at {case.round_trip.goal.name} it is refused: {validation_errors[0]}{more}"
    )


def output_settled(case: ProofCase) -> Finding | None:
    """The answer is as the API server keeps it: nothing in it is pruned, and no default is missing."""
    round_trip = case.round_trip
    goal, there = round_trip.goal, round_trip.converted
    body = {key: value for key, value in round_trip.responses[1].items() if key != "metadata"}
    pruned = list(differences(body, {key: value for key, value in there.items() if key != "metadata"}))
    if pruned:
        message = f"the schema of {goal.name} does not know all that was written: the API server removes it"
        return case.finding("output-settled", message, pruned)
    missing = list(differences(there, goal.defaulted(there)))
    if missing:
        message = f"defaults of {goal.name} are missing: the API server does not fill them in after a conversion"
        return case.finding("output-settled", message, missing)
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


def check_property(name: str, case: ProofCase) -> Finding | None:
    """What breaks a property in a case; None if nothing does, or if there is nothing to compare."""
    try:
        return PROPERTIES[name](case)
    except ConversionFailedError:
        return None
