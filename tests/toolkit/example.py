"""The toolkit's example project, for tests."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "conversions"


def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the example's module `conversions` importable in this test only."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.setitem(sys.modules, "conversions", ModuleType("conversions"))
    del sys.modules["conversions"]
