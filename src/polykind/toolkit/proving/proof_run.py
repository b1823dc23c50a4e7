"""A proof run: it checks every property of a converter with generated objects, and simplifies each failing object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from polykind.contract import JsonObject
from polykind.schema.equality import deep_equal
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.toolkit.crd_versions import CRD, CRDVersion, RejectedError
from polykind.toolkit.declare.library import Library
from polykind.toolkit.proving.case import Finding, ProofCase
from polykind.toolkit.proving.choices import Choices, RandomChoices
from polykind.toolkit.proving.edits import Editor, apply_edit
from polykind.toolkit.proving.losses import LossTracker
from polykind.toolkit.proving.object_generator import ObjectGenerator
from polykind.toolkit.proving.properties import PROPERTIES, applies, check_property
from polykind.toolkit.proving.round_trip import ConversionFailedError, RoundTrip, TestedConverter
from polykind.toolkit.proving.shrink import shrink, simpler_values, without_defaults

_ATTEMPTS_PER_OBJECT = 5
"""The maximum number of generated objects per requested valid object. It limits a run in which few are valid."""
_EDITS_PER_OBJECT = 3
"""The number of edits that are generated for each object."""
_MAX_TARGETS = 16
"""The maximum number of schema leaves that the generator tries to set in one object."""
VersionPair = tuple[str, str]


class FieldCoverage:
    """Tracks which schema fields of a version the tested objects have. Paths look like `spec.ports[*].name`."""

    def __init__(self, version: CRDVersion) -> None:
        self._version = version
        self._covered: set[str] = set()

    def add(self, obj: JsonObject) -> None:
        """Mark the fields that an object has as covered."""
        root = self._version.schema.root
        for key, value in obj.items():
            if key not in META_KEYS:
                self._walk(root.child(key), value, key)

    def uncovered(self) -> list[str]:
        """Return the schema fields that no object has. Omit the fields below such a field."""
        out: list[str] = []
        for path in _paths(self._version.openapi):
            if path not in self._covered and not (out and path.startswith((f"{out[-1]}.", f"{out[-1]}["))):
                out.append(path)
        return out

    def _walk(self, node: SchemaNode | None, value: Any, path: str) -> None:
        self._covered.add(path)
        if node is None:
            return
        if isinstance(value, dict):
            for key, item in value.items():
                self._walk(node.child(key), item, f"{path}.{key}" if node.has_property(key) else f"{path}.*")
        elif isinstance(value, list):
            for item in value:
                self._walk(node.items, item, f"{path}[*]")


def _paths(raw: JsonObject, path: str = "") -> Iterator[str]:
    """Yield the paths of all fields in the schema `raw`, parents before children."""
    inner = [
        (f"{path}.{name}" if path else name, child)
        for name, child in (raw.get("properties") or {}).items()
        if path or name not in META_KEYS
    ]
    inner += [
        (f"{path}{step}", raw[key])
        for key, step in (("items", "[*]"), ("additionalProperties", ".*"))
        if path and isinstance(raw.get(key), dict)
    ]
    for here, child in inner:
        yield here
        yield from _paths(child, here)


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
    failed: dict[str, tuple[ProofCase, Finding]] = field(default_factory=dict)
    smallest: dict[str, Finding] = field(default_factory=dict)


class ProofRun:
    """Checks one converter with one CRD. Each pair of versions is checked once, when its result is first needed."""

    def __init__(
        self,
        crd: CRD,
        library: Library,
        *,
        examples: int = 100,
        seed: int = 0,
        properties: Iterable[str] = PROPERTIES,
        samples: Sequence[JsonObject] = (),
    ) -> None:
        """Raise ValueError if the converter, the properties or the samples do not match the CRD."""
        self.crd = crd
        self.library = library
        self.converter = TestedConverter(library, crd)
        if self.converter.declared is not None:
            self.converter.declared.check(crd.versions)
        self.examples = examples
        self.seed = seed
        selected = set(properties)
        self.properties = [name for name in PROPERTIES if name in selected]
        self.losses = LossTracker(self.converter)
        for sample in samples:
            _check_sample(crd, sample)
        self._generators = {name: ObjectGenerator(version, samples) for name, version in crd.versions.items()}
        self._orders: dict[str, list[int]] = {}
        self._results: dict[VersionPair, PairResult] = {}

    @property
    def pairs(self) -> list[VersionPair]:
        """All ordered pairs of versions: first those from the storage version, then those to it, then all others."""
        names, stored = list(self.crd.versions), self.crd.storage
        pairs = [(origin, goal) for origin in names for goal in names if origin != goal]
        return sorted(pairs, key=lambda pair: (stored not in pair, pair[0] != stored))

    def cases(self) -> list[tuple[str, VersionPair]]:
        """Return all combinations of a property and a version pair to which the property applies."""
        stored = self.crd.storage
        return [(name, pair) for pair in self.pairs for name in self.properties if applies(name, pair[0] == stored)]

    def result(self, pair: VersionPair) -> PairResult:
        """Return the result of all properties for a pair of versions. The first call runs the checks."""
        if pair not in self._results:
            self._results[pair] = self._run_pair(pair)
        return self._results[pair]

    def finding(self, name: str, pair: VersionPair) -> Finding | None:
        """Return the smallest counterexample of a property, or None if the property holds."""
        result = self.result(pair)
        if name not in result.failed:
            return None
        if name not in result.smallest:
            result.smallest[name] = self._shrink(name, pair, *result.failed[name])
        return result.smallest[name]

    def _run_pair(self, pair: VersionPair) -> PairResult:
        out = PairResult()
        coverage = FieldCoverage(self.crd.versions[pair[0]])
        for case in self._generate_cases(pair, out):
            out.tested += 1
            coverage.add(case.round_trip.obj)
            for name in self.properties:
                if name not in out.failed and (finding := check_property(name, case)) is not None:
                    out.failed[name] = case, finding
            with suppress(ConversionFailedError):
                self.losses.observe(case.round_trip)
        out.uncovered = coverage.uncovered()
        out.rejections = self._generators[pair[0]].rejections.most_common(3)
        return out

    def _generate_cases(self, pair: VersionPair, result: PairResult) -> Iterator[ProofCase]:
        """Yield a case for each sample, then for the requested number of generated valid objects.

        Each generated object depends only on the seed, the version pair and its number in the run.
        """
        generator = self._generators[pair[0]]
        editor = Editor(self._generators[pair[1]])
        for number, sample in enumerate(generator.samples):
            yield self._make_case(pair, sample, editor, self._choices(pair, f"sample {number}"))
        wanted = result.tested + self.examples
        for number in range(self.examples * _ATTEMPTS_PER_OBJECT):
            if result.tested >= wanted:
                return
            choices = self._choices(pair, str(number))
            obj = generator.object(choices, self._choose_targets(generator, number))
            if obj is None:
                result.invalid += 1
                continue
            yield self._make_case(pair, obj, editor, choices)

    def _choices(self, pair: VersionPair, name: str) -> Choices:
        return RandomChoices(Random(f"{self.seed} {':'.join(pair)} {name}"))  # noqa: S311

    def _choose_targets(self, generator: ObjectGenerator, number: int) -> list[tuple[int, ...]]:
        """Choose the schema leaves that object `number` of the run should have, so that the run covers all leaves."""
        places = generator.leaf_nodes
        if not places:
            return []
        count = min(_MAX_TARGETS, -(-len(places) // self.examples))
        order = self._orders.get(generator.version.name)
        if order is None:
            order = Random(self.seed).sample(range(len(places)), len(places))  # noqa: S311
            self._orders[generator.version.name] = order
        return [places[order[(number * count + step) % len(places)]] for step in range(count)]

    def _make_case(self, pair: VersionPair, obj: JsonObject, editor: Editor, choices: Choices) -> ProofCase:
        """Return a case with the round trip of an object and with random edits of the converted object."""
        case = ProofCase(self._round_trip(pair, obj), self.losses)
        with suppress(ConversionFailedError):
            if deep_equal(*case.round_trip.responses[1:]):
                written = case.round_trip.admitted
                edits = [editor.edit(choices, written) for _ in range(_EDITS_PER_OBJECT)]
                case.edits = [edit for edit in edits if edit is not None]
        return case

    def _round_trip(self, pair: VersionPair, obj: JsonObject) -> RoundTrip:
        origin, goal = (self.crd.versions[name] for name in pair)
        return RoundTrip(self.converter, origin, goal, obj)

    def _shrink(self, name: str, pair: VersionPair, case: ProofCase, finding: Finding) -> Finding:
        origin, goal = (self.crd.versions[version] for version in pair)
        edit = finding.edit

        def fails(obj: JsonObject) -> Finding | None:
            try:
                admitted = origin.admit(obj)[0]
            except RejectedError:
                return None
            if origin.validation_errors(admitted):
                return None
            retry = ProofCase(self._round_trip(pair, admitted), self.losses)
            if edit is not None:
                with suppress(ConversionFailedError):
                    same_edit = apply_edit(goal, retry.round_trip.admitted, edit.path, edit.after)
                    retry.edits = [same_edit] if same_edit is not None else []
            return check_property(name, retry)

        obj, finding = shrink(without_defaults(origin.schema.root, case.round_trip.obj), finding, fails)
        if edit is None or finding.edit is None:
            return finding
        for value in simpler_values(edit.after):
            edit = edit._replace(after=value)
            if (result := fails(obj)) is not None:
                return result
        return finding


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
