from __future__ import annotations

from random import Random
from typing import Any

from polykind.toolkit.crd_versions import CRD, CRDVersion
from polykind.toolkit.proving.choices import RandomChoices
from polykind.toolkit.proving.edits import Edit, Editor, apply_edit
from polykind.toolkit.proving.object_diff import MISSING
from polykind.toolkit.proving.object_generator import ObjectGenerator
from tests.declare.test_conversions import crontab
from tests.toolkit.crds import crd_manifest

TEXT = {"type": "string"}
PROPERTIES: dict[str, Any] = {
    "name": TEXT,
    "size": {"type": "integer", "minimum": 1, "maximum": 3},
    "hosts": {"type": "array", "items": TEXT, "maxItems": 3},
    "labels": {"type": "object", "additionalProperties": TEXT},
    "inner": {"type": "object", "properties": {"deep": TEXT}},
    "mode": {"type": "string", "default": "on"},
}


def version() -> CRDVersion:
    return CRD(crd_manifest({"properties": PROPERTIES, "required": ["name"]})).versions["v1"]


def edits(spec: dict[str, Any], count: int = 60) -> list[Edit]:
    generator = ObjectGenerator(version())
    obj, _ = generator.version.admit(crontab(spec=spec))
    editor = Editor(generator)
    found = [editor.edit(RandomChoices(Random(number)), obj) for number in range(count)]
    return [edit for edit in found if edit is not None]


def test_editor_makes_all_kinds_of_valid_edits() -> None:
    spec = {"name": "a", "size": 2, "hosts": ["x", "y"], "labels": {"k": "v"}, "inner": {"deep": "d"}}
    found = edits(spec)
    done = {(edit.path, edit.before is MISSING, edit.after is MISSING) for edit in found}
    for path in (("spec", "name"), ("spec", "size"), ("spec", "hosts", 0), ("spec", "inner", "deep"), ("spec", "mode")):
        assert (path, False, False) in done, "changed"
    for path in (("spec", "size"), ("spec", "hosts"), ("spec", "hosts", 1), ("spec", "labels", "k"), ("spec", "inner")):
        assert (path, False, True) in done, "removed"
    assert (("spec", "hosts", 2), True, False) in done, "an item added"
    assert any(path[:2] == ("spec", "labels") and new for path, new, _ in done), "a key added"
    assert (("spec", "name"), False, True) not in done, "what is required stays"
    for edit in found:
        assert version().validation_errors(edit.obj) == []


def test_edit_sets_missing_field() -> None:
    done = {(edit.path, edit.before is MISSING) for edit in edits({"name": "a"})}
    assert {(("spec", "size"), True), (("spec", "hosts"), True), (("spec", "inner"), True)} <= done


def test_apply_edit_returns_none_without_effect_or_place() -> None:
    obj, _ = version().admit(crontab(spec={"name": "a"}))
    assert apply_edit(version(), obj, ("spec", "name"), "a") is None
    assert apply_edit(version(), obj, ("spec", "mode"), MISSING) is None, "the default comes again"
    assert apply_edit(version(), obj, ("spec", "inner", "deep"), "x") is None
    assert apply_edit(version(), obj, ("spec", "size"), 9) is None
    edit = apply_edit(version(), obj, ("spec", "name"), "b")
    assert edit is not None
    assert edit.obj["spec"] == {"name": "b", "mode": "on"}
