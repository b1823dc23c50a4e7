"""How two readings of one object differ, as its author would say it."""

from __future__ import annotations

import json
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.declare.stash import ANNOTATION
from polykind.toolkit.proving.object_diff import Difference, differences, format_path

_SERVER_FIELDS = frozenset({"resourceVersion", "generation", "managedFields", "creationTimestamp", "uid", "selfLink"})


def visible_differences(before: JsonObject, after: JsonObject) -> list[Difference]:
    """What an object's author would miss or wonder at; what only the server and the conversions note is left out."""
    return list(differences(_without_server_fields(before), _without_server_fields(after)))


def _without_server_fields(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _SERVER_FIELDS}
    visible = {k: v for k, v in (metadata.get("annotations") or {}).items() if not k.endswith(f"/{ANNOTATION}")}
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, **({"annotations": visible} if visible else {})}}


def describe_difference(difference: Difference) -> str:
    """A difference in a few words."""
    path = format_path(difference.path)
    if difference.kind == "dropped":
        return f"{path} has gone, it was {_shorten(difference.before)}"
    if difference.kind == "invented":
        return f"{path} has come, {_shorten(difference.after)}"
    return f"{path} was {_shorten(difference.before)} and is {_shorten(difference.after)}"


def _shorten(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
