"""How two readings of one object differ, field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from polykind.contract import JsonObject
from polykind.convert.stash import ANNOTATION

_THE_SERVERS = frozenset({"resourceVersion", "generation", "managedFields", "creationTimestamp", "uid", "selfLink"})
_MISSING: Any = object()


class Difference(NamedTuple):
    """One field, as it was and as it is."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path} {self.text}"


def differences(before: JsonObject, after: JsonObject) -> list[Difference]:
    """What an object's author would miss or wonder at; what only the server and the conversions note is left out."""
    return list(_compared("", _shown(before), _shown(after)))


def _shown(obj: JsonObject) -> JsonObject:
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in _THE_SERVERS}
    kept = {k: v for k, v in (metadata.get("annotations") or {}).items() if not k.endswith(f"/{ANNOTATION}")}
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}


def _compared(path: str, before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from _compared(f"{path}.{key}" if path else key, before.get(key, _MISSING), after.get(key, _MISSING))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _compared(f"{path}[{number}]", old, new)
    elif before is _MISSING:
        yield Difference(path, f"has come, {_short(after)}")
    elif after is _MISSING:
        yield Difference(path, f"has gone, it was {_short(before)}")
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield Difference(path, f"was {_short(before)} and is {_short(after)}")


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
