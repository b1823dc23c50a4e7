"""Valid objects of a version, made from its schema by a row of choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from polykind.contract import JsonObject, copy_json
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.toolkit.crd_versions import DefinedVersion, Unfit
from polykind.toolkit.proving import metadata
from polykind.toolkit.proving.choices import Choices, Unlucky, likely, pick
from polykind.toolkit.proving.making import Maker

BUDGET = 60.0
"""About how many values an object has at most, beside those that are required."""
DENSITIES = (25, 50, 75, 10, 95)
"""How many of a hundred optional fields are there; one is chosen for each object."""


class Generator:
    """Makes objects of one version. `samples` are real ones, used as they are and with pieces exchanged."""

    def __init__(self, version: DefinedVersion, samples: Sequence[JsonObject] = ()) -> None:
        self.version = version
        self.samples = [found for sample in samples if (found := self._admitted(sample)) is not None]
        self.refused: Counter[str] = Counter()
        """What objects were refused for, and how often."""
        self._maker = Maker()

    @cached_property
    def places(self) -> list[tuple[int, ...]]:
        """Every place of the schema below which nothing else is: the ids of the nodes that lead to it."""
        return list(_places(self.version.openapi, (), root=True))

    def object(self, choices: Choices, aims: Iterable[tuple[int, ...]] = ()) -> JsonObject | None:
        """A valid object as a write takes it in, pruned and defaulted; None if chance would not have it.

        It has the fields at the places that are aimed at, where that can be.
        """
        self._maker.aims = {node for place in aims for node in place}
        try:
            made = self._sampled(choices) if self.samples and likely(choices, 40) else self._made(choices)
            found, unknown = self.version.admitted(made)
        except (Unlucky, Unfit) as error:
            self.refused[str(error)] += 1
            return None
        complaints = [f"{path}: unknown" for path in unknown] or self.version.complaints(found)
        if complaints:
            self.refused.update(complaints)
            return None
        return found

    def value(self, choices: Choices, raw: JsonObject) -> Any:
        """A value of a node of the schema, found good for that node alone. Raises Unlucky."""
        return self._maker.value(choices, raw)

    def _made(self, choices: Choices) -> JsonObject:
        raw = self.version.openapi
        body = {key: value for key, value in raw.items() if key != "x-kubernetes-validations"}
        properties = {k: v for k, v in (raw.get("properties") or {}).items() if k not in META_KEYS}
        body |= {"properties": properties, "required": [k for k in raw.get("required") or () if k not in META_KEYS]}
        density = pick(choices, DENSITIES)
        if "spec" in properties and likely(choices, 95):
            body["required"].append("spec")
        if self.version.schema.preserve_unknown or not raw:
            body["x-kubernetes-preserve-unknown-fields"] = True
        limits = ((raw.get("properties") or {}).get("metadata") or {}).get("properties") or {}
        out = {
            **metadata.head(choices, self.version, limits),
            **self._maker.object(choices, body, SchemaNode(body), BUDGET, density),
        }
        if raw.get("x-kubernetes-validations"):
            out, said = self._maker.repair.settled(choices, raw, self._maker.node(raw), out, resource=True)
            if said:
                raise Unlucky(said)
        return out

    def _sampled(self, choices: Choices) -> JsonObject:
        """A sample, at times with some fields of another or of a new object in place of its own."""
        out: JsonObject = copy_json(pick(choices, self.samples))
        if not likely(choices, 60):
            return out
        other = copy_json(pick(choices, self.samples)) if likely(choices, 50) else self._made(choices)
        whole = copy_json(out)
        for key in [key for key in other if key not in META_KEYS]:
            mine, theirs = out.get(key), other[key]
            if isinstance(mine, dict) and isinstance(theirs, dict):
                mine.update({name: item for name, item in theirs.items() if likely(choices, 40)})
            elif likely(choices, 30):
                out[key] = theirs
        return whole if self._admitted(out) is None else out

    def _admitted(self, sample: JsonObject) -> JsonObject | None:
        if sample.get("apiVersion") != self.version.api_version:
            return None
        try:
            found, _ = self.version.admitted(sample)
        except Unfit:
            return None
        return None if self.version.complaints(found) else found


def _places(raw: JsonObject, above: tuple[int, ...], *, root: bool = False) -> Iterator[tuple[int, ...]]:
    inner = [child for name, child in (raw.get("properties") or {}).items() if not (root and name in META_KEYS)]
    inner += [raw[key] for key in ("items", "additionalProperties") if isinstance(raw.get(key), dict)]
    for child in inner:
        yield from _places(child, (*above, id(child)))
    if not inner and above:
        yield above
