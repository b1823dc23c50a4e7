"""ARCHITECTURE.md lists the packages in the order of the import contract."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


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
