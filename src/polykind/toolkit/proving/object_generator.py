"""A generator of random valid objects for the schema of a CRD version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from polykind.contract import JsonObject, copy_json
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.toolkit.crd_versions import CRDVersion, RejectedError
from polykind.toolkit.proving.choices import Choices, GenerationError, chance, pick
from polykind.toolkit.proving.metadata_generator import generate_head
from polykind.toolkit.proving.text_style import Style
from polykind.toolkit.proving.themes import THEMES
from polykind.toolkit.proving.value_generator import Size, ValueGenerator
from polykind.toolkit.proving.vocabulary import Vocabulary

_VALUE_BUDGET = 60.0
"""The approximate maximum number of optional values in an object."""
_DENSITIES = (25, 50, 75, 10, 95)
"""Percentages of optional fields to set. The generator chooses one percentage for each object."""


class ObjectGenerator:
    """Generates objects of one version. Some of them are `samples` (real objects), possibly with some other fields."""

    def __init__(
        self, version: CRDVersion, samples: Sequence[JsonObject] = (), vocabulary: Vocabulary | None = None
    ) -> None:
        self.version = version
        self.samples = [admitted for sample in samples if (admitted := self._admit_sample(sample)) is not None]
        self.rejections: Counter[str] = Counter()
        """The reasons why generated objects were invalid, with the number of objects for each reason."""
        self._values = ValueGenerator(Style(vocabulary))

    @cached_property
    def leaf_nodes(self) -> list[tuple[int, ...]]:
        """The leaves of the schema, each as the `id()` of all schema nodes on the path from the root to the leaf."""
        return list(_leaf_nodes(self.version.openapi, (), root=True))

    @property
    def vocabulary(self) -> Vocabulary:
        """Constants that the generated objects may contain."""
        return self._values.style.vocabulary

    @vocabulary.setter
    def vocabulary(self, vocabulary: Vocabulary) -> None:
        self._values.style.vocabulary = vocabulary

    def object(
        self, choices: Choices, targets: Iterable[tuple[int, ...]] = (), theme: str | None = None
    ) -> JsonObject | None:
        """Return a valid object as the server stores it (pruned, with defaults), or None if the attempt fails.

        `targets` are items of `leaf_nodes`. If possible, the object has values for these leaves of the schema. `theme`
        is one of THEMES, or None to choose one.
        """
        self._values.begin(choices, theme or pick(choices, THEMES))
        self._values.targets = {node for path in targets for node in path}
        try:
            generated = self._vary_sample(choices) if self.samples and chance(choices, 40) else self._generate(choices)
            admitted, unknown = self.version.admit(generated)
        except (GenerationError, RejectedError) as error:
            self.rejections[str(error)] += 1
            return None
        errors = [f"{path}: unknown" for path in unknown] or self.version.validation_errors(admitted)
        if errors:
            self.rejections.update(errors)
            return None
        return admitted

    def value(self, choices: Choices, raw: JsonObject) -> Any:
        """Generate a valid value for one schema node. Raise GenerationError if no valid value is found."""
        return self._values.value(choices, raw)

    def _generate(self, choices: Choices) -> JsonObject:
        raw = self.version.openapi
        body = self._body()
        density = self._values.style.theme.density or pick(choices, _DENSITIES)
        if "spec" in body["properties"] and chance(choices, 95):
            body["required"].append("spec")
        limits = ((raw.get("properties") or {}).get("metadata") or {}).get("properties") or {}
        head = generate_head(choices, self.version, limits)
        out = {**head, **self._values.object(choices, body, SchemaNode(body), Size(_VALUE_BUDGET, density))}
        if raw.get("x-kubernetes-validations"):
            out, message = self._values.repair.fix(choices, raw, self._values.node(raw), out, resource=True)
            if message:
                raise GenerationError(message)
        return out

    def _body(self) -> JsonObject:
        """Return the schema of an object without apiVersion, kind, metadata and the rules at its root."""
        raw = self.version.openapi
        body = {key: value for key, value in raw.items() if key != "x-kubernetes-validations"}
        body["properties"] = {k: v for k, v in (raw.get("properties") or {}).items() if k not in META_KEYS}
        body["required"] = [k for k in raw.get("required") or () if k not in META_KEYS]
        if self.version.schema.preserve_unknown or not raw:
            body["x-kubernetes-preserve-unknown-fields"] = True
        return body

    def _vary_sample(self, choices: Choices) -> JsonObject:
        """Return a sample, sometimes with fields of another sample or of a generated object."""
        out: JsonObject = copy_json(pick(choices, self.samples))
        if not chance(choices, 60):
            return out
        other = copy_json(pick(choices, self.samples)) if chance(choices, 50) else self._generate(choices)
        original = copy_json(out)
        for key in [key for key in other if key not in META_KEYS]:
            own_value, other_value = out.get(key), other[key]
            if isinstance(own_value, dict) and isinstance(other_value, dict):
                own_value.update({name: item for name, item in other_value.items() if chance(choices, 40)})
            elif chance(choices, 30):
                out[key] = other_value
        return original if self._admit_sample(out) is None else out

    def _admit_sample(self, sample: JsonObject) -> JsonObject | None:
        if sample.get("apiVersion") != self.version.api_version:
            return None
        try:
            admitted, _ = self.version.admit(sample)
        except RejectedError:
            return None
        return None if self.version.validation_errors(admitted) else admitted


def _leaf_nodes(raw: JsonObject, above: tuple[int, ...], *, root: bool = False) -> Iterator[tuple[int, ...]]:
    inner = [child for name, child in (raw.get("properties") or {}).items() if not (root and name in META_KEYS)]
    inner += [raw[key] for key in ("items", "additionalProperties") if isinstance(raw.get(key), dict)]
    for child in inner:
        yield from _leaf_nodes(child, (*above, id(child)))
    if not inner and above:
        yield above
