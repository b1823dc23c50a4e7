"""A proof run: it checks every property of a converter with generated objects, and simplifies each failing object."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from random import Random
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.declare.conversions import ConversionFunction
from polykind.declare.library import Library
from polykind.schema.equality import deep_equal
from polykind.toolkit.crd_versions import CRD, RejectedError
from polykind.toolkit.proving.budget import Budget
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.choices import Choices, RandomChoices
from polykind.toolkit.proving.constants import converter_constants
from polykind.toolkit.proving.edits import Editor, apply_edit
from polykind.toolkit.proving.field_coverage import FieldCoverage, FieldUse
from polykind.toolkit.proving.losses import LossTracker
from polykind.toolkit.proving.object_generator import ObjectGenerator
from polykind.toolkit.proving.process_comparison import ProcessComparison, not_repeatable
from polykind.toolkit.proving.progress import (
    FindingShrunk,
    ObjectTested,
    Observer,
    PairFinished,
    PairStarted,
    PropertyFailed,
    VersionPair,
    ignore_event,
)
from polykind.toolkit.proving.properties import EXPENSIVE, PROPERTIES, applies, check_property
from polykind.toolkit.proving.regressions import RegressionSample, SavedEdit
from polykind.toolkit.proving.round_trip import (
    ConversionFailedError,
    ConverterUnavailableError,
    RoundTrip,
    TestedConverter,
)
from polykind.toolkit.proving.shrink import shrink, simpler_values, without_defaults
from polykind.toolkit.proving.themes import THEMES
from polykind.toolkit.proving.vocabulary import Vocabulary

_EDITS_PER_OBJECT = 3
"""The number of edits that are generated for each object."""
_MAX_TARGETS = 16
"""The maximum number of schema leaves that the generator tries to set in one object."""
_LEAVES_WITHIN = 100
"""The number of objects after which every schema leaf should have been set, however long the run is."""
_ALWAYS_CHECKED, _CHECK_EVERY = 40, 6
"""Expensive properties are checked with the first objects of a pair, and then with every sixth object."""


@dataclass
class PairResult:
    """The result for one pair of versions: the number of tested objects, and the first failure of each property."""

    tested: int = 0
    invalid: int = 0
    """The number of generated objects that were invalid."""
    rejections: list[tuple[str, int]] = field(default_factory=list)
    """The reasons why generated objects were invalid, each with the number of objects, the most frequent first."""
    uncovered: list[str] = field(default_factory=list)
    """Schema fields that no tested object had."""
    coverage: dict[str, FieldUse] = field(default_factory=dict)
    """The schema fields that tested objects had, with the number of objects and values."""
    complete: bool = False
    """False if the run was interrupted before the budget of the pair was used."""
    failed: dict[str, tuple[ProofCase, Finding]] = field(default_factory=dict)
    smallest: dict[str, Finding] = field(default_factory=dict)
    failed_at: dict[str, int] = field(default_factory=dict)
    """The number of the generated object with the first failure of each property, counted from 0."""


class _Candidate(NamedTuple):
    """An object to test, with the random choices for its edits. `number` counts from 0, with -1 for samples."""

    number: int
    obj: JsonObject
    choices: Choices
    theme: str
    edit: SavedEdit | None = None


class _Checked(NamedTuple):
    """The outcome of all properties for one object."""

    case: ProofCase
    findings: dict[str, Finding]


class ProofRun:
    """Checks one converter with one CRD. Each pair of versions is checked once, when its result is first needed."""

    def __init__(
        self,
        crd: CRD,
        library: Library | TestedConverter,
        *,
        examples: int = 100,
        seconds: float | None = None,
        seed: int = 0,
        properties: Iterable[str] = PROPERTIES,
        samples: Sequence[JsonObject] = (),
        acknowledged: Sequence[ConversionFunction] = (),
        pairs: Sequence[VersionPair] | None = None,
        observer: Observer = ignore_event,
        clock: Callable[[], float] = time.process_time,
        fail_fast: bool = False,
        fresh: Callable[[], TestedConverter] | None = None,
        regressions: Sequence[RegressionSample] = (),
    ) -> None:
        """Raise ValueError if the converter, the properties or the samples do not match the CRD.

        The run generates `examples` objects for each pair of versions, or, if `seconds` is given, as many objects as
        `clock` allows in that time for all `pairs` together. With `fail_fast`, a pair ends with its first failure.
        `fresh` returns the converter in a new process, which confirms findings. `regressions` are tried first.
        """
        self.crd = crd
        self.converter = TestedConverter(library, crd) if isinstance(library, Library) else library
        if self.converter.declared is not None:
            self.converter.declared.check(crd.versions)
        self.examples = examples
        self.seconds = seconds
        self.seed = seed
        selected = set(properties)
        self.properties = [name for name in PROPERTIES if name in selected]
        self.losses = LossTracker(self.converter, acknowledged)
        for sample in samples:
            _check_sample(crd, sample)
        self.pairs = list(pairs) if pairs is not None else version_pairs(crd)
        """The pairs of versions to check: those from the storage version, then those to it, then all others."""
        self._observe = observer
        self._fail_fast = fail_fast
        self._regressions = regressions
        self._process = ProcessComparison(self.converter, fresh)
        self._budget = Budget(len(self.pairs), examples, seconds, clock)
        self._generators = {name: ObjectGenerator(version, samples) for name, version in crd.versions.items()}
        self._constants = converter_constants(library, crd) if isinstance(library, Library) else Vocabulary()
        self._orders: dict[str, list[int]] = {}
        self._results: dict[VersionPair, PairResult] = {}

    def cases(self) -> list[tuple[str, VersionPair]]:
        """Return all combinations of a property and a version pair to which the property applies."""
        return [(name, pair) for pair in self.pairs for name in self.properties if self.applies(name, pair)]

    def applies(self, name: str, pair: VersionPair) -> bool:
        """True if a property applies to a version pair."""
        return applies(name, pair[0] == self.crd.storage, len(self.crd.versions))

    def result(self, pair: VersionPair) -> PairResult:
        """Return the result of all properties for a pair of versions. The first call runs the checks."""
        if pair not in self._results:
            self._observe(PairStarted(pair, len(self._results) + 1, len(self.pairs)))
            self._results[pair] = PairResult()
            self._run_pair(pair, self._results[pair])
            self._observe(PairFinished(pair, self._results[pair].tested))
        return self._results[pair]

    def finding(self, name: str, pair: VersionPair) -> Finding | None:
        """Return the smallest counterexample of a property, or None if the property holds."""
        result = self.result(pair)
        if name not in result.failed:
            return None
        if name not in result.smallest:
            result.smallest[name] = self._shrink(name, pair, *result.failed[name])
            self._observe(FindingShrunk(pair, result.smallest[name]))
        return result.smallest[name]

    def tested_pairs(self) -> list[VersionPair]:
        """Return the pairs with a result, in their order. Other pairs remain if the run was interrupted."""
        return [pair for pair in self.pairs if pair in self._results]

    def _run_pair(self, pair: VersionPair, out: PairResult) -> None:
        """Test a pair and write the result to `out` step by step, so that an interrupted run has a result, too."""
        coverage = FieldCoverage(self.crd.versions[pair[0]])
        # Each pair learns anew, so that a run of one pair generates the same objects as a run of all pairs.
        vocabulary = self._constants.copy()
        for name in pair:
            self._generators[name].vocabulary = vocabulary
        editors = tuple(Editor(self._generators[name]) for name in pair)
        try:
            with self._budget.pair():
                for chunk in _chunks(self._candidates(pair, out), self.converter.concurrency):
                    checks = [partial(self._check, pair, one, editors, frozenset(out.failed)) for one in chunk]
                    for candidate, checked in zip(chunk, self.converter.run_together(checks), strict=True):
                        coverage.add(candidate.obj)
                        self._record(pair, out, candidate, checked)
                        self._learn(vocabulary, checked.case.round_trip)
                        self._observe(ObjectTested(pair, out.tested, self._budget.used, candidate.theme))
                    if out.failed and self._fail_fast:
                        break
            self._compare_processes(pair, out)
            out.complete = True
        except ConverterUnavailableError:
            # A converter that hangs for some objects has failed already. Report that instead.
            if not out.failed:
                raise
        finally:
            out.uncovered = coverage.uncovered()
            out.coverage = coverage.fields
            out.rejections = self._generators[pair[0]].rejections.most_common(3)

    def _learn(self, vocabulary: Vocabulary, round_trip: RoundTrip) -> None:
        """Record the losses of a round trip, and the texts and numbers in the converter's answers."""
        try:
            self.losses.observe(round_trip)
            vocabulary.learn(round_trip.obj, round_trip.converted)
            vocabulary.learn(round_trip.converted, round_trip.returned)
        except ConversionFailedError as error:
            vocabulary.learn_message(str(error))

    def _check(
        self, pair: VersionPair, candidate: _Candidate, editors: tuple[Editor, ...], skip: Iterable[str]
    ) -> _Checked:
        case = self._make_case(pair, candidate.obj, editors, candidate.choices)
        if candidate.edit is not None:
            self._add_edit(case, candidate.edit)
        often = candidate.number < _ALWAYS_CHECKED or candidate.number % _CHECK_EVERY == 0
        findings = {}
        for name in self.properties:
            if name in skip or (name in EXPENSIVE and not often):
                continue
            finding = check_property(name, case)
            if finding is not None:
                findings[name] = finding
        return _Checked(case, findings)

    def _record(self, pair: VersionPair, out: PairResult, candidate: _Candidate, checked: _Checked) -> None:
        """Add the result of one object to the result of its pair."""
        out.tested += 1
        for name, finding in checked.findings.items():
            if name not in out.failed:
                out.failed[name] = checked.case, finding
                out.failed_at[name] = max(0, candidate.number)
                self._observe(PropertyFailed(pair, finding))
        self._process.remember(pair, checked.case)

    def _compare_processes(self, pair: VersionPair, out: PairResult) -> None:
        """Check that another process converts the objects of a pair to the same results."""
        if "deterministic" not in self.properties or "deterministic" in out.failed:
            return
        different = self._process.compare(pair, lambda obj: self._admitted(pair, obj))
        if different is not None:
            out.failed["deterministic"] = different
            out.smallest["deterministic"] = different[1]
            self._observe(PropertyFailed(pair, different[1]))

    def _candidates(self, pair: VersionPair, result: PairResult) -> Iterator[_Candidate]:
        """Yield each sample, then generated valid objects as long as the budget lasts.

        Each generated object depends only on the seed, the version pair and its number in the run.
        """
        generator = self._generators[pair[0]]
        for sample in self._regressions:
            if sample.pair == pair and (admitted := self._admitted(pair, sample.obj)) is not None:
                yield _Candidate(-1, admitted, self._choices(pair, "regression"), "regression", sample.edit)
        for number, given in enumerate(generator.samples):
            yield _Candidate(-1, given, self._choices(pair, f"sample {number}"), "sample")
        number = 0
        while self._budget.allows(number, number - result.invalid):
            choices = self._choices(pair, str(number))
            theme = THEMES[number % len(THEMES)]
            obj = generator.object(choices, self._choose_targets(generator, number), theme)
            if obj is None:
                result.invalid += 1
            else:
                yield _Candidate(number, obj, choices, theme)
            number += 1

    def _choices(self, pair: VersionPair, name: str) -> Choices:
        return RandomChoices(Random(f"{self.seed} {':'.join(pair)} {name}"))  # noqa: S311

    def _choose_targets(self, generator: ObjectGenerator, number: int) -> list[tuple[int, ...]]:
        """Choose the schema leaves that object `number` of the run should have, so that the run covers all leaves."""
        places = generator.leaf_nodes
        if not places:
            return []
        within = _LEAVES_WITHIN if self.seconds is not None else min(self.examples, _LEAVES_WITHIN)
        count = min(_MAX_TARGETS, -(-len(places) // within))
        order = self._orders.get(generator.version.name)
        if order is None:
            order = Random(self.seed).sample(range(len(places)), len(places))  # noqa: S311
            self._orders[generator.version.name] = order
        return [places[order[(number * count + step) % len(places)]] for step in range(count)]

    def _make_case(
        self, pair: VersionPair, obj: JsonObject, editors: tuple[Editor, ...], choices: Choices
    ) -> ProofCase:
        """Return a case with the round trip of an object and with random edits of the converted object."""
        case = ProofCase(self._round_trip(pair, obj), self.losses)
        with suppress(ConversionFailedError):
            if deep_equal(*case.round_trip.responses[1:]):
                written = case.round_trip.admitted
                edits = [editors[1].edit(choices, written) for _ in range(_EDITS_PER_OBJECT)]
                case.edits = [edit for edit in edits if edit is not None]
                later = editors[0].edit(choices, case.round_trip.returned)
                case.later_edits = [later] if later is not None else []
        return case

    def _round_trip(self, pair: VersionPair, obj: JsonObject) -> RoundTrip:
        origin, goal = (self.crd.versions[name] for name in pair)
        return RoundTrip(self.converter, origin, goal, obj)

    def _shrink(self, name: str, pair: VersionPair, case: ProofCase, finding: Finding) -> Finding:
        """Return the finding with the simplest object that was found, confirmed in a fresh process if possible."""
        edit = _saved_edit(finding)

        def fails(obj: JsonObject) -> Finding | None:
            return self._recheck(self.converter, name, pair, obj, edit)

        obj, original = case.round_trip.obj, finding
        with self._budget.shrinking() as in_time, suppress(ConverterUnavailableError):
            if fails(case.round_trip.obj) is None:
                return not_repeatable(finding, "does not fail again for the same object alone")
            simple = without_defaults(self.crd.versions[pair[0]].schema.root, case.round_trip.obj)
            obj, finding = shrink(simple, finding, fails, in_time=in_time)
            for value in simpler_values(edit.argument) if edit is not None and finding.edit is not None else ():
                edit = edit._replace(argument=value) if edit is not None else None
                if in_time() and (result := fails(obj)) is not None:
                    finding = result
                    break
        fresh = self._process.converter()
        if fresh is None:
            return finding
        with suppress(ConverterUnavailableError):
            for known, tested in ((finding, obj), (original, case.round_trip.obj)):
                if self._recheck(fresh, name, pair, tested, _saved_edit(known)) is not None:
                    return known
            return not_repeatable(finding, "does not fail in a fresh process")
        return finding

    def _recheck(
        self, converter: TestedConverter, name: str, pair: VersionPair, obj: JsonObject, edit: SavedEdit | None
    ) -> Finding | None:
        """Check a property again, with another object or converter.

        Return None if the property holds or the object is invalid.
        """
        admitted = self._admitted(pair, obj)
        if admitted is None:
            return None
        origin, goal = (self.crd.versions[version] for version in pair)
        case = ProofCase(RoundTrip(converter, origin, goal, admitted), self.losses)
        if edit is not None:
            self._add_edit(case, edit)
        return check_property(name, case)

    def _admitted(self, pair: VersionPair, obj: JsonObject) -> JsonObject | None:
        """Return an object of the source version as the API server stores it, or None if it is invalid."""
        origin = self.crd.versions[pair[0]]
        try:
            admitted = origin.admit(obj)[0]
        except RejectedError:
            return None
        return None if origin.validation_errors(admitted) else admitted

    def _add_edit(self, case: ProofCase, saved: SavedEdit) -> None:
        """Add an edit to a case, if the edit is possible there."""
        with suppress(ConversionFailedError):
            round_trip = case.round_trip
            version, start = (
                (round_trip.origin, round_trip.returned) if saved.later else (round_trip.goal, round_trip.admitted)
            )
            edit = apply_edit(version, start, saved.path, saved.argument, saved.operation)
            if edit is not None:
                (case.later_edits if saved.later else case.edits).insert(0, edit)


def _saved_edit(finding: Finding) -> SavedEdit | None:
    """Return the edit of a finding without the edited object, or None if the finding has no edit."""
    if finding.edit is None:
        return None
    later = finding.property == "edit-after-round-trip"
    return SavedEdit(finding.edit.path, finding.edit.operation, finding.edit.argument, later)


def _chunks(candidates: Iterator[_Candidate], size: int) -> Iterator[list[_Candidate]]:
    while chunk := list(islice(candidates, size)):
        yield chunk


def version_pairs(crd: CRD) -> list[VersionPair]:
    """Return all ordered pairs of versions: those from the storage version, then those to it, then all others."""
    names, stored = list(crd.versions), crd.storage
    pairs = [(origin, goal) for origin in names for goal in names if origin != goal]
    return sorted(pairs, key=lambda pair: (stored not in pair, pair[0] != stored))


def _check_sample(crd: CRD, sample: JsonObject) -> None:
    """Raise ValueError if a sample is not a valid object of the CRD."""
    name = (sample.get("metadata") or {}).get("name")
    try:
        version = crd.version_of(sample)
        errors = version.validation_errors(version.admit(sample)[0])
    except RejectedError as error:
        errors = [str(error)]
    if errors:
        raise ValueError(f"the sample {name} is not a valid {crd.kind}: {errors[0]}")
