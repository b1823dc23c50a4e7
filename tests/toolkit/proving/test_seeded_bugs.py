"""A sample of the seeded bugs. `make prove-bugs` runs all of them with the default budget and prints a table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolkit.proving.bugs.correct import CORRECT, FAMILIES
from tests.toolkit.proving.bugs.family import Family, SeededBug
from tests.toolkit.proving.bugs.measure import first_finding

ALL = [(family, bug) for family in FAMILIES.values() for bug in family.bugs]
SAMPLE = ALL[::3]


def test_there_are_enough_bugs() -> None:
    assert len(FAMILIES) >= 10
    assert len(ALL) >= 60
    assert len({bug.name for _, bug in ALL}) == len(ALL)
    assert sum(bug.level == "hard" for _, bug in ALL) >= 18
    assert len(CORRECT) >= 20


@pytest.mark.parametrize(("family", "bug"), SAMPLE, ids=[bug.name for _, bug in SAMPLE])
def test_bug_is_found(family: Family, bug: SeededBug) -> None:
    assert first_finding(bug.name, family.manifest, bug.converter, seconds=10).finding


@pytest.mark.parametrize(("name", "manifest", "converter"), CORRECT, ids=[name for name, _, _ in CORRECT])
def test_correct_converter_has_no_finding(name: str, manifest: Any, converter: Any) -> None:
    assert first_finding(name, manifest, converter, seconds=0.4).finding == ""
