"""Objects that have nothing to convert."""

from __future__ import annotations

from polykind.contract import JsonObject


def is_empty(obj: JsonObject) -> bool:
    """Whether there is nothing to convert: an apiVersion, a kind and no more. No converter is asked for that."""
    return len(obj) == 2 and "apiVersion" in obj and "kind" in obj
