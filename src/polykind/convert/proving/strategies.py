"""Generated objects as Hypothesis strategies, and runs of Hypothesis that leave nothing behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from polykind.contract import JsonObject
from polykind.convert.definition import DefinedVersion
from polykind.convert.proving.choices import Choices
from polykind.convert.proving.generate import Generator

T = TypeVar("T")
_number = lru_cache(maxsize=4096)(lambda most: st.integers(0, most))


class DrawnChoices:
    """Choices drawn by Hypothesis, which shrinks them."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def upto(self, most: int) -> int:
        return self._draw(_number(most)) if most else 0

    def part(self, make: Callable[[], T]) -> T:
        return self._draw(st.builds(make))  # type: ignore[no-any-return]


def drawn(make: Callable[[Choices], T | None]) -> st.SearchStrategy[T]:
    """What a function makes by choices; None stands for nothing good."""

    @st.composite
    def strategy(draw: st.DrawFn) -> T:
        out = make(DrawnChoices(draw))
        return reject() if out is None else out

    return strategy()


def objects(version: DefinedVersion, samples: Sequence[JsonObject] = ()) -> st.SearchStrategy[JsonObject]:
    """Valid objects of a version, as a write takes them in. Some are made of `samples`, which are real ones."""
    return drawn(Generator(version, samples).object)


class Drawing(Protocol):
    """How the body of a run draws: one thing after another, with any work in between."""

    def __call__(self, strategy: st.SearchStrategy[T]) -> T: ...


def run(body: Callable[[Drawing], None], examples: int, seeded: int, *, shrink: bool) -> None:
    """Run a function that draws what it needs. What it raises is shrunk, or else raised as it is."""
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]

    @seed(seeded)
    @settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def test(data: st.DataObject) -> None:
        body(data.draw)

    with _no_traces():
        try:
            test()
        except Unsatisfiable:
            return


@contextmanager
def _no_traces() -> Iterator[None]:
    """Hypothesis writes what it knows into the directory it is run in: not into the user's."""
    before = configuration.storage_directory(intent_to_write=False).home_directory
    with tempfile.TemporaryDirectory(prefix="polykind-") as away:
        configuration.set_hypothesis_home_dir(away)
        try:
            yield
        finally:
            configuration.set_hypothesis_home_dir(before)
