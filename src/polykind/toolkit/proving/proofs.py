"""Generated pytest tests for conversions, in two lines:

    from polykind.convert.proof import proofs

    test_crontabs = proofs("crds/crontabs.yaml", crontabs)

Objects are generated from the CRD's schemas and converted as the API server converts them. Each property is a test of
its own for each pair of versions. `objects` returns such objects as a Hypothesis strategy.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polykind.contract import JsonObject
from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD, read_crd
from polykind.toolkit.proving import proof_report
from polykind.toolkit.proving.progress import VersionPair
from polykind.toolkit.proving.proof_run import ProofRun
from polykind.toolkit.proving.properties import PROPERTIES

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet
    from hypothesis.strategies import SearchStrategy

__all__ = ["PROPERTIES", "ProofRun", "objects", "proofs"]


def proofs(
    definition: CRD | JsonObject | str | Path,
    conversions: Any,
    *,
    examples: int = 100,
    seed: int = 0,
    without: Iterable[str] = (),
    samples: Sequence[JsonObject] = (),
) -> Callable[[str, VersionPair], None]:
    """Return a pytest test with one case for each property and ordered pair of versions.

    `definition` is a CRD, its manifest, or the path of its file, relative to the working directory or the test file.
    `conversions` is any converter. The objects are the same in every run; another `seed` gives other objects.
    `without` excludes properties by name. `samples` are real objects, used unchanged and with exchanged fields.
    """
    import pytest

    library = Library(getattr(conversions, "__name__", None) or repr(conversions), conversions)
    crd = _load_crd(definition, library, sys._getframe(1).f_code.co_filename)
    run = ProofRun(crd, library, examples=examples, seed=seed, properties=select_properties(without), samples=samples)

    @pytest.mark.parametrize(("name", "pair"), _parameters(run))
    def test(name: str, pair: VersionPair) -> None:
        message = failure_report(run, name, pair)
        if message:
            pytest.fail(message, pytrace=False)

    return test


def objects(
    definition: CRD | JsonObject | str | Path, version: str, samples: Sequence[JsonObject] = ()
) -> SearchStrategy[JsonObject]:
    """Return a Hypothesis strategy of valid objects of a version."""
    try:
        from polykind.toolkit.proving import hypothesis_strategy
    except ModuleNotFoundError as error:
        raise ImportError("objects() needs Hypothesis: pip install 'polykind[test]'") from error
    crd = _load_crd(definition, None, sys._getframe(1).f_code.co_filename)
    if version not in crd.versions:
        raise ValueError(f"{crd.name} has no version {version}: it has {', '.join(crd.versions)}")
    return hypothesis_strategy.objects(crd.versions[version], samples)


def failure_report(run: ProofRun, name: str, pair: VersionPair) -> str:
    """Return a report of why a property fails for a pair, or an empty string if the property holds."""
    if name == proof_report.ACKNOWLEDGED:
        for each in run.pairs:
            run.result(each)
        return "\n".join(remark.message for remark in proof_report.stale_acknowledgements(run))
    finding = run.finding(name, pair)
    if finding is not None:
        return proof_report.failure(run, pair, finding, _rerun_command(run))
    return proof_report.too_few_objects(run, pair)


def _rerun_command(run: ProofRun) -> str:
    """Return a hint how to run the current pytest test again, with the seed of the run."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return f"{shlex.join(['pytest', test]) if test else 'run the test'}, with seed={run.seed}"


def select_properties(without: Iterable[str]) -> list[str]:
    """Return the properties that are not excluded. Raise ValueError if an excluded name is unknown."""
    left_out = set(without)
    unknown = left_out - PROPERTIES.keys()
    if unknown:
        raise ValueError(f"there is no property {sorted(unknown)[0]}: the properties are {', '.join(PROPERTIES)}")
    return [name for name in PROPERTIES if name not in left_out]


def _load_crd(source: CRD | JsonObject | str | Path, library: Library | None, caller: str) -> CRD:
    if isinstance(source, (str, Path)):
        return read_crd(_resolve_file(Path(source), caller), library)
    return source if isinstance(source, CRD) else CRD(source)


def _resolve_file(path: Path, caller: str) -> Path:
    beside = Path(caller).parent / path
    return beside if not path.exists() and beside.exists() else path


def _parameters(run: ProofRun) -> list[ParameterSet]:
    import pytest

    out = [pytest.param(name, pair, id=f"{name}-{pair[0]}-{pair[1]}") for name, pair in run.cases()]
    declared = run.converter.declared
    if declared is not None and any(step.loses for step in declared.steps.values()):
        out.append(pytest.param(proof_report.ACKNOWLEDGED, ("", ""), id=proof_report.ACKNOWLEDGED))
    return out
