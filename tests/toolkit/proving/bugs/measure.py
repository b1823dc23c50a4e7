"""How fast a proof run finds a seeded bug."""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.fresh_process import FreshConverter
from polykind.toolkit.proving.proof_run import ProofRun
from tests.toolkit.proving.bugs.correct import BUGS
from tests.toolkit.proving.bugs.family import Object


class Measurement(NamedTuple):
    """The first finding as text, or "", with the CPU seconds and the number of objects until then."""

    finding: str
    seconds: float
    tested: int


def first_finding(name: str, manifest: Object, converter: object, seconds: float, seed: int = 0) -> Measurement:
    """Test a converter with the default settings until its first finding, for at most this CPU time."""
    crd = CRD(manifest)
    spec = f"tests.toolkit.proving.bugs.correct:BUGS.{name}"
    fresh = partial(FreshConverter, spec, crd) if hasattr(BUGS, name) else None
    started = time.process_time()
    run = ProofRun(crd, Library(name, converter), seconds=seconds, seed=seed, fail_fast=True, fresh=fresh)
    tested = 0
    for pair in run.pairs:
        result = run.result(pair)
        tested += result.tested
        for property_name, (_, finding) in result.failed.items():
            text = f"{property_name} {pair[0]}:{pair[1]} {finding.message}"
            return Measurement(text, time.process_time() - started, tested)
    return Measurement("", time.process_time() - started, tested)
