"""The worked example in CONTRIBUTING.md is the code of the tree."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_added_lines_of_the_example_are_in_the_tree() -> None:
    diff = (ROOT / "CONTRIBUTING.md").read_text().partition("```diff\n")[2].partition("```")[0]
    lines: list[str] = []
    missing = []
    for line in diff.split("\n"):
        if found := re.match(r"\+\+\+ b/(\S+)", line):
            lines = (ROOT / found[1]).read_text().split("\n")
        elif line.startswith("+") and line[1:] not in lines:
            missing.append(line)
    assert lines
    assert missing == []


def test_example_needs_at_most_60_lines_besides_the_declaration() -> None:
    diff = (ROOT / "CONTRIBUTING.md").read_text().partition("```diff\n")[2].partition("```")[0]
    besides = [part for part in diff.split("diff --git ") if part and "/types.py" not in part.split("\n")[0]]
    added = sum(len(re.findall(r"^\+(?!\+\+)", part, re.MULTILINE)) for part in besides)
    removed = sum(len(re.findall(r"^-(?!--)", part, re.MULTILINE)) for part in besides)
    assert added - removed <= 60
