"""tools/write_types.py: tables from the Go source of Kubernetes, one version after the other."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

TABLE = """\
# Types of toys/v1. CONTRIBUTING.md describes the format.

models io.k8s.api.toys

type Colour = string: Blue

struct Hand ours | Written by hand.
    any  0  string

struct Toy kind | A toy.
    metadata  1  meta.ObjectMeta         | The metadata.
    parts     3  []string         keepempty | The parts.
    colour    4  *Colour
    old       5  bool
"""
BASE = """
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Colour is upstream's prose.
// +enum
type Colour string

const (
	ColourBlue Colour = "Blue"
	ColourRed  Colour = "Red"
)

// Toy is upstream's prose.
type Toy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Upstream's prose.
	// +listType=map
	// +listMapKey=name
	Parts []string `json:"parts" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,3,rep,name=parts"`
	// +default=ref(ColourRed)
	Colour *Colour `json:"colour,omitempty" protobuf:"bytes,4,opt,name=colour"`
	OLD    bool    `json:"old" protobuf:"varint,5,opt,name=old"`
}
"""
NEWER = BASE.replace('	OLD    bool    `json:"old"', '	OLD    int32   `json:"old"').replace(
    '	// +default=ref(ColourRed)\n	Colour *Colour `json:"colour,omitempty" protobuf:"bytes,4,opt,name=colour"`',
    '	Sizes map[Colour]Size `json:"sizes,omitempty" protobuf:"bytes,6,rep,name=sizes"`',
).replace('"Blue"', '"Green"') + (
    "\n// +structType=atomic\ntype Size struct {\n"
    '	Total resource.Quantity `json:"total" protobuf:"bytes,1,opt,name=total"`\n}\n'
)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_types", ROOT / "tools/write_types.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "write_types", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "APIS", tmp_path / "apis")
    (tmp_path / "apis/toys").mkdir(parents=True)
    (tmp_path / "apis/toys/v1.types").write_text(TABLE)
    return module


def merged(tool: ModuleType, tmp_path: Path, source: str, minor: int) -> str:
    """Merge a version of the source, write the tables, and return the text of the only one."""
    directory = tmp_path / "checkout/staging/src/k8s.io/api/toys/v1"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "types.go").write_text(source)
    merge = tool.Merge(tmp_path / "checkout", (1, minor), (1, 36))
    merge.run()
    assert merge.notes == []
    text: str = tool.write_table(merge.tables["toys/v1"])
    (tmp_path / "apis/toys/v1.types").write_text(text)
    return text


CORRECTED = """\
# Types of toys/v1. CONTRIBUTING.md describes the format.

models io.k8s.api.toys

type Colour = string: Blue, Red

struct Hand ours | Written by hand.
    any  0  string

struct Toy kind | A toy.
    metadata  1  meta.ObjectMeta                                   | The metadata.
    parts     3  []string         always keys=name merge=name keepempty | The parts.
    colour    4  *Colour          default="Red"
    old       5  bool             always go=OLD
"""


def test_the_emulated_version_corrects_lines_and_keeps_descriptions(tool: ModuleType, tmp_path: Path) -> None:
    assert merged(tool, tmp_path, BASE, 36).split() == CORRECTED.split()


def test_a_newer_version_adds_lines_with_bounds(tool: ModuleType, tmp_path: Path) -> None:
    merged(tool, tmp_path, BASE, 36)
    text = merged(tool, tmp_path, NEWER, 37)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "type Colour = string: Blue until=1.36, Green since=1.37, Red" in lines
    start = lines.index("struct Size atomic since=1.37")
    assert lines[start + 1] == "total 1 Quantity always"
    start = lines.index("struct Toy kind | A toy.")
    assert lines[start + 3 :] == [
        'colour 4 *Colour default="Red" until=1.36',
        "sizes 6 map[Colour]Size since=1.37",
        "old 5 bool always go=OLD until=1.36",
        "old 5 int32 always go=OLD since=1.37",
    ]
    assert merged(tool, tmp_path, NEWER, 37) == text
    assert merged(tool, tmp_path, BASE, 36) == text


def test_the_tables_have_the_form_that_the_program_writes(tool: ModuleType) -> None:
    paths = list((ROOT / "src/polykind/apis").glob("*/*.types"))
    assert len(paths) > 30
    for path in paths:
        text = path.read_text()
        assert tool.write_table(tool.read_table(text)) == text, f"run tools/write_types.py: {path}"
