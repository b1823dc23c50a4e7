"""The properties that conversions must have. Each function checks a case and returns a finding if it is violated.

A fault is reported by one property only. The other properties ignore an object that cannot be converted.
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
    """A valid object is converted without an exception, and the API server accepts the result."""
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
    """An object of the storage version is the same after a conversion to another version and back."""
    return _round_trip(case, "there-and-back") if case.round_trip.origin.storage else None


def back_and_there(case: ProofCase) -> Finding | None:
    """An object of another version is the same after a conversion to any version and back."""
    return None if case.round_trip.origin.storage else _round_trip(case, "back-and-there")


def _round_trip(case: ProofCase, name: str) -> Finding | None:
    round_trip = case.round_trip
    losses = case.losses.unacknowledged(round_trip)
    if not losses:
        return None
    message = f"what came back from {round_trip.goal.name} is not the {round_trip.origin.name} object that was sent"
    return case.finding(name, message, losses)


def partial_object(case: ProofCase) -> Finding | None:
    """Partial objects of server-side apply are converted: without metadata, without a spec, or with a single field."""
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
    """Conversions change only labels and annotations in metadata. The API server restores or rejects other changes."""
    round_trip = case.round_trip
    result = round_trip.responses[1]
    before, after = (_immutable_metadata(obj) for obj in (round_trip.obj, result))
    changes = [d._replace(path=("metadata", *d.path)) for d in differences(before, after)]
    if changes:
        return case.finding("metadata-kept", "only labels and annotations may change in a conversion", changes)
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
    """The converted object is valid at the other version."""
    validation_errors = case.round_trip.goal.validation_errors(case.round_trip.converted)
    if not validation_errors:
        return None
    more = f" (and {len(validation_errors) - 1} more)" if len(validation_errors) > 1 else ""
    return case.finding(
        "output-validates", f"{case.round_trip.goal.name} rejects the result: {validation_errors[0]}{more}"
    )


def output_settled(case: ProofCase) -> Finding | None:
    """The API server changes nothing in the result: it prunes no field, and no default is missing."""
    round_trip = case.round_trip
    goal, there = round_trip.goal, round_trip.converted
    body = {key: value for key, value in round_trip.responses[1].items() if key != "metadata"}
    pruned = list(differences(body, {key: value for key, value in there.items() if key != "metadata"}))
    if pruned:
        message = f"the result has fields that the schema of {goal.name} does not have, and the API server prunes them"
        return case.finding("output-settled", message, pruned)
    missing = list(differences(there, goal.defaulted(there)))
    if missing:
        message = f"defaults of {goal.name} are missing, and the API server does not apply them after a conversion"
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
    """True if a property applies to a pair. `origin_is_stored` is true if the pair's source is the storage version."""
    return name != ("back-and-there" if origin_is_stored else "there-and-back")


def check_property(name: str, case: ProofCase) -> Finding | None:
    """Check a property. Return None if the property holds or the object cannot be converted."""
    try:
        return PROPERTIES[name](case)
    except ConversionFailedError:
        return None
