"""How two readings of one object differ, as its author would say it."""

from __future__ import annotations

import json
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.declare.stash import ANNOTATION
from polykind.toolkit.proving.differences import Difference, differences, spelled

_THE_SERVERS = frozenset({"resourceVersion", "generation", "managedFields", "creationTimestamp", "uid", "selfLink"})


def noticed(before: JsonObject, after: JsonObject) -> list[Difference]:
    """What an object's author would miss or wonder at; what only the server and the conversions note is left out."""
    return list(differences(_shown(before), _shown(after)))


def _shown(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _THE_SERVERS}
    kept = {k: v for k, v in (metadata.get("annotations") or {}).items() if not k.endswith(f"/{ANNOTATION}")}
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def said(found: Difference) -> str:
    """A difference in a few words."""
    path = spelled(found.path)
    if found.kind == "dropped":
        return f"{path} has gone, it was {_short(found.before)}"
    if found.kind == "invented":
        return f"{path} has come, {_short(found.after)}"
    return f"{path} was {_short(found.before)} and is {_short(found.after)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
