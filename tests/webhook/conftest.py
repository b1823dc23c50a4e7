"""The fixtures of the conversion tests, whose webhook converter exercises the webhook client."""

from __future__ import annotations

from tests.conversion.conftest import hook, make

__all__ = ["hook", "make"]
