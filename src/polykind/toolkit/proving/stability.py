"""Properties of several conversions in a row: paths-agree, fixed-point and edit-after-round-trip."""

from __future__ import annotations

from contextlib import suppress

from polykind.contract import JsonObject
from polykind.schema.equality import deep_equal
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.edit_survival import is_converter_annotation, without_converter_annotations
from polykind.toolkit.proving.edits import Edit
from polykind.toolkit.proving.losses import user_differences
from polykind.toolkit.proving.object_diff import Difference, differences
from polykind.toolkit.proving.round_trip import ConversionFailedError, RoundTrip, admit


def paths_agree(case: ProofCase) -> Finding | None:
    """Check that a conversion through a third version gives the same object as the direct conversion.

    An object that is stored at a third version is read in this way. Objects that lose fields between two of the three
    versions are ignored, because other properties report such losses.
    """
    round_trip = case.round_trip
    others = [v for v in round_trip.converter.crd.versions.values() if v not in (round_trip.origin, round_trip.goal)]
    if not others or not _is_lossless(round_trip):
        return None
    direct = round_trip.goal.defaulted(round_trip.converted)
    for middle in others:
        with suppress(ConversionFailedError):
            first = RoundTrip(round_trip.converter, round_trip.origin, middle, round_trip.obj)
            second = RoundTrip(round_trip.converter, middle, round_trip.goal, first.admitted)
            if not _is_lossless(first) or not _is_lossless(second):
                continue
            found = [
                difference
                for difference in differences(direct, round_trip.goal.defaulted(second.converted))
                if not is_converter_annotation(round_trip, difference.path)
            ]
            if found:
                names = f"{round_trip.origin.name} to {round_trip.goal.name}"
                message = f"the conversion from {names} through {middle.name} gives another object than the direct one"
                return case.finding("paths-agree", message, found)
    return None


def _is_lossless(round_trip: RoundTrip) -> bool:
    return deep_equal(*round_trip.responses[1:]) and not any(user_differences(round_trip.obj, round_trip.returned))


def fixed_point(case: ProofCase) -> Finding | None:
    """Check that repeated round trips change an object no further, and that its annotations do not grow."""
    round_trip = case.round_trip
    if not deep_equal(*round_trip.responses[1:]) or case.losses.unacknowledged(round_trip):
        return None
    second = round_trip.of(admit(round_trip.origin, round_trip.returned))
    third = round_trip.of(admit(round_trip.origin, second.returned))
    for version, before, after in (
        (round_trip.origin.name, second.returned, third.returned),
        (round_trip.goal.name, second.converted, third.converted),
    ):
        found = list(differences(before, after))
        if found and _is_deterministic(second):
            message = f"the {version} object still changes in the third round trip, so it may change or grow forever"
            return case.finding("fixed-point", message, found)
    return None


def _is_deterministic(round_trip: RoundTrip) -> bool:
    """True if the conversion back always gives the same result. Otherwise the property deterministic reports it."""
    back = round_trip.reversed(round_trip.admitted)
    return deep_equal(*back.responses[1:])


def edit_after_round_trip(case: ProofCase) -> Finding | None:
    """Check that an edit after a completed round trip survives the next round trip, and that nothing else changes.

    A converter that leaves its stash in the returned object may later restore the stashed value over the edit.
    """
    round_trip = case.round_trip
    if not case.later_edits or deep_equal(round_trip.obj, round_trip.returned):
        return None
    for edit in case.later_edits:
        with suppress(ConversionFailedError):
            found = _lost_edit(case, edit)
            if found:
                message = f"an edit at {round_trip.origin.name} after a round trip does not survive the next round trip"
                return case.finding("edit-after-round-trip", message, found, edit=edit)
    return None


def _lost_edit(case: ProofCase, edit: Edit) -> list[Difference]:
    round_trip = case.round_trip
    fresh: JsonObject = without_converter_annotations(round_trip, edit.obj)
    unavoidable = {d.path for d in user_differences(fresh, round_trip.of(fresh).returned)}
    again = round_trip.of(edit.obj)
    return [
        difference
        for difference in case.losses.unacknowledged(again)
        if difference.path not in unavoidable and not is_converter_annotation(round_trip, difference.path)
    ]
