"""The comparison of a converter's results with those in a fresh process, and with its own earlier results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polykind.contract import JsonObject
from polykind.schema.equality import deep_equal
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.object_diff import Difference, differences
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.round_trip import (
    ConversionFailedError,
    ConverterUnavailableError,
    RoundTrip,
    TestedConverter,
)
from polykind.toolkit.proving.shrink import shrink

_FIRST, _LATEST = 16, 16
"""The numbers of objects of each pair whose results are compared: from the beginning and from the end of the run."""
_MAX_ATTEMPTS = 200


class ProcessComparison:
    """Remembers some results of each pair. `fresh` starts the converter in a new process, which is done once."""

    def __init__(self, converter: TestedConverter, fresh: Callable[[], TestedConverter] | None) -> None:
        self._converter = converter
        self._start = fresh
        self._fresh: TestedConverter | None = None
        self._cases: dict[VersionPair, list[ProofCase]] = {}

    def converter(self) -> TestedConverter | None:
        """Return the converter in the fresh process, or None if it cannot run in another process."""
        if self._fresh is None and self._start is not None:
            start, self._start = self._start, None
            try:
                self._fresh = start()
            except ConverterUnavailableError:
                return None
        return self._fresh

    def remember(self, pair: VersionPair, case: ProofCase) -> None:
        """Keep a case for the comparison, if its conversion succeeded with a repeatable result."""
        cases = self._cases.setdefault(pair, [])
        try:
            _, second, third = case.round_trip.responses
        except ConversionFailedError:
            return
        if deep_equal(second, third):
            if len(cases) >= _FIRST + _LATEST:
                del cases[_FIRST]
            cases.append(case)

    def compare(
        self, pair: VersionPair, admitted: Callable[[JsonObject], JsonObject | None]
    ) -> tuple[ProofCase, Finding] | None:
        """Return the first object whose result differs now, or in a fresh process, and its finding.

        Objects are compared in reverse order. `admitted` returns an object as the API server stores it, or None if the
        object is invalid.
        """
        for case in reversed(self._cases.pop(pair, [])):
            trip = case.round_trip
            found = self._differences(self._converter, trip, trip.responses[1])
            if found:
                message = "the same object gives another result at the end of the run than before"
                return case, case.finding("deterministic", message, found)
            fresh = self.converter()
            if fresh is None:
                continue
            try:
                found = self._differences(fresh, trip, trip.responses[1])
                if found:
                    return case, self._shrunk(fresh, case, found, admitted)
            except ConverterUnavailableError:
                return None
        return None

    def _differences(self, converter: TestedConverter, trip: RoundTrip, expected: JsonObject) -> list[Difference]:
        try:
            # The first result may depend on the object that was converted before. Other properties report that.
            converter.convert_raw(trip.obj, trip.goal)
            return list(differences(expected, converter.convert_raw(trip.obj, trip.goal)))
        except ConversionFailedError as error:
            return [Difference((), expected, {"error": str(error)})]

    def _shrunk(
        self,
        fresh: TestedConverter,
        case: ProofCase,
        found: list[Difference],
        admitted: Callable[[JsonObject], JsonObject | None],
    ) -> Finding:
        message = "a fresh process, with another clock, time zone and hash seed, gives another result"
        finding = case.finding("deterministic", message, found)
        attempts = 0

        def fails(obj: JsonObject) -> Finding | None:
            nonlocal attempts
            attempts += 1
            valid = admitted(obj)
            if valid is None:
                return None
            trip = case.round_trip.of(valid)
            try:
                remaining = self._differences(fresh, trip, trip.responses[1])
            except ConversionFailedError:
                return None
            return case.finding("deterministic", message, remaining, obj=valid) if remaining else None

        return shrink(case.round_trip.obj, finding, fails, in_time=lambda: attempts < _MAX_ATTEMPTS)[1]


def not_repeatable(finding: Finding, reason: str) -> Finding:
    """Return the finding with a message that says that it depends on something besides the object."""
    text = f"{finding.message}. This {reason}, so the converter depends on earlier calls, the time or the process"
    return replace(finding, message=text)
