"""One word has one meaning: module names are unique, and private words do not come back."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "polykind"
SAME_MEANING = {
    "__init__.py": "a package",
    "types.py": "the declarations of an API group",
    "columns.py": "the columns of the kinds of an API group, or of several groups",
    "defaults.py": "the defaults of an API group",
    "validation.py": "the validation of an API group",
    "strategy.py": "the strategies of an API group",
    "bootstrap.py": "the objects of an API group that every server has",
    "store.py": "an implementation of the Store protocol",
    "library.py": "the conversions of one module or file, and its public face",
}
"""File names that several packages share, with their one meaning."""
PRIVATE_WORDS = re.compile(
    r"\b(the reference|misfits?|pardoned|patience|leftovers|judges?|judged|judging|judgement|shelf|shelves|nobody|"
    r"somebody|whoever|is told|are told|he may|stanzas?|outline|unfit|minds)\b",
    re.IGNORECASE,
)
PRIVATE_START = re.compile(r"^(What|Who|Whose|Whether|Where|How) ")


def _sample_prose() -> ModuleType:
    path = str(ROOT / "tools" / "sample_prose")
    loader = importlib.machinery.SourceFileLoader("sample_prose", path)
    spec = importlib.util.spec_from_loader("sample_prose", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sample_prose"] = module
    loader.exec_module(module)
    return module


def test_module_names_are_unique() -> None:
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        places[path.name].append(str(path.relative_to(SOURCE)))
    shared = {name: sorted(found) for name, found in places.items() if len(found) > 1 and name not in SAME_MEANING}
    assert shared == {}


def test_a_kind_is_declared_in_one_place() -> None:
    naming = [p for p in SOURCE.rglob("*.py") if "ValidatingAdmissionPolicy" in p.read_text()]
    # The table of admission plugins names the plugin, which has the name of the kind.
    naming = [p for p in naming if p.name != "plugin_table.py"]
    assert len(naming) <= 4, naming


@pytest.mark.parametrize("folder", ["src", "tools", "benches"])
def test_prose_has_no_private_words(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    prose_of = _sample_prose().prose_of
    found = [
        f"{prose.path.relative_to(ROOT)}:{prose.line}: {prose.text}"
        for file in files
        for prose in prose_of(file)
        if PRIVATE_WORDS.search(prose.text) or (prose.kind == "docstring" and PRIVATE_START.search(prose.text))
    ]
    assert not found, "\n".join(found)
