"""Proofs that conversions lose nothing, as tests: two lines in a file of tests.

    from polykind.toolkit.proving.proofs import proofs

    test_crontabs = proofs("crds/crontabs.yaml", crontabs)

Objects are generated from the schemas of the definition and sent through the conversions as the API server sends them.
Each property is a test of its own, for each pair of versions. `objects` gives such objects as a Hypothesis strategy.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import Definition, Unfit
from polykind.toolkit.declare.library import Library
from polykind.toolkit.files import manifests
from polykind.toolkit.proving import report
from polykind.toolkit.proving.properties import PROPERTIES
from polykind.toolkit.proving.trial import Pair, Trial

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet
    from hypothesis.strategies import SearchStrategy

__all__ = ["PROPERTIES", "Trial", "definition_in", "objects", "proofs"]


def proofs(
    definition: Definition | JsonObject | str | Path,
    conversions: Any,
    *,
    examples: int = 100,
    seed: int = 0,
    without: Iterable[str] = (),
    samples: Sequence[JsonObject] = (),
) -> Callable[[str, Pair], None]:
    """A test for pytest, with one case for each property and ordered pair of versions.

    `definition` is a manifest, or the path of its file: from the working directory, or from the file of the test.
    `conversions` is what --converter may name. The objects are the same in every run; another `seed` gives others.
    `without` leaves out properties by name. `samples` are real objects, used as they are and with pieces exchanged.
    """
    import pytest

    library = Library(getattr(conversions, "__name__", None) or repr(conversions), conversions)
    known = _definition(definition, library, sys._getframe(1).f_code.co_filename)
    trial = Trial(known, library, examples=examples, seed=seed, properties=kept(without), samples=samples)

    @pytest.mark.parametrize(("name", "pair"), _parameters(trial))
    def test(name: str, pair: Pair) -> None:
        said = complaint(trial, name, pair)
        if said:
            pytest.fail(said, pytrace=False)

    return test


def objects(
    definition: Definition | JsonObject | str | Path, version: str, samples: Sequence[JsonObject] = ()
) -> SearchStrategy[JsonObject]:
    """Valid objects of a version as a Hypothesis strategy, for tests of one's own."""
    try:
        from polykind.toolkit.proving import strategies
    except ModuleNotFoundError as error:
        raise ImportError("objects() needs Hypothesis: pip install 'polykind[test]'") from error
    known = _definition(definition, None, sys._getframe(1).f_code.co_filename)
    if version not in known.versions:
        raise ValueError(f"{known.name} has no version {version}: it has {', '.join(known.versions)}")
    return strategies.objects(known.versions[version], samples)


def complaint(trial: Trial, name: str, pair: Pair) -> str:
    """Why a property is not proven for a pair; empty if it is."""
    if name == report.ACKNOWLEDGED:
        for each in trial.pairs:
            trial.verdict(each)
        return "\n".join(report.stale(trial))
    found = trial.finding(name, pair)
    if found is not None:
        return report.failure(trial, pair, found, _again(trial))
    return report.health(trial, pair)


def _again(trial: Trial) -> str:
    """How to run the test at hand alone; the objects are the same in every run."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return f"{shlex.join(['pytest', test]) if test else 'run the test'}, with seed={trial.seed}"


def kept(without: Iterable[str]) -> list[str]:
    """The properties that are not left out. Raises ValueError for one that there is not."""
    left_out = set(without)
    unknown = left_out - PROPERTIES.keys()
    if unknown:
        raise ValueError(f"there is no property {sorted(unknown)[0]}: there are {', '.join(PROPERTIES)}")
    return [name for name in PROPERTIES if name not in left_out]


def definition_in(file: Path, library: Library | None) -> Definition:
    """The definition in a file whose kind a library converts, if there is one. Raises ValueError."""
    try:
        documents = manifests.parse(manifests.load(file)).documents
    except manifests.Unreadable as error:
        raise ValueError(f"{file}: {error}") from None
    values = [document.value for document in documents if isinstance(document.value, dict)]
    found = [value for value in values if value.get("kind") == "CustomResourceDefinition"]
    try:
        definitions = [Definition(manifest) for manifest in found]
    except Unfit as error:
        raise ValueError(f"{file}: {error}") from None
    if not definitions:
        raise ValueError(f"{file}: there is no CustomResourceDefinition in it")
    fitting = [one for one in definitions if library is None or library.handles(one.group, one.kind.partition(".")[0])]
    if len(fitting) != 1:
        names = ", ".join(one.kind for one in fitting or definitions)
        which = f"of which {library.spec} converts {'several' if fitting else 'none'}" if library else "not one"
        raise ValueError(f"{file}: it defines {names}, {which}")
    return fitting[0]


def _definition(given: Definition | JsonObject | str | Path, library: Library | None, caller: str) -> Definition:
    if isinstance(given, (str, Path)):
        return definition_in(_file(Path(given), caller), library)
    return given if isinstance(given, Definition) else Definition(given)


def _file(path: Path, caller: str) -> Path:
    beside = Path(caller).parent / path
    return beside if not path.exists() and beside.exists() else path


def _parameters(trial: Trial) -> list[ParameterSet]:
    import pytest

    out = [pytest.param(name, pair, id=f"{name}-{pair[0]}-{pair[1]}") for name, pair in trial.cases()]
    declared = trial.converter.declared
    if declared is not None and any(step.loses for step in declared.steps.values()):
        out.append(pytest.param(report.ACKNOWLEDGED, ("", ""), id=report.ACKNOWLEDGED))
    return out
