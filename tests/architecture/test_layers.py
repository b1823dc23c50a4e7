"""ARCHITECTURE.md lists the packages in the order of the import contract, and controllers write through one client."""

from __future__ import annotations

import ast
import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "polykind"
STORE_WRITES = {"put", "put_twice", "delete"}


def _layers() -> list[str]:
    """Return the packages of the contract `layers`, from the outside in."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    return re.findall(r"\w+", contracts["importlinter:contract:layers"]["layers"])


def test_packages_are_listed_in_the_order_of_the_layers() -> None:
    section = (ROOT / "ARCHITECTURE.md").read_text().split("\n## Packages\n")[1].split("\n\n")[1]
    rows = re.findall(r"^\| \[([\w.]+)\]\(src/polykind/", section, re.M)
    assert [row.removesuffix(".py") for row in rows] == [name for name in _layers() if name != "__main__"]


def test_all_packages_are_in_one_layer() -> None:
    found = {p.stem for p in (ROOT / "src" / "polykind").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    layers = _layers()
    assert sorted(layers) == sorted(found - {"__init__"})


def test_controllers_write_to_the_store_only_through_their_client() -> None:
    """An import contract says the same of the verbs."""
    files = [*(SOURCE / "controllers").glob("*.py"), *(SOURCE / "migration").glob("*.py")]
    found = [
        f"{file.name}:{node.lineno}"
        for file in files
        if file.name != "object_client.py"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in STORE_WRITES and _is_store(node.value)
    ]
    assert len(files) > 20
    assert not found


def _is_store(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.strip("_").endswith("store")
