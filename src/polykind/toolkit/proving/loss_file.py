"""Acknowledged losses of a converter that cannot declare them itself, such as a webhook, in a YAML file:

    - pair: v2:v1
      path: spec.timeZone
      why: v1 knows only UTC

Each entry names the conversion that loses the field, the field at its source version, and the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polykind.codec import yaml_codec
from polykind.contract import JsonObject
from polykind.declare.conversions import ConversionFunction
from polykind.toolkit.crd_versions import CRD


class LossFileEntry:
    """Stands for a conversion function where reports name the function that acknowledges a loss."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self, obj: JsonObject) -> Any:
        raise NotImplementedError("a file of losses converts no objects")

    def __repr__(self) -> str:
        return str(self._file)


def read_losses(file: Path, crd: CRD) -> list[ConversionFunction]:
    """Return the acknowledged losses in a file, for each pair of versions. Raise ValueError if the file is invalid."""
    try:
        entries = yaml_codec.decode(file.read_bytes())
    except (OSError, yaml_codec.MalformedYAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"--losses {file}: {reason}") from None
    if not isinstance(entries, list):
        raise ValueError(f"--losses {file}: must be a list of entries with pair, path and why")
    losses: dict[tuple[str, str], dict[str, str]] = {}
    for number, entry in enumerate(entries, 1):
        problem = _problem(entry, crd)
        if problem:
            raise ValueError(f"--losses {file}: entry {number}: {problem}")
        origin, _, goal = entry["pair"].partition(":")
        losses.setdefault((origin, goal), {})[entry["path"]] = entry["why"]
    function = LossFileEntry(file)
    return [ConversionFunction(origin, goal, function, paths) for (origin, goal), paths in losses.items()]


def _problem(entry: Any, crd: CRD) -> str:
    if not isinstance(entry, dict) or set(entry) != {"pair", "path", "why"}:
        return "must have exactly the fields pair, path and why"
    if not all(isinstance(value, str) and value.strip() for value in entry.values()):
        return "pair, path and why must be texts that are not empty"
    origin, _, goal = entry["pair"].partition(":")
    if origin == goal or origin not in crd.versions or goal not in crd.versions:
        return f"pair {entry['pair']} must be two versions of {crd.name}, such as {':'.join(list(crd.versions)[-2:])}"
    return ""
