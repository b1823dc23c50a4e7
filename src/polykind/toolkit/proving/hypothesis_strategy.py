"""A Hypothesis strategy that generates objects of a CRD version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.proving.object_generator import ObjectGenerator

T = TypeVar("T")
_number = lru_cache(maxsize=4096)(lambda most: st.integers(0, most))


class HypothesisChoices:
    """A source of choices that Hypothesis draws, so that Hypothesis can shrink a failing object."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def up_to(self, most: int) -> int:
        return self._draw(_number(most)) if most else 0

    def part(self, make: Callable[[], T]) -> T:
        return self._draw(st.builds(make))  # type: ignore[no-any-return]


def objects(version: CRDVersion, samples: Sequence[JsonObject] = ()) -> st.SearchStrategy[JsonObject]:
    """Return a strategy that generates valid objects as the server stores them.

    Some of them are variations of `samples`, which are real objects.
    """
    generator = ObjectGenerator(version, samples)

    @st.composite
    def strategy(draw: st.DrawFn) -> JsonObject:
        out = generator.object(HypothesisChoices(draw))
        return reject() if out is None else out

    return strategy()
