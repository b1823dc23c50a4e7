"""The property edit-survives: if a client edits an object at one version, the edit is kept and nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from polykind.contract import JsonObject, copy_json
from polykind.declare.stash import ANNOTATION
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.edits import Edit
from polykind.toolkit.proving.list_items import exchanged_values
from polykind.toolkit.proving.losses import user_differences
from polykind.toolkit.proving.object_diff import MISSING, Difference, Path, differences
from polykind.toolkit.proving.round_trip import ConversionFailedError, RoundTrip


def edit_survives(case: ProofCase) -> Finding | None:
    """Check that a client that edits the converted object later reads its edit, and that no other field changes.

    The edited object is converted to the source version, as for storage, and back again.
    """
    for edit in case.edits:
        with suppress(ConversionFailedError):
            found = _check_edit(case, edit)
            if found is not None:
                return found
    return None


def _check_edit(case: ProofCase, edit: Edit) -> Finding | None:
    round_trip = case.round_trip
    goal, origin = round_trip.goal.name, round_trip.origin.name
    unavoidable = {d.path for d in _lost_without_stash(round_trip, edit)}
    try:
        stored = round_trip.convert_back(edit.obj)
        again = round_trip.converter.convert(stored, round_trip.goal)
    except ConversionFailedError as stop:
        message = f"the object written at {goal} can no longer be converted: {stop}"
        return case.finding("edit-survives", message, location=stop.location, edit=edit)
    lost = [
        d
        for d in user_differences(edit.obj, again)
        if d.path not in unavoidable
        and not _is_emptied(edit, d)
        and not is_converter_annotation(round_trip, d.path)
        and not case.losses.is_acknowledged(round_trip.reversed(edit.obj), d)
    ]
    if lost:
        message = f"the object written at {goal} is not the object read at {goal} afterwards"
        return case.finding("edit-survives", message, lost, edit=edit)
    unrelated = [
        d for d in unrelated_changes(round_trip, edit, stored) if not case.losses.is_acknowledged(round_trip, d)
    ]
    if unrelated:
        message = f"the edit at {goal} changed unrelated fields of {origin}"
        return case.finding("edit-survives", message, unrelated, edit=edit)
    return None


def _is_emptied(edit: Edit, difference: Difference) -> bool:
    """True if a client removed an object, and reads it as an empty object.

    Fields of the other version that the converter has stashed restore the object around them.
    """
    return edit.after is MISSING and difference.path == edit.path and difference.after == {}


def _lost_without_stash(round_trip: RoundTrip, edit: Edit) -> list[Difference]:
    """Return the fields that the edited object also loses in a round trip without a stash.

    The conversion functions cannot keep these fields, so the loss is not reported for the edit.

    Raise ConversionFailedError if the object cannot be converted.
    """
    fresh = without_converter_annotations(round_trip, edit.obj)
    return list(user_differences(fresh, round_trip.converter.convert(round_trip.convert_back(fresh), round_trip.goal)))


def unrelated_changes(round_trip: RoundTrip, edit: Edit, stored: JsonObject) -> Iterator[Difference]:
    """Yield the fields of the source version that the edit should not have changed.

    The edit is expected to change the fields that it changes in an object without a stash. `stored` is the edited
    object at the source version.
    """
    if _overrides_stash(edit, round_trip):
        return
    before, after = (
        round_trip.convert_back(without_converter_annotations(round_trip, obj))
        for obj in (round_trip.admitted, edit.obj)
    )
    yield from exchanged_values(edit, round_trip.admitted, (before, after), (round_trip.returned, stored))
    expected = [_path_to_first_list(d.path) for d in differences(before, after)]
    for found in user_differences(round_trip.returned, stored):
        if is_converter_annotation(round_trip, found.path):
            continue
        coarse = _path_to_first_list(found.path)
        if not any(coarse[: len(path)] == path[: len(coarse)] for path in expected):
            yield found


def is_converter_annotation(round_trip: RoundTrip, path: Path) -> bool:
    """True if the path is an annotation that the original object does not have, so the converter has added it."""
    own = (round_trip.obj.get("metadata") or {}).get("annotations") or {}
    return path[:2] == ("metadata", "annotations") and (len(path) == 2 or path[2] not in own)


def without_converter_annotations(round_trip: RoundTrip, obj: JsonObject) -> JsonObject:
    """Return a copy of `obj` with only those annotations that the original object of the round trip has."""
    own = (round_trip.obj.get("metadata") or {}).get("annotations") or {}
    out: JsonObject = copy_json(obj)
    annotations = {k: v for k, v in (out["metadata"].get("annotations") or {}).items() if k in own}
    out["metadata"].pop("annotations", None)
    if annotations:
        out["metadata"]["annotations"] = annotations
    return out


def _overrides_stash(edit: Edit, round_trip: RoundTrip) -> bool:
    """True if the edited field is in the `beside` list of a stashed value. Such an edit replaces the stashed value."""
    text = (edit.obj["metadata"].get("annotations") or {}).get(f"{round_trip.goal.crd.group}/{ANNOTATION}", "{}")
    try:
        entries = msgspec.json.decode(text)
        watched_paths = [path.split(".") for entry in entries.values() for path in entry["beside"]]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return False
    edited_path = [str(step) for step in edit.path]
    return any(edited_path[: len(path)] == path[: len(edited_path)] for path in watched_paths)


def _path_to_first_list(path: Path) -> Path:
    """Return the part of the path before its first list index. A conversion may move items within a list."""
    return path[: next((at for at, step in enumerate(path) if isinstance(step, int)), len(path))]
