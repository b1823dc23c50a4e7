"""Sources of objects for apply, and errors of invalid sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polykind.testing import Refused
from polykind.testing.sources import read_sources, sources_key

ONE = "apiVersion: v1\nkind: One\n"
TWO = "apiVersion: v1\nkind: Two\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "b.yaml").write_text(f"# first\n{ONE}---\n---\n{TWO}")
    (tmp_path / "crds" / "a.json").write_text('{"apiVersion": "v1", "kind": "Zero"}')
    (tmp_path / "crds" / "notes.txt").write_text("none")
    return tmp_path


def kinds(root: Path, *sources: Any) -> list[str]:
    return [obj["kind"] for obj in read_sources(sources, root)]


def test_sources_can_be_files_folders_patterns_yaml_and_objects(root: Path) -> None:
    assert kinds(root, "crds") == ["Zero", "One", "Two"]
    assert kinds(root, "crds/b.yaml") == ["One", "Two"]
    assert kinds(root, root / "crds" / "a.json") == ["Zero"]
    assert kinds(root, "crds/*.json", str(root / "crds" / "*.yaml")) == ["Zero", "One", "Two"]
    assert kinds(root, ONE, {"apiVersion": "v1", "kind": "Three"}) == ["One", "Three"]


def test_lists_are_flattened(root: Path) -> None:
    items = [{"apiVersion": "v1", "kind": kind} for kind in ("One", "Two")]
    assert kinds(root, {"apiVersion": "v1", "kind": "List", "items": items}) == ["One", "Two"]


def test_crds_and_namespaces_come_first(root: Path) -> None:
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    assert kinds(root, ONE, crd) == ["CustomResourceDefinition", "One"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "nowhere is not a file or folder (relative to {root})"),
        ("crds/*.nothing", "crds/*.nothing is not a file or folder (relative to {root})"),
        ("empty", "empty has no .yaml, .yml or .json files (relative to {root})"),
        ("kind: One\n", "the YAML, line 1 is not a Kubernetes object: it needs apiVersion and kind"),
        ({"kind": "One"}, "the object is not a Kubernetes object: it needs apiVersion and kind"),
        (7, "7 cannot be applied: it is not a path, YAML or an object"),
    ],
)
def test_invalid_sources_are_rejected(root: Path, source: Any, message: str) -> None:
    (root / "empty").mkdir()
    with pytest.raises(Refused) as refused:
        read_sources([source], root)
    assert str(refused.value) == message.format(root=root)


def test_parse_error_has_its_line(root: Path) -> None:
    (root / "bad.yaml").write_text(f"{ONE}---\nkind: [\n")
    with pytest.raises(Refused, match=rf"^{root}/bad\.yaml, line \d+: "):
        read_sources(["bad.yaml"], root)


def test_sources_key_changes_with_the_files(root: Path) -> None:
    before = sources_key(["crds", ONE], root)
    assert sources_key(["crds", ONE], root) == before
    (root / "crds" / "b.yaml").write_text(ONE)
    assert sources_key(["crds", ONE], root) != before
