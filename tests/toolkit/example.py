"""The worked example of the toolkit, for tests."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "conversions"


def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the example's `conversions` found by that name, in this test alone: others have modules of that name too."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setitem(sys.modules, "conversions", ModuleType("conversions"))
    del sys.modules["conversions"]
