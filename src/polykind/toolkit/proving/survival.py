"""The property that edits survive: what a client of one version changes is neither undone nor does it change more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from polykind.contract import JsonObject, copy_json
from polykind.toolkit.declare.stash import ANNOTATION
from polykind.toolkit.proving.case import Case, Finding
from polykind.toolkit.proving.differences import Difference, Path, differences
from polykind.toolkit.proving.edits import Edit
from polykind.toolkit.proving.losses import kept
from polykind.toolkit.proving.passage import Passage, Stopped


def edit_survives(case: Case) -> Finding | None:
    """What a client edits at the other version is there when it reads again, and nothing else has moved."""
    for edit in case.edits:
        with suppress(Stopped):
            found = _survived(case, edit)
            if found is not None:
                return found
    return None


def _survived(case: Case, edit: Edit) -> Finding | None:
    passage = case.passage
    goal, origin = passage.goal.name, passage.origin.name
    lost = {d.path for d in _lost_anyway(passage, edit)}
    try:
        stored = passage.returned(edit.obj)
        again = passage.converter.convert(stored, passage.goal)
    except Stopped as stop:
        said = f"what was written at {goal} cannot be converted any more: {stop}"
        return case.found("edit-survives", said, where=stop.where, edit=edit)
    left = [
        d
        for d in kept(edit.obj, again)
        if d.path not in lost and not _note(passage, d.path) and not case.losses.forgives(passage, d, goal)
    ]
    if left:
        said = f"what was written at {goal} is not what is read at {goal} afterwards"
        return case.found("edit-survives", said, left, edit=edit)
    moved = [d for d in _moved(passage, edit, stored) if not case.losses.forgives(passage, d, origin)]
    if moved:
        said = f"the edit at {goal} has changed fields of {origin} that it is not about"
        return case.found("edit-survives", said, moved, edit=edit)
    return None


def _lost_anyway(passage: Passage, edit: Edit) -> list[Difference]:
    """What the edited object would lose if it were new, without anything kept in it: that is no fault of the edit.

    Raises Stopped if it could not be converted at all.
    """
    fresh = _bare(passage, edit.obj)
    return list(kept(fresh, passage.converter.convert(passage.returned(fresh), passage.goal)))


def _moved(passage: Passage, edit: Edit, stored: JsonObject) -> Iterator[Difference]:
    """What an edit moved in the object's own version, other than what it would move in an object without a stash."""
    if _beside(edit, passage):
        return
    before, after = (passage.returned(_bare(passage, obj)) for obj in (passage.written, edit.obj))
    meant = [_coarse(d.path) for d in differences(before, after)]
    for found in kept(passage.back, stored):
        if _note(passage, found.path):
            continue
        coarse = _coarse(found.path)
        if not any(coarse[: len(path)] == path[: len(coarse)] for path in meant):
            yield found


def _note(passage: Passage, path: Path) -> bool:
    """Whether a path is that of an annotation of the converter's own."""
    own = (passage.obj.get("metadata") or {}).get("annotations") or {}
    return path[:2] == ("metadata", "annotations") and (len(path) == 2 or path[2] not in own)


def _bare(passage: Passage, obj: JsonObject) -> JsonObject:
    """An object without the annotations that the converter put there."""
    own = (passage.obj.get("metadata") or {}).get("annotations") or {}
    out: JsonObject = copy_json(obj)
    annotations = {k: v for k, v in (out["metadata"].get("annotations") or {}).items() if k in own}
    out["metadata"].pop("annotations", None)
    if annotations:
        out["metadata"]["annotations"] = annotations
    return out


def _beside(edit: Edit, passage: Passage) -> bool:
    """Whether something is kept beside the edited field: then the edit is meant to beat it."""
    text = (edit.obj["metadata"].get("annotations") or {}).get(f"{passage.goal.definition.group}/{ANNOTATION}", "{}")
    try:
        entries = msgspec.json.decode(text)
        watched = [path.split(".") for entry in entries.values() for path in entry["beside"]]
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return False
    touched = [str(step) for step in edit.path]
    return any(touched[: len(path)] == path[: len(touched)] for path in watched)


def _coarse(path: Path) -> Path:
    """A path up to its first list: what stands where in a list may move."""
    return path[: next((at for at, step in enumerate(path) if isinstance(step, int)), len(path))]
