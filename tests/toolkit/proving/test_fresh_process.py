from __future__ import annotations

import datetime
import time
from typing import Any

import pytest

from polykind.declare.library import Library
from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.fresh_process import FreshConverter
from polykind.toolkit.proving.proof_run import ProofRun
from polykind.toolkit.proving.round_trip import ConversionFailedError, ConverterUnavailableError
from tests.toolkit.crds import crd_manifest
from tests.toolkit.proving import converters as c

TWO = CRD(crd_manifest(*[{"properties": {"a": {"type": "string"}}}] * 2))


def by_year(obj: Any, to: str) -> Any:
    years = {"now": datetime.datetime.now().year, "today": datetime.date.today().year, "time": time.gmtime().tm_year}
    obj.setdefault("metadata", {}).setdefault("annotations", {})["example.com/years"] = str(years)
    return obj


def unchanged(obj: Any, to: str) -> Any:
    print("this text is not part of a reply")
    return {**obj, "apiVersion": to, "metadata": obj.get("metadata") or {}}


def hangs(obj: Any, to: str) -> Any:
    while (obj.get("spec") or {}).get("a"):
        pass
    return unchanged(obj, to)


good = c.conversions()
raising = c.conversions(c.after(c.down, c.raises))


def fresh(name: str, crd: CRD = TWO) -> FreshConverter:
    return FreshConverter(f"{__name__}:{name}", crd)


def test_converter_runs_in_another_process_with_another_clock() -> None:
    converter = fresh("by_year")
    obj = {"apiVersion": TWO.versions["v2"].api_version, "kind": "CronTab", "metadata": {"name": "a"}}
    converted = converter.convert_raw(obj, TWO.versions["v1"])
    year = datetime.date.today().year + 7
    assert converted["metadata"]["annotations"]["example.com/years"] in (
        str({"now": y, "today": y, "time": y}) for y in (year, year + 1)
    )
    converter.close()


def test_exceptions_of_the_converter_are_passed_on() -> None:
    converter = fresh("raising", c.CRONTAB_CRD)
    obj = {"apiVersion": "stable.example.com/v2", "kind": "CronTab", "metadata": {"name": "a"}, "spec": {"replicas": 9}}
    with pytest.raises(ConversionFailedError, match="ValueError: too many") as error:
        converter.convert_raw(obj, c.CRONTAB_CRD.versions["v1"])
    assert error.value.location.endswith(", in raises")
    converter.close()


def test_converter_that_cannot_be_loaded_is_unavailable() -> None:
    with pytest.raises(ConverterUnavailableError, match=r"a fresh process cannot load .*:nothing"):
        fresh("nothing")


def test_dependence_on_the_clock_is_found_and_simplified() -> None:
    run = ProofRun(TWO, Library("clock", by_year), examples=5, fresh=lambda: fresh("by_year"))
    finding = run.finding("deterministic", ("v2", "v1"))
    assert finding is not None
    assert finding.message.startswith("a fresh process, with another clock")
    assert finding.obj.get("spec") in (None, {})


def test_correct_converter_has_no_finding() -> None:
    run = ProofRun(TWO, Library("unchanged", unchanged), examples=20, fresh=lambda: fresh("unchanged"))
    assert [name for name, pair in run.cases() if run.finding(name, pair)] == []


def test_finding_that_depends_on_earlier_calls_says_so() -> None:
    calls = []

    def forgetful(obj: Any, to: str) -> Any:
        calls.append(to)
        out = unchanged(obj, to)
        if len(calls) > 100 and "spec" in out:
            out["spec"] = {}
        return out

    run = ProofRun(TWO, Library("forgetful", forgetful), examples=60, fresh=lambda: fresh("unchanged"))
    finding = run.finding("there-and-back", ("v2", "v1"))
    assert finding is not None
    assert finding.message.endswith(
        "This does not fail in a fresh process, so the converter depends on earlier calls, the time or the process"
    )


def test_converter_that_never_returns_is_reported() -> None:
    from polykind.toolkit.proving.round_trip import TestedConverter

    run = ProofRun(TWO, TestedConverter(Library("hangs", hangs), TWO, seconds=0.05), examples=20)
    finding = run.finding("never-fails", ("v2", "v1"))
    assert finding is not None
    assert "the converter did not return within 0.05 seconds" in finding.message
