"""Properties tried on generated objects: every object meets all of them, and each failure is then made small."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import orjson
from hypothesis.errors import Flaky, HypothesisException

from polykind.contract import JsonObject
from polykind.convert.definition import Definition
from polykind.convert.library import Library
from polykind.convert.proving import strategies
from polykind.convert.proving.edits import Edit, edited
from polykind.convert.proving.generate import Generator
from polykind.convert.proving.losses import Losses
from polykind.convert.proving.passage import Converter, Passage, Stopped
from polykind.convert.proving.properties import PROPERTIES, Case, Finding, applies, checked
from polykind.schema.equality import same

SHRINKING = 500
"""The most objects that are tried to make a failure smaller."""
Pair = tuple[str, str]


class Broken(Exception):
    """Tells Hypothesis that an object breaks the property at hand."""


@dataclass
class Verdict:
    """What became of one pair of versions: how many objects were tried, and the first that broke each property."""

    tried: int = 0
    refused: list[tuple[str, int]] = field(default_factory=list)
    """What generated objects were refused for, and how often; the most frequent first."""
    left_out: list[tuple[str, int]] = field(default_factory=list)
    """Optional fields for which no value was found."""
    wasted: int = 0
    """How many were refused."""
    found: dict[str, Finding] = field(default_factory=dict)
    minimal: dict[str, Finding] = field(default_factory=dict)


class Trial:
    """One converter tried against one definition. Nothing is run before it is asked for, and nothing twice."""

    def __init__(
        self,
        definition: Definition,
        library: Library,
        *,
        examples: int = 100,
        seed: int = 0,
        properties: Iterable[str] = PROPERTIES,
        samples: Sequence[JsonObject] = (),
    ) -> None:
        """Raises ValueError, saying what cannot be tried."""
        self.definition = definition
        self.library = library
        self.converter = Converter(library, definition)
        if self.converter.declared is not None:
            self.converter.declared.check(definition.versions)
        self.examples = examples
        self.seed = seed
        self.properties = [name for name in PROPERTIES if name in set(properties)]
        self.losses = Losses(self.converter)
        self._generators = {name: Generator(version, samples) for name, version in definition.versions.items()}
        self._objects = {name: strategies.drawn(made.object) for name, made in self._generators.items()}
        self._verdicts: dict[Pair, Verdict] = {}
        used = [sample for generator in self._generators.values() for sample in generator.samples]
        if len(used) < len(samples):
            raise ValueError(_unused(definition, samples))

    @property
    def pairs(self) -> list[Pair]:
        """Every ordered pair of versions: from the storage version, to it, then the others."""
        names, stored = list(self.definition.versions), self.definition.storage
        pairs = [(one, other) for one in names for other in names if one != other]
        return sorted(pairs, key=lambda pair: (stored not in pair, pair[0] != stored))

    def cases(self) -> list[tuple[str, Pair]]:
        """Every property with every pair that it is about."""
        stored = self.definition.storage
        return [(name, pair) for pair in self.pairs for name in self.properties if applies(name, pair[0] == stored)]

    def verdict(self, pair: Pair) -> Verdict:
        """What all properties say of a pair."""
        if pair not in self._verdicts:
            self._verdicts[pair] = self._tried(pair)
        return self._verdicts[pair]

    def finding(self, name: str, pair: Pair) -> Finding | None:
        """The smallest object found that breaks a property, None if it holds."""
        verdict = self.verdict(pair)
        if name not in verdict.found:
            return None
        if name not in verdict.minimal:
            verdict.minimal[name] = self._shrunk(name, pair, verdict.found[name])
        return verdict.minimal[name]

    def _tried(self, pair: Pair) -> Verdict:
        out = Verdict()
        generator = self._generators[pair[0]]

        def note(case: Case) -> None:
            out.tried += 1
            for name in self.properties:
                if name not in out.found and (found := checked(name, case)) is not None:
                    out.found[name] = found
            with suppress(Stopped):
                self.losses.observe(case.passage)

        for sample in generator.samples:
            note(self._case(pair, sample))
        failed = generator.failed
        # A converter that answers now this, now that confuses Hypothesis: what it was caught at stands.
        with suppress(Flaky):
            strategies.run(lambda draw: note(self._drawn(pair, draw)), self.examples, self.seed, shrink=False)
        out.wasted = generator.failed - failed
        out.refused = generator.refused.most_common(3)
        out.left_out = generator.left_out.most_common(3)
        return out

    def _drawn(self, pair: Pair, draw: strategies.Drawing) -> Case:
        """An object, and then an edit of what the converter made of it."""
        case = self._case(pair, draw(self._objects[pair[0]]))
        case.edit = self._edit(case.passage, draw)
        return case

    def _case(self, pair: Pair, obj: JsonObject) -> Case:
        origin, goal = (self.definition.versions[name] for name in pair)
        return Case(Passage(self.converter, origin, goal, obj), None, self.losses)

    def _edit(self, passage: Passage, draw: strategies.Drawing) -> Edit | None:
        try:
            if "edit-survives" not in self.properties or not same(*passage.answers[1:]):
                return None
            written = passage.written
        except Stopped:
            return None
        generator = self._generators[passage.goal.name]
        return draw(strategies.drawn(lambda choices: [edited(choices, generator, written)]))[0]

    def _shrunk(self, name: str, pair: Pair, found: Finding) -> Finding:
        """Objects are made once more, in the same order, and the first that breaks the property is made smaller."""
        best, calls = found, 0

        def body(draw: strategies.Drawing) -> None:
            nonlocal best, calls
            if calls > SHRINKING:
                return
            calls += calls > 0
            again = checked(name, self._drawn(pair, draw))
            if again is not None:
                calls = calls or 1
                best = again if _size(again) <= _size(best) else best
                raise Broken

        with suppress(Broken, HypothesisException):
            strategies.run(body, self.examples, self.seed, shrink=True)
        return best


def _size(found: Finding) -> tuple[int, int]:
    edit = len(repr(found.edit[:3])) if found.edit else 0
    return len(orjson.dumps(found.obj)) + edit, len(found.differences)


def _unused(definition: Definition, samples: Sequence[JsonObject]) -> str:
    """Why a sample is not good for a definition."""
    for sample in samples:
        try:
            version = definition.version_of(sample)
            complaints = version.complaints(version.admitted(sample)[0])
        except ValueError as error:
            complaints = [str(error)]
        if complaints:
            name = (sample.get("metadata") or {}).get("name")
            return f"the sample {name!r} is no valid {definition.kind}: {complaints[0]}"
    return "a sample is not valid"
