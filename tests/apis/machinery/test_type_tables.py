"""Tables of types: their format, versions of Kubernetes, and the tables of all packages."""

from __future__ import annotations

from pathlib import Path

import pytest

import polykind.apis
from polykind.apis.machinery import decode
from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.type_tables import TypeTable, type_table
from polykind.apis.machinery.value_types import STRINGS

TABLE = """
# A comment.

models com.example.toys

type Colour = string: Blue, Green since=1.37, Red until=1.36, "", light blue
type Parts = []Part

struct Toy kind | A toy.
    metadata  1  meta.ObjectMeta         | The metadata.
    ...       2  Part
    parts     3  Parts             always keys=name merge=name | The parts. a | b
    colour    4  *Colour           required
    sizes     5  map[Colour]int32  until=1.36
    size      5  int32             since=1.37
    toy       6  *Toy

struct Part atomic union=name,weight:unit
    name    1  string
    weight  2  *Quantity
    unit    3  string    default="kg" go=UNIT | The unit.
"""


def table(minor: int = 36) -> TypeTable:
    return TypeTable("v1", lambda: TABLE, emulated=(1, minor))


def test_a_struct_has_the_attributes_of_its_lines() -> None:
    toy = table().struct("Toy")
    assert (toy.go, toy.kind, toy.version, toy.model) == ("v1.Toy", "Toy", "v1", "com.example.toys.v1.Toy")
    fields = {field.name: field for field in toy.fields}
    assert list(fields) == [
        *("kind", "apiVersion", "metadata", "name", "weight", "unit", "parts", "colour", "sizes", "toy")
    ]
    assert [field.number for field in toy.numbered] == [1, 2, 3, 4, 5, 6]
    assert fields["parts"].doc == "The parts. a | b"
    assert (fields["parts"].keys, fields["parts"].list_type, fields["parts"].merge_key) == (("name",), "map", "name")
    assert fields["colour"].pointer
    assert fields["colour"].required
    assert fields["colour"].doc is None
    assert (fields["unit"].default, fields["unit"].go, fields["name"].go) == ("kg", "UNIT", "Name")
    assert toy.promoted["unit"].path == "Part.unit"
    part = table().struct("Part")
    assert part.atomic
    assert (part.unions[0].members, part.unions[0].discriminator) == (("name", "weight"), "unit")


def test_types_are_shared_and_named_as_in_go() -> None:
    declared = table()
    assert declared.type("[]string") is STRINGS
    assert declared.type("[]Part") is declared.type("[]Part")
    assert declared.type("meta.ObjectMeta") is type_table("meta", "v1").struct("ObjectMeta")
    assert declared.type("Parts").go == "v1.Parts"
    assert declared.type("map[Colour]int32").go == "map[v1.Colour]int32"
    assert declared.values("Colour") == ("Blue", "Red", "", "light blue")


def test_each_version_of_kubernetes_has_its_fields_and_values() -> None:
    newer = table(37)
    assert [field.name for field in newer.struct("Toy").fields if field.number == 5] == ["size"]
    assert newer.values("Colour") == ("Blue", "Green", "", "light blue")
    assert decode({"size": 1}, newer.struct("Toy"), report=True) == ({"metadata": {}, "parts": None, "size": 1}, [])
    assert decode({"size": 1}, table().struct("Toy"), report=True)[1] == ["size"]


def test_an_unknown_type_is_an_error_at_the_first_use() -> None:
    broken = TypeTable("v1", lambda: "struct A\n    b  1  Missing\n")
    with pytest.raises(KeyError, match="Missing"):
        assert broken.struct("A").fields


TABLES = sorted(f"{path.parent.name}/{path.stem}" for path in Path(polykind.apis.__file__).parent.glob("*/*.types"))


@pytest.mark.parametrize("minor", [36, 37])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_declares_and_describes_all_its_names(name: str, minor: int) -> None:
    package, _, version = name.partition("/")
    declared = type_table(package, version, emulated=(1, minor))
    for own in declared.names():
        found = declared.type(own)
        if isinstance(found, Struct):
            assert found.doc, own
            assert all(field.doc for field in found.fields), own
            names = [field.name for field in found.fields]
            assert len(set(names)) == len(names), own
            assert set(found.internal) <= set(found.fields) or own == "PodSecurityContext"
