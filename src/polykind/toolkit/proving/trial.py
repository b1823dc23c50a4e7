"""Properties tried on generated objects: every object meets all of them, and each failure is then made small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from polykind.contract import JsonObject
from polykind.schema.equality import deep_equal
from polykind.toolkit.crd_versions import Definition, Unfit
from polykind.toolkit.declare.library import Library
from polykind.toolkit.proving.case import Case, Finding
from polykind.toolkit.proving.choices import Choices, RandomChoices
from polykind.toolkit.proving.coverage import Coverage
from polykind.toolkit.proving.edits import Editor, applied
from polykind.toolkit.proving.generate import Generator
from polykind.toolkit.proving.losses import Losses
from polykind.toolkit.proving.passage import Converter, Passage, Stopped
from polykind.toolkit.proving.properties import PROPERTIES, applies, checked
from polykind.toolkit.proving.shrink import plainer, smallest, undefaulted

PATIENCE = 5
"""How many objects are tried for each that is wanted, before too few are valid."""
EDITS = 3
"""How many edits of each object are tried."""
MOST_AIMS = 16
"""How many places of a large schema one object aims at."""
Pair = tuple[str, str]


@dataclass
class Verdict:
    """What became of one pair of versions: how many objects were tried, and the first that broke each property."""

    tried: int = 0
    wasted: int = 0
    """How many that were generated were not valid."""
    refused: list[tuple[str, int]] = field(default_factory=list)
    """What they were refused for, and how often; the most frequent first."""
    unmet: list[str] = field(default_factory=list)
    """The fields of the schema that no object had."""
    broken: dict[str, tuple[Case, Finding]] = field(default_factory=dict)
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
        wanted = set(properties)
        self.properties = [name for name in PROPERTIES if name in wanted]
        self.losses = Losses(self.converter)
        for sample in samples:
            _check(definition, sample)
        self._generators = {name: Generator(version, samples) for name, version in definition.versions.items()}
        self._orders: dict[str, list[int]] = {}
        self._verdicts: dict[Pair, Verdict] = {}

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
        if name not in verdict.broken:
            return None
        if name not in verdict.minimal:
            verdict.minimal[name] = self._shrunk(name, pair, *verdict.broken[name])
        return verdict.minimal[name]

    def _tried(self, pair: Pair) -> Verdict:
        out = Verdict()
        coverage = Coverage(self.definition.versions[pair[0]])
        for case in self._generated(pair, out):
            out.tried += 1
            coverage.note(case.passage.obj)
            for name in self.properties:
                if name not in out.broken and (found := checked(name, case)) is not None:
                    out.broken[name] = case, found
            with suppress(Stopped):
                self.losses.observe(case.passage)
        out.unmet = coverage.unmet()
        out.refused = self._generators[pair[0]].refused.most_common(3)
        return out

    def _generated(self, pair: Pair, verdict: Verdict) -> Iterator[Case]:
        """Samples first, then as many valid objects as are wanted.

        Each object has chance of its own: which it is depends on the seed, the pair and its number, and nothing else.
        """
        generator = self._generators[pair[0]]
        editor = Editor(self._generators[pair[1]])
        for number, sample in enumerate(generator.samples):
            yield self._case(pair, sample, editor, self._chance(pair, f"sample {number}"))
        wanted = verdict.tried + self.examples
        for number in range(self.examples * PATIENCE):
            if verdict.tried >= wanted:
                return
            choices = self._chance(pair, str(number))
            obj = generator.object(choices, self._aims(generator, number))
            if obj is None:
                verdict.wasted += 1
                continue
            yield self._case(pair, obj, editor, choices)

    def _chance(self, pair: Pair, name: str) -> Choices:
        return RandomChoices(Random(f"{self.seed} {':'.join(pair)} {name}"))  # noqa: S311

    def _aims(self, generator: Generator, number: int) -> list[tuple[int, ...]]:
        """Some places of the schema that an object is to have, so that by and by all are met."""
        places = generator.places
        if not places:
            return []
        count = min(MOST_AIMS, -(-len(places) // self.examples))
        order = self._orders.get(generator.version.name)
        if order is None:
            order = Random(self.seed).sample(range(len(places)), len(places))  # noqa: S311
            self._orders[generator.version.name] = order
        return [places[order[(number * count + step) % len(places)]] for step in range(count)]

    def _case(self, pair: Pair, obj: JsonObject, editor: Editor, choices: Choices) -> Case:
        """An object, and edits of what the converter makes of it."""
        case = Case(self._passage(pair, obj), self.losses)
        with suppress(Stopped):
            if deep_equal(*case.passage.answers[1:]):
                written = case.passage.written
                found = [editor.edited(choices, written) for _ in range(EDITS)]
                case.edits = [edit for edit in found if edit is not None]
        return case

    def _passage(self, pair: Pair, obj: JsonObject) -> Passage:
        origin, goal = (self.definition.versions[name] for name in pair)
        return Passage(self.converter, origin, goal, obj)

    def _shrunk(self, name: str, pair: Pair, case: Case, found: Finding) -> Finding:
        origin, goal = (self.definition.versions[version] for version in pair)
        edit = found.edit

        def fails(obj: JsonObject) -> Finding | None:
            try:
                taken = origin.admitted(obj)[0]
            except Unfit:
                return None
            if origin.complaints(taken):
                return None
            again = Case(self._passage(pair, taken), self.losses)
            if edit is not None:
                with suppress(Stopped):
                    same_edit = applied(goal, again.passage.written, edit.path, edit.after)
                    again.edits = [same_edit] if same_edit is not None else []
            return checked(name, again)

        obj, found = smallest(undefaulted(origin.schema.root, case.passage.obj), found, fails)
        if edit is None or found.edit is None:
            return found
        for value in plainer(edit.after):
            edit = edit._replace(after=value)
            if (result := fails(obj)) is not None:
                return result
        return found


def _check(definition: Definition, sample: JsonObject) -> None:
    """Raises ValueError if a sample is no valid object of the definition."""
    name = (sample.get("metadata") or {}).get("name")
    try:
        version = definition.version_of(sample)
        complaints = version.complaints(version.admitted(sample)[0])
    except Unfit as error:
        complaints = [str(error)]
    if complaints:
        raise ValueError(f"the sample {name} is no valid {definition.kind}: {complaints[0]}")
